package result

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

// schemaFile is the JSON schema of results.json, for readers in other languages. It is
// generated from the types of this package (go test ./reports/result -update).
const schemaFile = "results.schema.json"

func readSchema(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// generateSchema derives the published schema from the Go types and their comments.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := &jsonschema.Reflector{BaseSchemaID: "https://github.com/watchbench/watchbench/reports/result"}
	if err := r.AddGoComments("github.com/watchbench/watchbench/reports/result", "./"); err != nil {
		t.Fatal(err)
	}
	// Comments are read from files of this folder, so their keys end in its path.
	for k, v := range r.CommentMap {
		r.CommentMap[k] = strings.Join(strings.Fields(v), " ")
	}
	s := r.Reflect(&Results{})
	s.ID = "https://github.com/watchbench/watchbench/reports/result/results.schema.json"
	s.Title = "watchbench results"
	s.Description = "The record of one run. Durations are in seconds unless the field's name says otherwise; an absent number is not known, which is never the same as 0."
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func TestSchemaFollowsTheTypes(t *testing.T) {
	got := generateSchema(t)
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, readSchema(t)) {
		t.Errorf("%s differs from the Go types; run go test ./reports/result -update and read the difference", schemaFile)
	}
}

func compileSchema(t *testing.T) *validator.Schema {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(readSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("results.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("results.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaJudgesDocuments(t *testing.T) {
	s := compileSchema(t)
	var buf bytes.Buffer
	if err := Encode(&buf, sample()); err != nil {
		t.Fatal(err)
	}
	good := buf.String()
	tests := []struct {
		name    string
		old     string
		new     string
		wantErr bool
	}{
		{name: "what Encode writes"},
		{name: "another schema", old: `"watchbench/results/v1"`, new: `"watchbench/results/v9"`, wantErr: true},
		{name: "unknown field", old: `"seed"`, new: `"sead"`, wantErr: true},
		{name: "text for a number", old: `"cpus": 2`, new: `"cpus": "2"`, wantErr: true},
		{name: "unheard-of verdict", old: `"verdict": "pass"`, new: `"verdict": "fine"`, wantErr: true},
		{name: "fraction above 1", old: `"cutFraction": 0.25`, new: `"cutFraction": 25`, wantErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := good
			if tt.old != "" {
				if !strings.Contains(good, tt.old) {
					t.Fatalf("sample lacks %s", tt.old)
				}
				text = strings.Replace(good, tt.old, tt.new, 1)
			}
			doc, err := validator.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(doc); (err != nil) != tt.wantErr {
				t.Errorf("Validate: %v, want an error: %v", err, tt.wantErr)
			}
		})
	}
}

// The records of the renderers' tests follow the published schema too.
func TestSchemaAcceptsFixtures(t *testing.T) {
	s := compileSchema(t)
	files, err := filepath.Glob("../render/testdata/*/results.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
