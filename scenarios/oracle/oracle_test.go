package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var folders = flag.String("folders", "", "folders of runs or matrices to recompute, separated by commas, instead of those of testdata")

// asked are the folders that were asked for, relative ones seen from the root of the
// repository, or testdata's.
func asked() []string {
	if *folders == "" {
		return testdata
	}
	dirs := strings.Split(*folders, ",")
	for i, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dirs[i] = filepath.Join("..", "..", dir)
		}
	}
	return dirs
}

// testdata are a run of closed loops, one of open loops with thresholds, of which some keep up
// and some fall behind, on a machine that was much too busy, one with each kind of reader, and
// replicas that divide shards and labels, and a row of the matrix.
var testdata = []string{"testdata/run", "testdata/open", "testdata/readers", "testdata/observed", "testdata/shards", "testdata/matrix"}

// saved lists the folders of runs; of a matrix they are those in it.
func saved(t *testing.T, from []string) (dirs []string) {
	t.Helper()
	for _, dir := range from {
		found, err := filepath.Glob(filepath.Join(dir, "*", "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(found, filepath.Join(dir, "run.json")) {
			if _, err := os.Stat(f); err == nil {
				dirs = append(dirs, filepath.Dir(f))
			}
		}
	}
	if len(dirs) == 0 {
		t.Fatalf("no run in %v", from)
	}
	return dirs
}

type cell struct {
	id, dir   string
	published map[string]any
}

func cells(t *testing.T, dir string) (out []cell) {
	t.Helper()
	var run struct{ Cells []map[string]any }
	readJSON(t, filepath.Join(dir, "results.json"), &run)
	for _, c := range run.Cells {
		id, _ := c["id"].(string)
		out = append(out, cell{id, filepath.Join(dir, "cells", id), c})
	}
	return out
}

// TestOracle computes every figure and verdict of saved folders a second time.
func TestOracle(t *testing.T) {
	compared := 0
	for _, dir := range saved(t, asked()) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			sameRun(t, dir)
			sameContests(t, dir)
			for _, c := range cells(t, dir) {
				t.Run(c.id, func(t *testing.T) {
					r, have := load(t, c.dir), leavesOf(t, c.published)
					want := compute(t, r)
					for _, d := range compare(r, want, have) {
						t.Error(d)
					}
					compared += len(want)
				})
			}
		})
	}
	t.Logf("%d figures, verdicts and points of curves computed", compared)
}

// flatten lists the leaves of a JSON value by their path.
func flatten(into map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(into, strings.TrimPrefix(path+"."+k, "."), x)
		}
	case []any:
		for i, x := range v {
			flatten(into, fmt.Sprintf("%s.%d", path, i), x)
		}
	default:
		into[path] = v
	}
}

// leavesOf are the leaves of a value as results.json has them.
func leavesOf(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	flatten(out, "", decoded)
	return out
}

// compare lists where the published leaves differ from what the oracle has.
func compare(r *record, want answers, have map[string]any) (out []string) {
	paths := map[string]bool{}
	for path := range have {
		paths[path] = true
	}
	for path := range want {
		paths[path] = true
	}
	for path := range paths {
		v, published := have[path]
		if d := differs(r, want, path, v, published); d != "" {
			out = append(out, path+": "+d)
		}
	}
	slices.Sort(out)
	return out
}

// differs compares one leaf and says what is wrong with it.
func differs(r *record, want answers, path string, v any, published bool) string {
	w, known := want[path]
	_, free := w.(optional)
	switch {
	case r.free(path), !published && free:
		return ""
	case !published:
		return fmt.Sprintf("none is published, the oracle has %v", w)
	case !known:
		return fmt.Sprintf("%v is published, the oracle has none", v)
	case !same(v, w):
		return fmt.Sprintf("%v is published, the oracle has %v", v, w)
	}
	return ""
}

func same(published, want any) bool {
	p, number := published.(float64)
	switch w := want.(type) {
	case within:
		return number && six(w.v-w.room) <= p && p <= six(w.v+w.room)
	case optional:
		return number && (agrees(p, w.v) || p == 0 && math.Abs(w.v) < 1e-12)
	case float64:
		return number && agrees(p, w)
	case hdr:
		text, ok := published.(string)
		return ok && w.is(text)
	}
	return published == want
}

// sameRun compares what results.json only copies from run.json.
func sameRun(t *testing.T, dir string) {
	var asked, published map[string]any
	readJSON(t, filepath.Join(dir, "run.json"), &asked)
	readJSON(t, filepath.Join(dir, "results.json"), &published)
	for part := range published { // thresholds are those of the tests of reports/result
		if !slices.Contains([]string{"schema", "run", "environment", "scenario", "cells", "thresholds", "contests"}, part) {
			t.Errorf("%s is published, and nobody computes it a second time", part)
		}
	}
	if published["schema"] != "watchbench/results/v1" {
		t.Errorf("schema %v", published["schema"])
	}
	var ids []any
	for _, c := range cells(t, dir) {
		ids = append(ids, c.id)
	}
	if recorded, _ := asked["cells"].([]any); !slices.Equal(ids, recorded) {
		t.Errorf("the cells %v are published, run.json has %v", ids, recorded)
	}
	want, have := map[string]any{}, map[string]any{}
	for _, part := range []string{"run", "environment", "scenario"} {
		flatten(want, part, asked[part])
		flatten(have, part, published[part])
	}
	for path, v := range have {
		if want[path] != v {
			t.Errorf("%s: %v is published, run.json has %v", path, v, want[path])
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d leaves of run, environment and scenario are published, run.json has %d", len(have), len(want))
	}
}
