package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/watchbench/watchbench/reports/result"
)

// Bench writes the run in the Go benchmark format, one line per cell and
// repetition, so that benchstat and golang.org/x/perf can compare runs.
//
// What is not known is absent: a tool must notice a missing figure. So are an
// invalid cell, the speed of a cell that fails a core check, and a drain time or
// freshness that was cut short.
func Bench(w io.Writer, res *result.Results) error {
	if err := res.Validate(); err != nil {
		return err
	}
	t := arrange(res)
	b := bufio.NewWriter(w)
	for _, f := range []fact{
		{"scenario", res.Run.Scenario}, {"run", res.Run.ID}, {"commit", res.Environment.Commit},
		{"provider", res.Environment.Provider}, {"kubernetes", res.Environment.Kubernetes}, {"etcd", res.Environment.Etcd},
		{"go", res.Environment.GoVersion}, {"kernel", res.Environment.Kernel}, {"cpu", res.Environment.CPUModel},
	} {
		if v := strings.TrimSpace(clean(f.Value)); v != "" {
			fmt.Fprintf(b, "%s: %s\n", f.Name, v)
		}
	}
	units := benchUnits()
	for _, u := range units {
		if u.better != "" {
			fmt.Fprintf(b, "Unit %s better=%s\n", u.name, u.better)
		}
	}
	fmt.Fprintln(b)
	for _, r := range t.rows {
		for _, c := range r.cells {
			name := benchName(t, r, res.Environment.CPUs)
			if !c.Valid {
				fmt.Fprintf(b, "# left out as invalid: %s: %s\n", name, clean(strings.Join(c.InvalidReasons, "; ")))
				continue
			}
			one := &row{strategy: r.strategy, load: r.load, extra: r.extra}
			one.checks = map[string]result.Check{}
			one.add(c)
			fields := benchFields(one, units)
			if len(fields) > 0 {
				fmt.Fprintf(b, "%s 1 %s\n", name, strings.Join(fields, " "))
			}
		}
	}
	return b.Flush()
}

// benchUnit is a measure under its unit's name, in base units, so that benchstat
// chooses the prefix.
type benchUnit struct {
	name, better string
	speed        bool
	value        func(*row) *float64
}

func benchUnits() []benchUnit {
	var units []benchUnit
	for _, c := range columns {
		if c.bench == "" {
			continue
		}
		units = append(units, benchUnit{name: c.bench, better: c.better, speed: c.speed, value: func(r *row) *float64 {
			v := c.value(r)
			if v.projected || v.atLeast {
				return nil
			}
			return times(v.number, c.scale)
		}})
	}
	p50 := measureFreshness(50, func(q *result.Quantiles) float64 { return q.P50 })
	return append(units,
		benchUnit{name: "freshness-p50-sec", better: "lower", speed: true, value: func(r *row) *float64 {
			if v := p50(r); !v.atLeast {
				return v.number
			}
			return nil
		}},
		benchUnit{name: "cpu-sec/request", better: "lower", speed: true, value: func(r *row) *float64 {
			return times(r.valid[0].Watcher.CPUMicrosPerReq, 1e-6)
		}},
		benchUnit{name: "cpu-sec/event", better: "lower", speed: true, value: func(r *row) *float64 {
			return times(r.valid[0].Watcher.CPUMicrosPerEvent, 1e-6)
		}},
		benchUnit{name: "failed-checks", better: "lower", value: func(r *row) *float64 {
			if len(r.checks) == 0 {
				return nil
			}
			return ptr(float64(len(r.with(result.Fail)) + len(r.with(result.Allowed))))
		}},
	)
}

func benchFields(r *row, units []benchUnit) []string {
	var fields []string
	for _, u := range units {
		if u.speed && !r.correct() {
			continue
		}
		if v := u.value(r); v != nil {
			fields = append(fields, exact(*v)+" "+u.name)
		}
	}
	return fields
}

// benchName is BenchmarkScenario/load=…/strategy=…-CPUs.
func benchName(t *table, r *row, cpus int) string {
	s := "BenchmarkScenario/load=" + benchPart(r.load) + "/strategy=" + benchPart(r.strategy)
	for i, k := range t.extra {
		s += "/" + benchPart(k) + "=" + benchPart(r.extra[i])
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
