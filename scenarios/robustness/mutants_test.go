package robustness

import (
	"bytes"
	_ "embed"
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
