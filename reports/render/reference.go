package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/reference"
)

// Reference is the published table: the setup and the ten columns, as printed.
func (t *table) Reference() sheet {
	s := sheet{Keys: 1, Heads: words("setup")}
	for _, c := range published {
		s.Heads = append(s.Heads, c.heading(false))
	}
	for _, row := range reference.Rows() {
		var l sheetRow
		l.add(row.Setup)
		l.add(row.Texts...)
		s.Rows = append(s.Rows, l)
	}
	return s
}

// ReferenceNote tells a reader how the two tables relate.
func (t *table) ReferenceNote() string {
	return "Measured by the authors of bcs-k8s-watch on a real cluster with three storage instances; not by this run and not on this machine. “before”: one Pod handler queue, Writer queue 10 240. “after”: 30 Pod handler queues, Writer queue 102 400. The last network figure is printed so in the source; 1170 is meant, by the trend."
}

// figure is one column of the comparison: what was published, and what was measured.
type figure struct {
	title, unit string
	decimals    int
	published   func(*reference.Row) float64
	measured    func(*reference.Figures) *float64
	csv         string // the published column; "" for one that has its figure from another, to which only the ratio is shown
}

var figures = []figure{
	{"apiserver", "qps", 1, func(r *reference.Row) float64 { return r.QPS }, func(f *reference.Figures) *float64 { return f.QPS }, "apiserver_qps"},
	{"writer full", "s", 1, func(r *reference.Row) float64 { return r.WriterFullS }, func(f *reference.Figures) *float64 { return f.WriterFullS }, "writer_full_s"},
	{"Pod handler drain", "s", 1, func(r *reference.Row) float64 { return r.DrainS }, func(f *reference.Figures) *float64 { return f.DrainS }, "pod_handler_drain_s"},
	{"storage latency", "ms", 1, func(r *reference.Row) float64 { return r.LatencyMs }, func(f *reference.Figures) *float64 { return f.LatencyMs }, "storage_latency_ms"},
	{"storage, published window", "qps", 1, func(r *reference.Row) float64 { return r.StorageQPS }, func(f *reference.Figures) *float64 { return f.Windowed }, "storage_qps"},
	{"storage, over the drain", "qps", 1, func(r *reference.Row) float64 { return r.StorageQPS }, func(f *reference.Figures) *float64 { return f.All }, ""},
	{"storage, 30 s", "qps", 1, func(r *reference.Row) float64 { return r.StorageQPS }, func(f *reference.Figures) *float64 { return f.Fixed }, ""},
	{"storage, Pods", "qps", 1, func(r *reference.Row) float64 { return r.StorageQPS }, func(f *reference.Figures) *float64 { return f.Pods }, ""},
	{"watcher cpu", "cores", 3, func(r *reference.Row) float64 { return r.CPUCores }, func(f *reference.Figures) *float64 { return f.CPUCores }, "watcher_cpu_cores"},
	{"mem", "MiB", 1, func(r *reference.Row) float64 { return r.MemMiB }, func(f *reference.Figures) *float64 { return f.MemMiB }, "watcher_mem_mib"},
	{"network I/O", "KiB/s", 1, func(r *reference.Row) float64 { return r.NetKiBps }, func(f *reference.Figures) *float64 { return f.NetKiBps }, "watcher_net_kib"},
}

// Beside is each published row with what was measured in its place; without rows for other
// scenarios.
func (t *table) Beside() (s sheet) {
	c := t.compared
	if c == nil {
		return s
	}
	s.Keys, s.Heads = 3, append(words("setup"), heading{Title: "threads"}, heading{Title: "", Left: true})
	for _, f := range figures {
		s.Heads = append(s.Heads, heading{Title: f.title, Unit: f.unit})
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		if i == 0 || c.Lines[i-1].Row != l.Row {
			p := sheetRow{First: i > 0 && c.Lines[i-1].Row.Setup != l.Row.Setup}
			p.add(l.Row.Setup, strconv.Itoa(l.Row.Threads), "published")
			for _, f := range figures {
				if f.csv == "" {
					p.add("")
				} else {
					p.add(fixedAs(f.published(l.Row), f.decimals))
				}
			}
			s.Rows = append(s.Rows, p)
		}
		var m, ratio sheetRow
		m.add(l.Row.Setup, strconv.Itoa(l.Row.Threads), l.Watcher)
		ratio.add(l.Row.Setup, strconv.Itoa(l.Row.Threads), l.Watcher+" ÷ published")
		for _, f := range figures {
			v := f.measured(&l.Figures)
			text, part := fixed(v, f.decimals), over(v, f.published(l.Row))
			if f.title == figures[2].title && l.Projected && v != nil {
				text, part = "~"+short(*v)+" proj.", "~"+part
			}
			m.add(text)
			ratio.add(part)
		}
		s.Rows = append(s.Rows, m)
		if l.Valid > 0 {
			s.Rows = append(s.Rows, ratio)
		}
	}
	return s
}

func fixedAs(v float64, decimals int) string { return fixed(&v, decimals) }

// over is a ratio as text; nothing can be said of one to nothing.
func over(v *float64, to float64) string {
	if v == nil || to == 0 {
		return unknown
	}
	return short(*v / to)
}

