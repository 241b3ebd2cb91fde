package xk6

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Options are the argument of new Churn(…). index.d.ts has them for editors.
type Options struct {
	Kubeconfig string // path
	Context    string // of the kubeconfig; "" is its current one
	OpLog      string // path of the op log to write; a file that is there must be one
	Plan       plan.Config
	// Wait makes prepare and finish wait for lines on standard input, as churn --wait does.
	Wait bool
}

// ErrOptions is bad input of a script.
var ErrOptions = errors.New("new Churn(options)")

var optionNames = []string{"kubeconfig", "context", "opLog", "plan", "wait"}

// parseOptions reads the argument of the constructor as k6 exported it from JavaScript.
func parseOptions(arg any) (Options, error) {
	var o Options
	given, ok := arg.(map[string]any)
	if !ok {
		return o, fmt.Errorf("%w: want an object with kubeconfig, opLog and plan", ErrOptions)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := o.set(name, given[name]); err != nil {
			return o, fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	for name, missing := range map[string]bool{"kubeconfig": o.Kubeconfig == "", "opLog": o.OpLog == "",
		"plan": o.Plan.RunID == ""} {
		if missing {
			return o, fmt.Errorf("%w: %s is missing", ErrOptions, name)
		}
	}
	return o, nil
}

func (o *Options) set(name string, value any) error {
	text := map[string]*string{"kubeconfig": &o.Kubeconfig, "context": &o.Context, "opLog": &o.OpLog}
	switch to := text[name]; {
	case to != nil:
		s, ok := value.(string)
		if !ok || s == "" {
			return fmt.Errorf("%s: %v is not a path or name; use a string", name, value)
		}
		*to = s
		return nil
	case name == "wait":
		b, ok := value.(bool)
		if !ok {
			return fmt.Errorf("wait: %v is neither true nor false", value)
		}
		o.Wait = b
		return nil
	case name == "plan":
		return o.setPlan(value)
	}
	if near := badinput.Nearest(name, optionNames); near != "" {
		return fmt.Errorf("%s: unknown option; did you mean %s?", name, near)
	}
	return fmt.Errorf("%s: unknown option; there are %v", name, optionNames)
}

// setPlan takes a path, or an object with the fields of a plan file.
func (o *Options) setPlan(value any) (err error) {
	if path, ok := value.(string); ok {
		o.Plan, err = plan.ReadFile(path)
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	o.Plan, err = plan.Parse("plan", data)
	return err
}
