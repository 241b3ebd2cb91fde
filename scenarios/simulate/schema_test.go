package simulate

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the generated files")

const base = "https://github.com/watchbench/watchbench/scenarios/simulate"

// schemas are the published ones, for readers in other languages: of each file the type.
var schemas = map[string]any{"simulation.schema.json": &Document{}}

func generateSchema(t *testing.T, file string, of any) []byte {
	t.Helper()
	r := &jsonschema.Reflector{BaseSchemaID: base}
	for pkg, dir := range map[string]string{"scenarios/simulate": "./", "reports/result": "../../reports/result"} {
		if err := r.AddGoComments("github.com/watchbench/watchbench/"+pkg, dir); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range r.CommentMap {
		r.CommentMap[k] = strings.Join(strings.Fields(v), " ")
	}
	s := r.Reflect(of)
	s.ID = jsonschema.ID(base + "/" + file)
	s.Title = "watchbench " + strings.TrimSuffix(file, ".schema.json")
	s.Description = "Figures of a simulation. Durations are in seconds unless the field's name says otherwise; an absent number is not known, which is never the same as 0."
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func TestSchemaFollowsTheTypes(t *testing.T) {
	for file, of := range schemas {
		got := generateSchema(t, file, of)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the Go types (%v); run go test ./scenarios/simulate -run Schema -update and read the difference", file, err)
		}
	}
}

// TestSchemaJudgesDocuments: what is written follows the schema, and other fields do not.
func TestSchemaJudgesDocuments(t *testing.T) {
	o := run(t, scenario(t, "watcher.strategy=partitioned"), Options{})
	none := *o
	none.Freshness, none.Efficiency, none.Imbalance = nil, 0, 0
	for file, doc := range map[string]any{
		"simulation.schema.json": &Document{Schema: Schema, Scenario: "mine", Points: []Point{
			{Cell: "a", Params: map[string]string{"watcher.strategy": "single"}, Outcome: *o}, {Params: map[string]string{}, Outcome: none},
		}},
	} {
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		c := validator.NewCompiler()
		s, err := c.Compile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		valid := func(text string) error {
			x, err := validator.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			return s.Validate(x)
		}
		good := string(data)
		if err := valid(good); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for old, other := range map[string]string{"/v2": "/v9", `"strategy"`: `"Strategy"`, `"requests":`: `"requests":-0.5,"x":`} {
			if !strings.Contains(good, old) {
				t.Fatalf("no %s in %s", old, good)
			}
			if valid(strings.Replace(good, old, other, 1)) == nil {
				t.Errorf("%s: %s may stand for %s", file, other, old)
			}
		}
	}
}