// Factors is the table of the storage rates after ÷ before.
func (t *table) Factors() (s sheet) {
	c := t.compared
	if c == nil || len(c.Factors) == 0 {
		return s
	}
	s.Keys, s.Heads = 2, append(words("watcher", "before → after"),
		heading{Title: "published", Unit: "×"}, heading{Title: "published, drains alone", Unit: "×"}, heading{Title: "over the drain, all kinds", Unit: "×"}, heading{Title: "published windows, all kinds", Unit: "×"}, heading{Title: "busy window, Pods", Unit: "×"})
	for i := range c.Factors {
		f := &c.Factors[i]
		var l sheetRow
		l.First = i > 0 && c.Factors[i-1].Watcher != f.Watcher
		l.add(f.Watcher, fmt.Sprintf("%d → %d threads", f.Before.Threads, f.After.Threads), short(f.Published), fixedAs(f.Drain, 1), fixed(f.All, 1), fixed(f.Windowed, 1), fixed(f.Pods, 1))
		s.Rows = append(s.Rows, l)
	}
	return s
}

// Shape is the table of what the published tables say beside their figures, and whether it is
// true here.
func (t *table) Shape() (s sheet) {
	c := t.compared
	if c == nil {
		return s
	}
	s.Keys, s.Heads = 2, words("watcher", "rule", "verdict", "figures")
	s.Heads[2].marked = true
	for i, r := range c.Rules {
		var l sheetRow
		l.First = i > 0 && c.Rules[i-1].Watcher != r.Watcher
		l.add(r.Watcher, r.Name, r.Verdict, r.Figures)
		l.Cells[2].tone = map[string]tone{reference.Holds: good, reference.Fails: bad}[r.Verdict]
		if r.Verdict == reference.NotMeasured {
			l.Cells[2].tone = warn
		}
		s.Rows = append(s.Rows, l)
	}
	return s
}

// BesideNote says what a reader must know of the rows above: which loads the machine did not
// reach, which drains were not waited for, what was lost, and what is not there.
func (t *table) BesideNote() string {
	c := t.compared
	if c == nil {
		return ""
	}
	var slow, lost, void []string
	projected := false
	for i := range c.Lines {
		l := &c.Lines[i]
		name := l.Watcher + " " + l.Label()
		switch {
		case l.Valid == 0:
			void = append(void, name+" ("+clean(l.Why)+")")
			continue
		case l.QPS != nil && *l.QPS < reached*l.Row.QPS:
			slow = append(slow, fmt.Sprintf("%s %.0f of %v", name, *l.QPS, l.Row.QPS))
		}
		projected = projected || l.Projected
		if l.Dropped != nil && *l.Dropped > 0 {
			lost = append(lost, fmt.Sprintf("%s %.0f", name, *l.Dropped))
		}
	}
	var notes []string
	if len(slow) > 0 {
		notes = append(notes, "This machine did not reach the published writes per second: "+strings.Join(slow, ", ")+"; of these rows compare ratios, not figures.")
	}
	if projected {
		notes = append(notes, "“~ proj.” was not waited for: the events still owed, at the rate so far, were added.")
	}
	if len(lost) > 0 {
		notes = append(notes, "Events that the watcher dropped: "+strings.Join(lost, ", ")+".")
	}
	if len(void) > 0 {
		notes = append(notes, "Invalid: "+strings.Join(void, "; ")+".")
	}
	return strings.Join(append(notes, fmt.Sprintf(
		"Published storage rates are of all kinds, averaged over about %.0[1]f s before and %.0[2]f s after; “–” where a cell was watched for less. “over the drain” is of all kinds too, over the drain of Pods or its busiest %[3]d s; “30 s” in the busiest %[3]d s whether Pods drained sooner or not; “Pods” of Pods alone, from first to last acknowledgement.",
		reference.Windows[reference.Before], reference.Windows[reference.After], reference.MostDrain)), " ")
}

// csvReference has the published figures of each line's row, and its storage rates of all
// kinds.
func (t *table) csvReference() (fields []csvField) {
	if t.compared == nil {
		return nil
	}
	of := func(r *row) *reference.Row { return reference.Find(r.load) }
	for _, f := range figures {
		if f.csv != "" {
			fields = append(fields, csvField{"published_" + f.csv, func(r *row) string {
				if p := of(r); p != nil {
					return exact(f.published(p))
				}
				return ""
			}})
		}
	}
	return append(fields,
		csvNumber("all_kinds_drain_qps", func(r *row) reading { return reading{number: reference.AllKinds(r.cells[0])} }),
		csvNumber("all_kinds_published_window_qps", func(r *row) reading {
			if p := of(r); p != nil {
				return reading{number: reference.Busiest(r.cells[0], reference.Windows[p.Setup])}
			}
			return reading{}
		}))
}

// reached is the part of the published writes per second that counts as reached.
const reached = 0.8

// Shaped is the verdict on shape in one sentence; empty for other scenarios.
func (t *table) Shaped() string {
	c := t.compared
	if c == nil {
		return ""
	}
	var parts []string
	for _, w := range reference.Watchers {
		logs, published, n := 0.0, 0.0, 0.0
		for _, f := range c.Factors {
			if f.Watcher == w && f.All != nil {
				logs, published, n = logs+math.Log(*f.All), published+math.Log(f.Published), n+1
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s × (published %s ×)", w, short(math.Exp(logs/n)), short(math.Exp(published/n))))
		}
	}
	if len(parts) == 0 {
		return "How the rate of writes to storage differs between the published setups before and after was not measured."
	}
	return "Rate of writes to storage with the published setup “after”, as a multiple of that with “before”, at comparable loads: " + strings.Join(parts, ", ") + "."
}
