package procstat

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
)

// numbered makes cores of the given numbers of threads each, numbered in order.
func numbered(cores, threads int) (all [][]int) {
	for i := range cores {
		var core []int
		for j := range threads {
			core = append(core, i+j*cores) // as Linux numbers hyper-threads
		}
		all = append(all, core)
	}
	return all
}

func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cores [][]int
		want  [3]string // control plane, tools, watcher
	}{
		{"4 CPUs", numbered(4, 1), [3]string{"0-1", "2", "3"}},
		{"4 cores of 2 threads", numbered(4, 2), [3]string{"0-1,4-5", "2,6", "3,7"}},
		{"8 CPUs", numbered(8, 1), [3]string{"0-3", "4-5", "6-7"}},
		{"16 CPUs", numbered(16, 1), [3]string{"0-7", "8-11", "12-15"}},
		{"3 cores of 2 threads", numbered(3, 2), [3]string{"0,3", "1,4", "2,5"}},
		{"a part of a large machine", [][]int{{3}, {17}, {18}, {40}, {41}}, [3]string{"3,17-18", "40", "41"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := DivideCPUs(tt.cores)
			got := [3]string{CPUList(g.ControlPlane), CPUList(g.Tools), CPUList(g.Watcher)}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" || !g.Any() {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
	for _, few := range [][][]int{nil, numbered(1, 1), numbered(2, 1), numbered(3, 1), numbered(2, 2), numbered(1, 8)} {
		g, err := DivideCPUs(few)
		var bad *badinput.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "needs 4 CPUs on 3 cores") || g.Any() {
			t.Errorf("%v: %+v, %v; want a refusal", few, g, err)
		}
	}
}

func TestText(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "0": {0}, "0-1": {0, 1}, "1,3-5,9": {1, 3, 4, 5, 9}} {
		if got := CPUList(cpus); got != want {
			t.Errorf("%v: %q, want %q", cpus, got, want)
		}
	}
}
