package gate

import (
	_ "embed" // the default rules
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/internal/units"
)

// Rules are what a gate judges by.
type Rules struct {
	Invariants   []string        `json:"invariants" jsonschema_description:"Guarantees G1 to G14 that no cell of NEW may violate; errors: failed writes of the load; lag: an open loop behind its plan."`
	Errors       units.Share     `json:"errors" jsonschema_description:"Writes of the load that may fail, of those planned."`
	Lag          units.Duration  `json:"lag" jsonschema_description:"Open loop: a cell whose p99 of lag is above counts as invalid."`
	Blocks       int             `json:"blocks" jsonschema:"minimum=3,maximum=1000" jsonschema_description:"Least blocks A B B A of a paired run."`
	Repeats      int             `json:"repeats" jsonschema:"minimum=3,maximum=1000" jsonschema_description:"Least repetitions of each of two saved runs."`
	Alpha        units.Share     `json:"alpha" jsonschema_description:"How often a change that is just allowed may fail; one-sided, over all metrics."`
	InvalidCells units.Share     `json:"invalidCells" jsonschema_description:"Share of the cells of either side at a point that may be invalid."`
	Metrics      map[string]Rule `json:"metrics" jsonschema_description:"By path of the figure in a cell of results.json, or two paths with a / between."`
	MayDiffer    []string        `json:"mayDiffer" jsonschema_description:"Paths below environment and scenario that may differ between two saved runs."`
}

// Rule is how one metric is judged.
type Rule struct {
	Kind      string      `json:"kind" jsonschema:"enum=exact,enum=noisy" jsonschema_description:"exact: a count that the plan decides. noisy: a figure that varies between equal cells."`
	Better    string      `json:"better" jsonschema:"enum=lower,enum=higher"`
	Allow     units.Share `json:"allow" jsonschema_description:"How much worse it may be."`
	Detect    units.Share `json:"detect,omitempty" jsonschema_description:"noisy: the change that must be visible in the noise, or the metric is INCONCLUSIVE."`
	Relative  bool        `json:"relative,omitempty" jsonschema_description:"noisy: judge it also as a part of the CPU time of generator and storage in the same cell, which the noise of the machine does not change as much."`
	Else      string      `json:"else,omitempty" jsonschema_description:"Judged instead, where the watcher is not k8s-watch and neither side knows the metric."`
	Optional  bool        `json:"optional,omitempty" jsonschema_description:"Not judged, rather than INVALID, where neither side knows it."`
	MayBeZero bool        `json:"mayBeZero,omitempty" jsonschema_description:"0 is a measurement, such as of retries; by default it is a sign that nothing was measured."`
	Skip      bool        `json:"skip,omitempty" jsonschema_description:"Do not judge this metric."`
}

// Kinds of a rule.
const (
	KindExact = "exact"
	KindNoisy = "noisy"
)

const (
	lower  = "lower"
	higher = "higher"
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
}

// Defaults are the rules of rules.yaml.
func Defaults() Rules {
	r, err := parse("rules.yaml", defaults, Rules{})
	if err != nil {
		panic(err) // a test reads them
	}
	return r
}

// LoadRules reads a file of changes to the default rules. Errors are *strictyaml.Error, or
// of bad input.
func LoadRules(path string) (Rules, error) {
	f, err := os.Open(path)
	if err != nil {
		return Rules{}, &badinput.Error{What: "--rules", Err: err, Remedy: "name a file of rules; watchbench gate rules prints the defaults"}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(syntax.MaxBytes)+1))
	if err != nil {
		return Rules{}, &badinput.Error{What: "--rules " + path, Err: err, Remedy: "name a file of rules; watchbench gate rules prints the defaults"}
	}
	return parseRules(path, data)
}

// parseRules reads changes to the default rules; file is for errors only.
func parseRules(file string, data []byte) (Rules, error) { return parse(file, data, Defaults()) }

