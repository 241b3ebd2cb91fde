package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/reports/result"
)

// Verdicts a scenario may expect of a check.
const (
	ExpectPass        = "pass"          // it must hold
	ExpectFailAllowed = "fail-allowed"  // it may fail; shown, not an error
	ExpectFail        = "fail-expected" // it must fail, or the run proves nothing
)

var expectations = []string{ExpectPass, ExpectFailAllowed, ExpectFail}

// expectKeys lists the fields that an expectation may depend on.
var expectKeys = slices.Concat([]string{"default"}, Strategies, []string{External})

// Expect maps a check (G1…G14) to the verdict expected of it; a check that is not named is expected to pass.
type Expect map[string]Expectation

// Expectation is one verdict, or one per strategy under "default" and the strategies' names.
type Expectation map[string]string

// Of returns the verdict expected of a check under a strategy.
func (e Expect) Of(check, strategy string) string {
	x := e[check]
	for _, k := range []string{strategy, "default"} {
		if v, ok := x[k]; ok {
			return v
		}
	}
	return ExpectPass
}

// DecodeYAML reads both forms.
func (x *Expectation) DecodeYAML(d *strictyaml.Decoder, n *yaml.Node, path string) error {
	switch n.Kind {
	case yaml.ScalarNode:
		*x = Expectation{"default": n.Value}
	case yaml.MappingNode:
		*x = Expectation{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, val := n.Content[i], n.Content[i+1]
			if !slices.Contains(expectKeys, key.Value) {
				return d.Fail(key, path+"."+key.Value, "unknown strategy", "use one of "+strings.Join(expectKeys, ", "))
			}
			if val.Kind != yaml.ScalarNode {
				return d.Fail(val, path+"."+key.Value, "not one word", oneOf(expectations))
			}
			(*x)[key.Value] = val.Value
			d.Mark(path+"."+key.Value, val)
		}
	default:
		return d.Fail(n, path, "neither a verdict nor a mapping", oneOf(expectations)+", or a mapping from strategy to one")
	}
	return nil
}

func (e Expect) validate() error {
	for _, check := range slices.Sorted(maps.Keys(e)) {
		var num int
		if _, err := fmt.Sscanf(check, "G%d", &num); err != nil || num < 1 || num > 14 || check != fmt.Sprintf("G%d", num) {
			return bad("expect."+check, "checks are G1 to G14", "unknown check")
		}
		for _, strategy := range slices.Sorted(maps.Keys(e[check])) {
			if v := e[check][strategy]; !slices.Contains(expectations, v) {
				path := "expect." + check
				if strategy != "default" || len(e[check]) > 1 {
					path += "." + strategy
				}
				return bad(path, oneOf(expectations), "%q is not a verdict", v)
			}
		}
	}
	return nil
}

// JSONSchema describes both forms.
func (Expectation) JSONSchema() *jsonschema.Schema {
	verdict := &jsonschema.Schema{Type: "string"}
	for _, v := range expectations {
		verdict.Enum = append(verdict.Enum, v)
	}
	props := jsonschema.NewProperties()
	for _, k := range expectKeys {
		props.Set(k, verdict)
	}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		verdict,
		{Type: "object", Properties: props, AdditionalProperties: jsonschema.FalseSchema},
	}}
}

// Thresholds are bounds by metric: freshness.p99 to "< 1s".
type Thresholds map[string]string

// DecodeYAML reads metrics as dotted or nested keys; an override replaces a bound, an empty one drops it.
func (t *Thresholds) DecodeYAML(d *strictyaml.Decoder, n *yaml.Node, path string) error {
	*t = nil
	if strictyaml.IsNull(n) {
		return nil
	}
	all := map[string]*yaml.Node{}
	if err := t.flatten(d, n, path, "", all); err != nil {
		return err
	}
	for _, metric := range slices.Sorted(maps.Keys(all)) {
		n := all[metric]
		if strictyaml.IsNull(n) {
			continue
		}
		m, err := result.MetricByName(metric)
		if err == nil {
			_, err = m.Bound(n.Value)
		}
		if err != nil {
			problem, remedy, _ := strings.Cut(err.Error(), "; ")
			return d.Fail(n, path+"."+metric, problem, remedy)
		}
		if *t == nil {
			*t = Thresholds{}
		}
		(*t)[metric] = strings.TrimSpace(n.Value)
		d.Mark(path+"."+metric, n)
	}
	return nil
}

func (t *Thresholds) flatten(d *strictyaml.Decoder, n *yaml.Node, path, below string, all map[string]*yaml.Node) error {
	const example = "write for example freshness.p99: '< 1s'"
	if n.Kind != yaml.MappingNode {
		return d.Fail(n, path, "not a mapping", example)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		metric := strings.TrimPrefix(below+"."+key.Value, ".")
		switch {
		case value.Kind == yaml.MappingNode:
			if err := t.flatten(d, value, path, metric, all); err != nil {
				return err
			}
		case value.Kind != yaml.ScalarNode:
			return d.Fail(value, path+"."+metric, "not one bound", example)
		case all[metric] != nil && value.Line >= 0:
			return d.Fail(value, path+"."+metric, "given twice", "keep one")
		default:
			all[metric] = value
		}
	}
	return nil
}

// JSONSchema describes the dotted form.
func (Thresholds) JSONSchema() *jsonschema.Schema {
	props := jsonschema.NewProperties()
	for _, m := range result.Metrics() {
		props.Set(m.Name, &jsonschema.Schema{Type: "string", Pattern: "^ *(<|<=|>|>=) *[0-9]", Examples: []any{m.Example()}})
	}
	return &jsonschema.Schema{Type: "object", Properties: props, AdditionalProperties: jsonschema.FalseSchema}
}
