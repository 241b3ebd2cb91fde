package xk6

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.k6.io/k6/lib"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Options are the argument of new Churn(…). index.d.ts has them for editors.
type Options struct {
	Kubeconfig string      `json:"kubeconfig"` // path
	Context    string      `json:"context"`    // of the kubeconfig; "" is its current one
	OpLog      string      `json:"opLog"`      // path of the op log to write; a file that is there must be one
	Wait       bool        `json:"wait"`       // as churn --wait does: for lines on standard input
	Shard      *plan.Shard `json:"shard"`      // of the plan, as I/N; nil is k6's execution segment
	Plan       plan.Config `json:"-"`
}

// ErrOptions is bad input of a script.
var ErrOptions = errors.New("new Churn(options)")

var format = strictyaml.Format{Noun: "options object", Start: "kubeconfig", MaxBytes: 1 << 16, MaxDepth: 4,
	MaxNodes:   100,
	QuotedText: true}

// parseOptions reads the argument of the constructor as k6 exported it from JavaScript.
func parseOptions(arg any) (o Options, err error) {
	given, ok := arg.(map[string]any)
	if !ok {
		return o, fmt.Errorf("%w: want an object with kubeconfig, opLog and plan", ErrOptions)
	}
	given = maps.Clone(given)
	if o.Plan, err = readPlan(given["plan"]); err == nil {
		delete(given, "plan")
		err = decode("options", given, func(data []byte) error {
			tree, err := format.Parse("options", data)
			if err == nil {
				_, err = tree.Decode(tree.Root, &o)
			}
			return err
		})
	}
	switch {
	case err != nil:
	case o.Kubeconfig == "":
		err = errors.New("kubeconfig is missing")
	case o.OpLog == "":
		err = errors.New("opLog is missing")
	default:
		return o, nil
	}
	return o, fmt.Errorf("%w: %w", ErrOptions, err)
}

// segmentShard is the shard that an execution segment, such as k6-operator gives each runner, stands for: one of equal
// parts. Without one it is all.
func segmentShard(segment *lib.ExecutionSegment) (plan.Shard, error) {
	for of := 1; of <= plan.MaxShards; of++ {
		parts, err := (*lib.ExecutionSegment)(nil).Split(int64(of))
		if i := slices.IndexFunc(parts, segment.Equal); err == nil && i >= 0 {
			return plan.Shard{Index: i + 1, Of: of}, nil
		}
	}
	return plan.Whole, fmt.Errorf("%w: the execution segment %s is not one of up to %d equal parts, such as 1/4:1/2",
		ErrOptions, segment, plan.MaxShards)
}

// readPlan takes a path, or an object with the fields of a plan file.
func readPlan(value any) (cfg plan.Config, err error) {
	switch v := value.(type) {
	case nil:
		return cfg, errors.New("plan is missing")
	case string:
		return plan.ReadFile(v)
	}
	err = decode("plan", value, func(data []byte) error {
		cfg, err = plan.Parse("plan", data)
		return err
	})
	return cfg, err
}

func decode(name string, value any, read func([]byte) error) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return read(data)
}