func parse(file string, data []byte, r Rules) (Rules, error) {
	t, err := syntax.Parse(file, data)
	if err != nil {
		return Rules{}, err
	}
	before := r.Metrics
	r.Metrics = nil
	d, err := t.Decode(t.Root, &r)
	if err != nil {
		return Rules{}, err
	}
	// A metric that the defaults have keeps what the file does not write.
	merged := maps.Clone(before)
	for name, rule := range r.Metrics {
		if merged == nil {
			merged = map[string]Rule{}
		}
		merged[name] = rule.over(before[name], func(field string) bool { return d.Written("metrics." + name + "." + field) })
	}
	r.Metrics = merged
	if err := r.Validate(); err != nil {
		return Rules{}, d.Locate(err)
	}
	maps.DeleteFunc(r.Metrics, func(_ string, rule Rule) bool { return rule.Skip })
	if len(r.Metrics) == 0 {
		return Rules{}, d.Locate(strictyaml.Bad("metrics", "leave one without skip", "no metric is left to judge"))
	}
	return r, nil
}

// over is the rule where it is written, and the other elsewhere.
func (r Rule) over(other Rule, written func(field string) bool) Rule {
	from, to := reflect.ValueOf(r), reflect.ValueOf(&other).Elem()
	for i := range from.NumField() {
		if name, _, _ := strings.Cut(from.Type().Field(i).Tag.Get("json"), ","); written(name) {
			to.Field(i).Set(from.Field(i))
		}
	}
	return other
}

// Validate reports the first mistake as a *strictyaml.FieldError.
func (r *Rules) Validate() error {
	bad := strictyaml.Bad
	for i, name := range r.Invariants {
		if !isGuarantee(name) && name != invErrors && name != invLag {
			return bad(fmt.Sprintf("invariants[%d]", i), "use G1 to G14, errors or lag", "%q is no invariant", name)
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
		return bad("lag", "write a duration, for example 250ms", "%s is no limit", r.Lag)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		if err := r.Metrics[name].validate("metrics."+name, name); err != nil {
			return err
		}
	}
	for i, path := range r.MayDiffer {
		section, _, below := strings.Cut(path, ".")
		if !below || section != "environment" && section != "scenario" {
			return bad(fmt.Sprintf("mayDiffer[%d]", i), "write a path of results.json, for example environment.kernel or scenario.seed", "%q is not below environment or scenario", path)
		}
	}
	return nil
}

func (r Rule) validate(path, name string) error {
	bad := strictyaml.Bad
	if _, err := figureOf(name); err != nil {
		what, remedy, _ := strings.Cut(err.Error(), "; ")
		return bad(path, remedy, "%s", what)
	}
	if r.Else != "" {
		if _, err := figureOf(r.Else); err != nil {
			what, remedy, _ := strings.Cut(err.Error(), "; ")
			return bad(path+".else", remedy, "%s", what)
		}
	}
	switch {
	case r.Kind != KindExact && r.Kind != KindNoisy:
		return bad(path+".kind", "write exact or noisy", "%q is not a kind", r.Kind)
	case r.Better != lower && r.Better != higher:
		return bad(path+".better", "write lower or higher", "%q is no direction", r.Better)
	case r.Allow >= 1:
		return bad(path+".allow", "use less than 100%", "%s allows anything", r.Allow)
	case r.Kind == KindNoisy && r.Allow < 0.001:
		return bad(path+".allow", "use 0.1% or more, or kind: exact", "%s: no interval can be within it", r.Allow)
	case r.Kind == KindNoisy && r.Detect <= r.Allow:
		return bad(path+".detect", "use more than allow", "%s is not more than the %s that is allowed", r.Detect, r.Allow)
	case r.Kind == KindExact && r.Relative:
		return bad(path+".relative", "leave it out, or write kind: noisy", "an exact metric has no noise to take out")
	case r.Kind == KindExact && r.Detect != 0:
		return bad(path+".detect", "leave it out, or write kind: noisy", "an exact metric has no noise to see through")
	}
	return nil
}

func isGuarantee(name string) bool {
	var n int
	_, err := fmt.Sscanf(name, "G%d", &n)
	return err == nil && n >= 1 && n <= 14 && name == fmt.Sprintf("G%d", n)
}

// Schema is the JSON schema of a rules file.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(&Rules{})
	s.ID, s.Title = "https://watchbench.dev/schemas/gate-rules-v1.json", "watchbench gate rules"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema of rules: %w", err)
	}
	return append(data, '\n'), nil
}
