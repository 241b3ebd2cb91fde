package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestNothingMissingPasses: of two runs that PASS, every field of one is deleted, zeroed or
// renamed, one at a time, in one cell and in all. What a figure or a check is judged from
// must not give PASS then; what makes runs comparable must not give PASS at all.
func TestNothingMissingPasses(t *testing.T) {
	base, changed := saved(1, quiet, 6, planted{})
	if v := mustSaved(t, base, changed); v.Outcome != Pass {
		t.Fatalf("the pair itself: %s", v.Sentence())
	}
	tried := 0
	for _, path := range paths(tree(t, changed), nil) {
		names := touched(path)
		if names == nil {
			continue
		}
		for _, how := range []string{"delete", "zero", "rename"} {
			for _, all := range []bool{false, true} {
				broken, same := mutate(t, changed, path, how, all)
				if same {
					continue
				}
				tried++
				for side, v := range map[string]*Verdict{"NEW": mustSaved(t, base, broken), "BASE": mustSaved(t, broken, base)} {
					if v.Outcome == Pass {
						t.Errorf("%s of %s %s (all cells: %v): %s: %s", how, side, strings.Join(path, "."), all, v.Outcome, v.Sentence())
					}
					for _, f := range append(slices.Clone(v.Metrics), v.Invariants...) {
						if slices.Contains(names, f.Name) && (f.Outcome == Pass || f.Outcome == NotJudged) {
							t.Errorf("%s of %s %s (all cells: %v): %s is %s", how, side, strings.Join(path, "."), all, f.Name, f.Outcome)
						}
					}
				}
			}
		}
	}
	if tried < 300 {
		t.Fatalf("only %d mutations were tried", tried)
	}
	t.Logf("%d mutations", tried)
}

// touched are the findings that are judged from a path of results.json; nil if nothing is,
// and empty if it makes the runs comparable.
func touched(path []string) []string {
	joined := strings.Join(path, ".")
	switch {
	case path[0] == "schema", path[0] == "scenario", joined == "cells", joined == "run.scenario", joined == "run.seed", joined == "run.order":
		return []string{}
	case path[0] == "environment":
		program, isProgram := strings.CutPrefix(joined, "environment.programs.")
		if slices.ContainsFunc(always, func(p string) bool { return strings.HasPrefix(joined, p) }) || isProgram && !slices.Contains(tools, program) {
			return nil
		}
		return []string{}
	case path[0] != "cells" || len(path) < 3:
		return nil
	}
	below := strings.Join(path[2:], ".")
	if path[2] == "params" || below == "valid" || below == "id" {
		return []string{}
	}
	if below == "load.planned" {
		return []string{invErrors}
	}
	var names []string
	for name := range Defaults().Metrics {
		if name == below || strings.HasPrefix(name, below+".") {
			names = append(names, name)
		}
	}
	if path[2] == "checks" && (len(path) < 5 || path[4] == "verdict" || path[4] == "judged") {
		for g := range map[string]bool{"G1": true, "G2": true, "G3": true, "G4": true, "G5": true, "G6": true} {
			if len(path) == 3 || path[3] == g {
				names = append(names, g)
			}
		}
	}
	return names
}

func tree(t *testing.T, res *result.Results) any {
	t.Helper()
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// paths of all fields, those of the first cell for all cells.
func paths(v any, path []string) (all [][]string) {
	switch x := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			below := append(slices.Clone(path), k)
			all = append(append(all, below), paths(x[k], below)...)
		}
	case []any:
		if len(path) == 1 && path[0] == "cells" {
			all = paths(x[0], []string{"cells", "0"})
		}
	}
	return all
}

// mutate breaks one path, in the first cell or in all; same is whether that changed nothing.
func mutate(t *testing.T, res *result.Results, path []string, how string, all bool) (broken *result.Results, same bool) {
	t.Helper()
	root := tree(t, res)
	before := fmt.Sprint(root)
	cells, _ := root.(map[string]any)["cells"].([]any)
	for i := range cells {
		p := slices.Clone(path)
		if len(p) > 2 && p[0] == "cells" {
			p[1] = fmt.Sprint(i)
		}
		breakAt(root, p, how)
		if !all || len(p) <= 2 {
			break
		}
	}
	data, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	broken = &result.Results{}
	if err := json.Unmarshal(data, broken); err != nil {
		return nil, true // not readable at all, so refused before
	}
	return broken, fmt.Sprint(root) == before
}

func breakAt(v any, path []string, how string) {
	for ; len(path) > 1; path = path[1:] {
		switch x := v.(type) {
		case map[string]any:
			v = x[path[0]]
		case []any:
			var i int
			_, _ = fmt.Sscan(path[0], &i)
			v = x[i]
		}
	}
	x, ok := v.(map[string]any)
	if !ok {
		return
	}
	k := path[0]
	switch how {
	case "delete":
		delete(x, k)
	case "rename":
		x[k+"X"] = x[k]
		delete(x, k)
	case "zero":
		switch x[k].(type) {
		case string:
			x[k] = ""
		case float64:
			x[k] = 0.0
		case bool:
			x[k] = false
		case map[string]any:
			x[k] = map[string]any{}
		case []any:
			x[k] = []any{}
		}
	}
}
