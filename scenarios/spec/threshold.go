package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/reports/result"
)

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
