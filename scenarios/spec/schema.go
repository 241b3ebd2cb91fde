package spec

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// SchemaID is the identity of the scenario format's JSON schema.
const SchemaID = "https://watchbench.dev/schemas/scenario-v1.json"

// Schema generates the JSON schema of a scenario file from the types, for editors. A
// test holds it to the shipped scenarios.
func (format Format) Schema() ([]byte, error) {
	r := &jsonschema.Reflector{ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(&Scenario{})
	what, _ := s.Definitions["Event"].Properties.Get("what")
	for _, name := range namesOf(format.kinds()) {
		what.Enum = append(what.Enum, name)
	}
	s.ID = SchemaID
	s.Title = "watchbench scenario"
	value := &jsonschema.Schema{Type: "array", MinItems: new(uint64(1)), UniqueItems: true,
		Items: &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}}
	named := &jsonschema.Schema{Type: "object", MinProperties: new(uint64(1)),
		AdditionalProperties: &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "object", MinProperties: new(uint64(1))},
			{Type: "array"}}}}
	s.Properties.Set("matrix", &jsonschema.Schema{
		Type: "object",
		Description: "The path of a field and the values it takes, or of a section or list and named " +
			"points. Every combination is one cell.",
		PatternProperties: map[string]*jsonschema.Schema{
			`^(storage|load|watcher|readers|watch|extra|events|fault|ceilings|drainTimeout|limits|cluster\.replay)` +
				`(\.[A-Za-z]+)*$`: {OneOf: []*jsonschema.Schema{value, named}},
		},
		AdditionalProperties: jsonschema.FalseSchema,
	})
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the scenario schema: %w", err)
	}
	return append(data, '\n'), nil
}
