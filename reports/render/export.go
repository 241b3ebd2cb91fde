package render

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/watchbench/watchbench/reports/reference"
	"github.com/watchbench/watchbench/reports/result"
)

// csvText is a text that no spreadsheet takes for a formula.
func csvText(s string) string {
	s = clean(s)
	if _, err := strconv.ParseFloat(s, 64); err != nil && s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// CSV writes one line per cell and repetition, units in the heading. The first measures have the names of the
// published measurements. An empty field is not known. Figures of invalid cells are there, marked by valid=false; a
// drain time that was not waited for is marked by drain_projected=true.
func CSV(w io.Writer, res *result.Results) error {
	t := arrange(res)
	beside := reference.Compare(res) != nil
	head := append([]string{"strategy", "load"}, t.extra...)
	head = append(head, "repetition", "valid")
	metrics := having(func(m result.Metric) bool { return m.CSV != "" })
	for _, m := range metrics {
		head = append(head, m.CSV)
	}
	head = append(head, "drain_projected", "freshness_at_least", "done_fraction", "keeps_up")
	if beside {
		for _, name := range reference.Figures {
			head = append(head, "published_"+figureOf(name).CSV)
		}
		head = append(head, "all_kinds_drain_qps", "all_kinds_published_window_qps")
	}
	head = append(append(append(head, "bottleneck"), t.checks...), "invalid_reasons", "cell")
	lines := [][]string{head}
	for _, r := range t.rows {
		for _, c := range r.Cells {
			line := append([]string{r.strategy, r.load}, r.extra...)
			line = append(line, strconv.Itoa(c.Repetition), strconv.FormatBool(c.Valid))
			for _, m := range metrics {
				line = append(line, number(m.Unit, one(m, c).Value))
			}
			done, keepsUp := ifSome(1, c.Handler.DrainSeconds != nil), ""
			if c.Cut {
				done = &c.CutFraction
			}
			if c.Pace != nil {
				keepsUp = strconv.FormatBool(c.Pace.KeepsUp)
			}
			line = append(line, strconv.FormatBool(c.Handler.DrainProjected), strconv.FormatBool(c.Cut), number("", done),
				keepsUp)
			if beside {
				line = append(line, besideFields(r.load, c)...)
			}
			line = append(line, c.Bottleneck.Stage)
			for _, g := range t.checks {
				line = append(line, c.Checks[g].Verdict)
			}
			lines = append(lines, append(line, strings.Join(c.InvalidReasons, "; "), c.ID))
		}
	}
	for _, l := range lines {
		for i, s := range l {
			l[i] = csvText(s)
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func one(m result.Metric, c *result.Cell) result.Summary {
	valid := *c
	valid.Valid = true
	return m.Over([]*result.Cell{&valid})
}

// number is a value that reads back as the same; "" if it is not known.
func number(unit string, v *float64) string {
	if v == nil {
		return ""
	}
	return exact(inUnit(unit, *v))
}

// Bench writes the run in the Go benchmark format, one line per cell and
// repetition, so that benchstat and golang.org/x/perf can compare runs.
//
// benchstat puts results under different configuration lines or names into different tables and rows. So a line says
// what must be equal for a comparison to mean anything; what differs from run to run is a comment, and a name has the
// whole point of the matrix, whatever else was run beside it.
//
// What is not known is absent: a tool must notice a missing figure. So are an invalid cell; of a cell that fails a
// core check all but its load and what went wrong; what the plan of an open loop decides; and a drain time or
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
	metrics := having(func(m result.Metric) bool { return m.Bench != "" })
	for _, m := range metrics {
		if m.Better != "" {
			fmt.Fprintf(b, "Unit %s better=%s\n", m.Bench, m.Better)
		}
	}
	fmt.Fprintln(b)
	for _, r := range t.rows {
		name := benchName(r, e.CPUs)
		for _, c := range r.Cells {
			if !c.Valid {
				fmt.Fprintf(b, "# left out as invalid: %s: %s\n", name, clean(strings.Join(c.InvalidReasons, "; ")))
				continue
			}
			correct, fields := len(c.Checks) > 0 && !slices.ContainsFunc(result.Core, c.Violates), []string(nil)
			for _, m := range metrics {
				s := one(m, c)
				speed := !m.Total && !strings.HasPrefix(m.Name, "load.")
				if s.Value == nil || s.Projected || s.AtLeast || speed && !correct || m.ByPlan && r.isOpen() {
					continue
				}
				fields = append(fields, exact(*s.Value*baseUnits[m.Unit])+" "+m.Bench)
			}
			if len(fields) > 0 {
				fmt.Fprintf(b, "%s 1 %s\n", name, strings.Join(fields, " "))
			}
		}
	}
	return b.Flush()
}

// baseUnits are the sizes of units in those of bench.txt, so that benchstat chooses the prefix.
var baseUnits = map[string]float64{"": 1, "/s": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "MiB": 1 << 20, "KiB/s": 1 << 10,
	"share": 100}

// benchName is BenchmarkScenario/load=…/strategy=…/other.axis=…-CPUs, with watcher=… instead
// of strategy=… for another watcher.
func benchName(r *row, cpus int) string {
	key := "strategy"
	if r.external() {
		key = "watcher"
	}
	s := "BenchmarkScenario/load=" + benchPart(r.load) + "/" + key + "=" + benchPart(r.strategy)
	for _, axis := range slices.Sorted(maps.Keys(r.Params)) {
		if axis != result.ParamLoad && axis != result.ParamStrategy {
			s += "/" + benchPart(axis) + "=" + benchPart(r.Params[axis])
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
