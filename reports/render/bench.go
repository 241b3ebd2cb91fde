package render

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/watchbench/watchbench/reports/result"
)

// Bench writes the run in the Go benchmark format, one line per cell and
// repetition, so that benchstat and golang.org/x/perf can compare runs.
//
// benchstat puts results under different configuration lines or names into different
// tables and rows. So a line says what must be equal for a comparison to mean anything;
// what differs from run to run is a comment, and a name has the whole point of the matrix,
// whatever else was run beside it.
//
// What is not known is absent: a tool must notice a missing figure. So are an
// invalid cell, the speed of a cell that fails a core check, and a drain time or
// freshness that was cut short.
func Bench(w io.Writer, res *result.Results) error {
	t := arrange(res)
	b := bufio.NewWriter(w)
	e := &res.Environment
	for _, f := range [][2]string{
		{"scenario", res.Run.Scenario}, {"provider", e.Provider}, {"cpu", e.CPUModel},
		{"# run", res.Run.ID}, {"# commit", e.Commit}, {"# kubernetes", e.Kubernetes}, {"# etcd", e.Etcd},
		{"# go", e.GoVersion}, {"# kernel", e.Kernel},
	} {
		if v := strings.TrimSpace(clean(f[1])); v != "" {
			fmt.Fprintf(b, "%s: %s\n", f[0], v)
		}
	}
	for _, c := range measures {
		if c.bench != "" && c.better != "" {
			fmt.Fprintf(b, "Unit %s better=%s\n", c.bench, c.better)
		}
	}
	fmt.Fprintln(b)
	for _, r := range t.rows {
		name := benchName(r, e.CPUs)
		for _, c := range r.cells {
			if !c.Valid {
				fmt.Fprintf(b, "# left out as invalid: %s: %s\n", name, clean(strings.Join(c.InvalidReasons, "; ")))
				continue
			}
			var fields []string
			for _, m := range measures {
				if v := m.benchValue(r.alone(c)); v != nil {
					fields = append(fields, exact(*v)+" "+m.bench)
				}
			}
			if len(fields) > 0 {
				fmt.Fprintf(b, "%s 1 %s\n", name, strings.Join(fields, " "))
			}
		}
	}
	return b.Flush()
}

// benchValue is a measure in its base unit, so that benchstat chooses the prefix; nil
// if it is not known or may not be compared.
func (c *column) benchValue(r *row) *float64 {
	if c.bench == "" || c.speed && !r.correct() || c.closed && r.isOpen() {
		return nil
	}
	v := c.measure(r)
	if v.projected || v.atLeast {
		return nil
	}
	return times(v.number, c.scale)
}

// benchName is BenchmarkScenario/load=…/strategy=…/other.axis=…-CPUs, with watcher=… instead
// of strategy=… for another watcher.
func benchName(r *row, cpus int) string {
	key := "strategy"
	if r.external() {
		key = "watcher"
	}
	s := "BenchmarkScenario/load=" + benchPart(r.load) + "/" + key + "=" + benchPart(r.strategy)
	point := r.cells[0].Params
	for _, axis := range slices.Sorted(maps.Keys(point)) {
		if axis != result.ParamLoad && axis != result.ParamStrategy {
			s += "/" + benchPart(axis) + "=" + benchPart(point[axis])
		}
	}
	if cpus > 0 {
		s += fmt.Sprintf("-%d", cpus)
	}
	return s
}

// benchPart keeps a name from ending its part of the benchmark's name.
func benchPart(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' || r == '=' {
			return '_'
		}
		return r
	}, clean(s))
	if s == "" {
		return "_"
	}
	return s
}
