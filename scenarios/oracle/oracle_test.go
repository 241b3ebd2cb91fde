package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var folders = flag.String("folders", "", "folders of runs or matrices to recompute, separated by commas, beside those of testdata")

// TestOracle computes every figure and verdict of saved folders a second time.
func TestOracle(t *testing.T) {
	for _, dir := range strings.Split(*folders, ",") {
		if dir == "" {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) { run(t, dir) })
	}
}

func run(t *testing.T, dir string) {
	var published struct{ Cells []map[string]any }
	readJSON(t, filepath.Join(dir, "results.json"), &published)
	for _, c := range published.Cells {
		id := c["id"].(string)
		t.Run(id, func(t *testing.T) {
			r := load(t, filepath.Join(dir, "cells", id))
			for _, d := range differences(compute(t, r), c) {
				t.Error(d)
			}
		})
	}
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

func differences(want answers, cell map[string]any) (out []string) {
	have := map[string]any{}
	flatten(have, "", cell)
	for path, v := range have {
		if why(path) != "" {
			continue
		}
		w, ok := want[path]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: %v is published, the oracle has none", path, v))
		case !same(v, w):
			out = append(out, fmt.Sprintf("%s: %v is published, the oracle has %v", path, v, w))
		}
	}
	for path, v := range want {
		if _, ok := have[path]; !ok {
			out = append(out, fmt.Sprintf("%s: none is published, the oracle has %v", path, v))
		}
	}
	slices.Sort(out)
	return out
}

func same(published, want any) bool {
	p, number := published.(float64)
	if w, ok := want.(within); ok {
		return number && (agrees(p, w.v) || math.Abs(p-w.v) <= w.room)
	}
	w, wanted := want.(float64)
	if number && wanted {
		return agrees(p, w)
	}
	return published == want
}

func why(path string) string {
	switch {
	case strings.HasPrefix(path, "series."), strings.HasPrefix(path, "bottleneck."), strings.HasSuffix(path, ".hdr"), strings.HasSuffix(path, ".counterexample"), strings.HasSuffix(path, ".note"):
		return "later"
	}
	return ""
}

var _ = json.Marshal
