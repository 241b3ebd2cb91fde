package oracle

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"
)

// sameContests orders the points of each contest again: every point takes part in one, those that take part stand in the
// order of the medians of their valid cells, and a ranked value is that median.
func sameContests(t *testing.T, dir string) {
	t.Helper()
	var run struct {
		Contests []struct {
			Figure        string
			Points, Takes []string
			Ranked        []struct {
				Point string
				Value float64
			}
		}
	}
	readJSON(t, filepath.Join(dir, "results.json"), &run)
	values, named := map[string][]float64{}, map[string]int{}
	for _, contest := range run.Contests {
		clear(values)
		for _, p := range contest.Points {
			named[p]++
		}
		for _, c := range cells(t, dir) {
			have := map[string]any{}
			flatten(have, "", c.published)
			v, measured := have[contest.Figure].(float64)
			point, _ := have["point"].(string)
			if point == "" {
				point = c.id
			}
			if have["valid"] == true && measured {
				values[point] = append(values[point], v)
			}
		}
		median := func(p string) float64 { return middle(values[p]) }
		for _, p := range contest.Takes {
			if len(values[p]) == 0 {
				t.Errorf("%s takes part without a figure", p)
			}
		}
		if !slices.IsSortedFunc(contest.Takes, func(a, b string) int { return cmp.Compare(median(a), median(b)) }) {
			t.Errorf("%v is not the order of %s: %v", contest.Takes, contest.Figure, values)
		}
		for _, r := range contest.Ranked {
			if !agrees(r.Value, median(r.Point)) {
				t.Errorf("%s is ranked at %v, its median is %v", r.Point, r.Value, median(r.Point))
			}
		}
	}
	for p, n := range named {
		if n != 1 {
			t.Errorf("%s stands in %d contests", p, n)
		}
	}
}

// middle is the median.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
