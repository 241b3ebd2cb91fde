package robustness

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// mutant is a watcher with a bug.
type mutant struct {
	Name   string
	Bug    string // what it does wrong, one sentence
	Edits  []edit
	Caught []row    // where, each of them
	Live   []string // checks, one of which fails in a live cluster: nothing but a witness sees what controllers write
}

// edit replaces a text that occurs exactly once in a file of the repository.
type edit struct{ File, Old, New string }

// row is a scenario of the fault matrix that must catch a mutant.
type row struct {
	Scenario string
	Cells    []string // overrides that choose cells of the scenario, or make it shorter
	Columns  string   // each cell must fail in at least one of them
}

//go:embed testdata/mutants.yaml
var mutantsFile []byte

// mutants are those of the fault matrix, liveMutants those of a live cluster.
var mutants, liveMutants = func() (matrix, live []mutant) {
	d := yaml.NewDecoder(bytes.NewReader(mutantsFile))
	d.KnownFields(true)
	var all []mutant
	if err := d.Decode(&all); err != nil {
		panic(err)
	}
	for _, m := range all {
		if m.Live != nil {
			live = append(live, m)
		} else {
			matrix = append(matrix, m)
		}
	}
	return matrix, live
}()

// TestMutantsApply: every mutant still fits the code and compiles, also those of live clusters and of the gate.
func TestMutantsApply(t *testing.T) {
	names := map[string]bool{}
	all := slices.Concat(mutants, liveMutants)
	for _, m := range all {
		if names[m.Name] || m.Bug == "" || len(m.Edits) == 0 || len(m.Caught)+len(m.Live) == 0 {
			t.Errorf("mutant %q: want a name of its own, what it does wrong, edits and what catches it", m.Name)
		}
		names[m.Name] = true
	}
	for _, p := range kinds {
		if m := p.mutant(100); len(m.Edits) > 0 {
			all = append(all, m)
		}
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			list, err := m.overlay(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := build(t.Context(), list, "", m.packages()...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestOverlayIsBuilt: what a mutant changes is what is compiled, and an edit that fits nowhere, or twice, is refused.
func TestOverlayIsBuilt(t *testing.T) {
	m := mutant{Name: "no-go", Edits: []edit{{"watcher/pipeline/gate.go", "package pipeline\n", "package pipeline\n\nno Go at all\n"}}}
	list, err := m.overlay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := build(t.Context(), list, "", m.packages()...); err == nil {
		t.Error("the overlay was not read: a package with an error in it compiles")
	}
	for _, old := range []string{"no such text", "robustness"} {
		m := mutant{Name: "bad", Edits: []edit{{"scenarios/robustness/doc.go", old, ""}}}
		if _, err := m.mutate(); err == nil || !strings.Contains(err.Error(), "times, not once") {
			t.Errorf("%q: %v", old, err)
		}
	}
}

// TestRowsAssert: the columns that are to catch a mutant are asserted by the scenario. A machine that stands still for
// a moment fails I and T, so they catch nothing.
func TestRowsAssert(t *testing.T) {
	for _, m := range mutants {
		for _, r := range m.Caught {
			fault := read(t, r.Scenario, r.Cells...).Base().Fault
			for _, column := range strings.Split(r.Columns, "") {
				if !slices.Contains(fault.Assert, column) || column == "I" || column == "T" {
					t.Errorf("mutant %s: %s is to fail in column %s, but what can catch it there is %v without I and T",
						m.Name, r.Scenario, column, fault.Assert)
				}
			}
		}
	}
}

// root is the repository's, seen from this package.
const root = "../.."

// mutate returns the edited text of each file, by its path in the repository.
func (m mutant) mutate() (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.Edits {
		text, ok := files[e.File]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s holds this text %d times, not once; fit the edit to the code:\n%s", m.Name, e.File, n, e.Old)
		}
		files[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return files, nil
}

// overlay writes the edited files and the list of them for go build -overlay below dir, and returns the list's path.
func (m mutant) overlay(dir string) (string, error) {
	files, err := m.mutate()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, m.Name)
	replace := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		from, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		// Not a .go file: below out/, the linter would take it for a package of ours.
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".txt")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, []byte(files[name]), 0o644); err != nil {
			return "", err
		}
		replace[from] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, data, 0o644)
}

// build compiles packages of the repository, with an overlay if there is one, and writes commands to out, nothing if
// that is empty.
func build(ctx context.Context, overlay, out string, packages ...string) error {
	args := []string{"build"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if out != "" {
		args = append(args, "-o", out)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, text)
	}
	return nil
}

// packages are those that the mutant changes.
func (m mutant) packages() (all []string) {
	for _, e := range m.Edits {
		if p := "./" + path.Dir(e.File); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}
