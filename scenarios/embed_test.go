package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := faults.Format.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(spec.SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(spec.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asJSON(t *testing.T, src []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestShippedScenarios(t *testing.T) {
	schema := compiled(t)
	for _, name := range slices.Concat(Names(), ExampleNames(), FaultNames(), RegressionNames()) {
		t.Run(name, func(t *testing.T) {
			file, src, err := Read(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := faults.Format.Parse(file, src)
			if err != nil {
				t.Fatal(err)
			}
			if f.Base().Metadata.Name != path.Base(name) || f.Base().Metadata.Description == "" {
				t.Errorf("named %q, described %q", f.Base().Metadata.Name, f.Base().Metadata.Description)
			}
			if err := schema.Validate(asJSON(t, src)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
			for _, c := range f.Cells() {
				resolved, err := json.Marshal(c.Scenario)
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(asJSON(t, resolved)); err != nil {
					t.Errorf("the schema refuses the resolved cell %s: %v", c.ID, err)
				}
				var back spec.Scenario
				if err := json.Unmarshal(resolved, &back); err != nil {
					t.Errorf("the resolved cell %s does not read back: %v", c.ID, err)
				}
				if d := cmp.Diff(c.Scenario, back); d != "" {
					t.Errorf("the resolved cell %s reads back as another (-written +read):\n%s", c.ID, d)
				}
			}
		})
	}
}

// TestFaultRows: a scenario of the matrix says which row it is, and rows are run in the order of the folder.
func TestFaultRows(t *testing.T) {
	for _, name := range slices.Concat(FaultNames(), RegressionNames()) {
		file, src, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := faults.Format.Parse(file, src)
		if err != nil {
			t.Fatal(err)
		}
		row := f.Base().Fault
		if row == nil {
			t.Errorf("%s has no section fault", name)
			continue
		}
		var number int
		if _, err := fmt.Sscanf(path.Base(name), "f%d-", &number); strings.HasPrefix(name, "faults/") && (err != nil || fmt.Sprintf("F%d", number) != row.Row) {
			t.Errorf("%s is of row %s", name, row.Row)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	_, src, err := Read("strategies")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, repl string }{
		{"unknown field", "podQueueNum", "podQueueNumber"},
		{"unknown strategy", "keyed,", "keyd,"},
		{"number for a duration", "drainTimeout: 12s", "drainTimeout: 15"},
		{"unknown verdict", "fail-allowed", "whatever"},
		{"other version", "watchbench/v1", "watchbench/v9"},
	} {
		bad := strings.Replace(string(src), tc.old, tc.repl, 1)
		if bad == string(src) {
			t.Fatalf("%s: the file has no %q", tc.name, tc.old)
		}
		// The points of a matrix are checked by the decoder, not by the schema.
		if err := schema.Validate(asJSON(t, []byte(bad))); (err == nil) != (tc.name == "unknown strategy") {
			t.Errorf("%s: %v", tc.name, err)
		}
		if _, err := faults.Format.Parse("x.yaml", []byte(bad)); err == nil {
			t.Errorf("%s: the decoder takes it", tc.name)
		}
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ ref, want string }{
		{"strategie", "scenario strategie: no scenario of that name is shipped; did you mean strategies?"},
		{"examples/knee", "scenario examples/knee: no scenario of that name is shipped; it is examples/rate now"},
		{"./nowhere.yaml", "./nowhere.yaml: no such file; give a path, or the name of a shipped scenario:"},
		{dir + "/", "is a folder; name one .yaml file in it"},
	} {
		_, _, err := Read(tc.ref)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.ref, err, tc.want)
		}
	}
	path := dir + "/own.yaml"
	if err := os.WriteFile(path, []byte("a: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if name, data, err := Read(path); err != nil || name != path || string(data) != "a: b" {
		t.Errorf("%s %q: %v", name, data, err)
	}
}
