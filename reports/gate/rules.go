package gate

import (
	"cmp"
	_ "embed" // the default rules
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/internal/units"
)

// Rules decide a gate; rules.yaml explains each field.
type Rules struct {
	Invariants   []string        `json:"invariants"`
	Errors       units.Share     `json:"errors"`
	Lag          units.Duration  `json:"lag"`
	Blocks       int             `json:"blocks" jsonschema:"minimum=3,maximum=1000"`
	Repeats      int             `json:"repeats" jsonschema:"minimum=3,maximum=1000"`
	Alpha        units.Share     `json:"alpha"`
	InvalidCells units.Share     `json:"invalidCells"`
	Metrics      map[string]Rule `json:"metrics"` // by path in a cell of results.json, or two with a / between
	MayDiffer    []string        `json:"mayDiffer"`
}

// Rule is how one metric is judged.
type Rule struct {
	Kind      string      `json:"kind" jsonschema:"enum=exact,enum=noisy"`
	Allow     units.Share `json:"allow"`
	Detect    units.Share `json:"detect,omitempty"`
	Relative  bool        `json:"relative,omitempty"`
	Else      string      `json:"else,omitempty"`
	Optional  bool        `json:"optional,omitempty"`
	MayBeZero bool        `json:"mayBeZero,omitempty"`
	Skip      bool        `json:"skip,omitempty"`
}

// level of the intervals: alpha lies beyond each end.
func (r *Rules) level() float64 { return 1 - 2*float64(r.Alpha) }

// Kinds of a rule.
const (
	KindExact = "exact"
	KindNoisy = "noisy"
)

// Invariants beside the guarantees.
const (
	invErrors = "errors"
	invLag    = "lag"
)

//go:embed rules.yaml
var defaults []byte

// DefaultsFile is rules.yaml, with its comments.
func DefaultsFile() []byte { return slices.Clone(defaults) }

var syntax = strictyaml.Format{
	Noun: "rules file", Start: "metrics:, or another field that watchbench gate rules prints",
	MaxBytes: 1 << 16, MaxDepth: 4, MaxNodes: 2000,
	Retired: map[string]string{"*.better": "leave it out, the metric says which values are better"},
}

// Defaults are the rules of rules.yaml.
func Defaults() Rules {
	r, err := parse("rules.yaml", defaults, Rules{})
	if err != nil {
		panic(err) // a test reads them
	}
	return r
}

// LoadRules reads a file of changes to the default rules. Errors are *strictyaml.Error, or of bad input.
func LoadRules(path string) (Rules, error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, int64(syntax.MaxBytes)+1)); err == nil {
			return parse(path, data, Defaults())
		}
	}
	return Rules{}, &badinput.Error{
		What: "--rules", Err: err, Remedy: "name a file of rules; watchbench gate rules prints the defaults",
	}
}

// parse reads changes to rules; file is for errors only.
func parse(file string, data []byte, r Rules) (Rules, error) {
	t, err := syntax.Parse(file, data)
	if err != nil {
		return Rules{}, err
	}
	d, err := t.Decode(t.Root, &r)
	if err != nil {
		return Rules{}, err
	}
	if err := r.Validate(); err != nil {
		return Rules{}, d.Locate(err)
	}
	maps.DeleteFunc(r.Metrics, func(_ string, rule Rule) bool { return rule.Skip })
	if len(r.Metrics) == 0 {
		return Rules{}, d.Locate(strictyaml.Bad("metrics", "leave one without skip", "no metric is left to judge"))
	}
	return r, nil
}

// Validate reports the first mistake as a *strictyaml.FieldError.
func (r *Rules) Validate() error {
	bad := strictyaml.Bad
	for i, name := range r.Invariants {
		if !isGuarantee(name) && name != invErrors && name != invLag {
			return bad(fmt.Sprintf("invariants[%d]", i), "use G1 to G14, errors or lag", "%q is not an invariant", name)
		}
	}
	switch {
	case r.Blocks < 3 || r.Blocks > 1000:
		return bad("blocks", "use 3 to 1000, 6 or more to be sure", "%d blocks give no interval", r.Blocks)
	case r.Repeats < 3 || r.Repeats > 1000:
		return bad("repeats", "use 3 to 1000, 6 or more to be sure", "%d repetitions give no interval", r.Repeats)
	case r.Alpha < 0.0001 || r.Alpha > 0.25:
		return bad("alpha", "use 0.01% to 25%", "%s is out of range", r.Alpha)
	case r.InvalidCells > 0.5:
		return bad("invalidCells", "use 0% to 50%", "%s: most cells could be invalid", r.InvalidCells)
	case r.Lag <= 0:
		return bad("lag", "write a duration, for example 250ms", "%s is not a limit", r.Lag)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		if err := r.Metrics[name].validate("metrics."+name, name); err != nil {
			return err
		}
	}
	for i, path := range r.MayDiffer {
		section, _, below := strings.Cut(path, ".")
		if !below || section != "environment" && section != "scenario" {
			return bad(fmt.Sprintf("mayDiffer[%d]", i), "write a path of results.json, for example environment.kernel",
				"%q is not below environment or scenario", path)
		}
	}
	return nil
}

func (r Rule) validate(path, name string) error {
	bad := strictyaml.Bad
	for _, at := range [][2]string{{path, name}, {path + ".else", cmp.Or(r.Else, name)}} {
		fig, err := figureOf(at[1])
		if err != nil {
			what, remedy, _ := strings.Cut(err.Error(), "; ")
			return bad(at[0], remedy, "%s", what)
		}
		if fig.better == "" {
			return bad(at[0], "divide it by the work, as in "+at[1]+" / load.done", "neither more nor less of it is better")
		}
	}
	exact := r.Kind == KindExact
	switch {
	case !exact && r.Kind != KindNoisy:
		return bad(path+".kind", "write exact or noisy", "%q is not a kind", r.Kind)
	case r.Allow >= 1:
		return bad(path+".allow", "use less than 100%", "%s allows anything", r.Allow)
	case !exact && r.Allow < 0.001:
		return bad(path+".allow", "use 0.1% or more, or kind: exact", "%s: no interval can be within it", r.Allow)
	case !exact && r.Detect <= r.Allow:
		return bad(path+".detect", "use more than allow", "%s is not more than the %s that is allowed", r.Detect, r.Allow)
	case exact && r.Relative:
		return bad(path+".relative", "leave it out, or write kind: noisy", "an exact metric has no noise")
	case exact && r.Detect != 0:
		return bad(path+".detect", "leave it out, or write kind: noisy", "an exact metric has no noise")
	}
	return nil
}

func isGuarantee(name string) bool {
	var n int
	_, err := fmt.Sscanf(name, "G%d", &n)
	return err == nil && n >= 1 && n <= 14 && name == fmt.Sprintf("G%d", n)
}
