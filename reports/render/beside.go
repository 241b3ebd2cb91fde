package render

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/reference"
	"github.com/watchbench/watchbench/reports/result"
)

// publishedTable is the published table: the setup and the ten columns, as printed.
func publishedTable() Section {
	s := Section{ID: "reference", Title: "Published reference", Place: OnPage, Closed: true, Table: Table{Keys: 1,
		Heads: Heads("setup")},
		Notes: []string{"Measured by the authors of bcs-k8s-watch on a real cluster with three storage instances; not by " +
			"this " +
			"run and not on this machine. “before”: one Pod handler queue, Writer queue 10 240. “after”: 30 Pod handler " +
			"queues, Writer queue 102 400. The last network figure is printed so in the source; 1170 is meant, by the trend."}}
	for _, c := range published {
		s.Table.Heads = append(s.Table.Heads, c.head())
	}
	for _, row := range reference.Rows() {
		s.Table.Rows = append(s.Table.Rows, Cells(slices.Concat([]string{row.Setup}, row.Texts)...))
	}
	return s
}

// beside is a run of the scenario reference beside the published tables; without a Comparison for other scenarios.
type beside struct{ *reference.Comparison }

func besidePublished(res *result.Results) beside { return beside{reference.Compare(res)} }

// besideColumn is one column of the comparison: what was published, and what was measured.
type besideColumn struct {
	title, unit string
	decimals    int
	published   func(*reference.Row) float64
	measured    func(*reference.Figures) *float64
	csv         string // the published column; "" for one to which another's figure is besideColumn
}

var figures = []besideColumn{
	{"apiserver", "qps", 1, func(r *reference.Row) float64 { return r.QPS },
		func(f *reference.Figures) *float64 { return f.QPS }, "apiserver_qps"},
	{"writer full", "s", 1, func(r *reference.Row) float64 { return r.WriterFullS },
		func(f *reference.Figures) *float64 { return f.WriterFullS }, "writer_full_s"},
	{"Pod handler drain", "s", 1, func(r *reference.Row) float64 { return r.DrainS },
		func(f *reference.Figures) *float64 { return f.DrainS }, "pod_handler_drain_s"},
	{"storage latency", "ms", 1, func(r *reference.Row) float64 { return r.LatencyMs },
		func(f *reference.Figures) *float64 { return f.LatencyMs }, "storage_latency_ms"},
	{"storage, published window", "qps", 1, publishedRate, func(f *reference.Figures) *float64 { return f.Windowed },
		"storage_qps"},
	{"storage, over the drain", "qps", 1, publishedRate, func(f *reference.Figures) *float64 { return f.All }, ""},
	{"storage, 30 s", "qps", 1, publishedRate, func(f *reference.Figures) *float64 { return f.Fixed }, ""},
	{"storage, Pods", "qps", 1, publishedRate, func(f *reference.Figures) *float64 { return f.Pods }, ""},
	{"watcher cpu", "cores", 3, func(r *reference.Row) float64 { return r.CPUCores },
		func(f *reference.Figures) *float64 { return f.CPUCores }, "watcher_cpu_cores"},
	{"mem", "MiB", 1, func(r *reference.Row) float64 { return r.MemMiB },
		func(f *reference.Figures) *float64 { return f.MemMiB }, "watcher_mem_mib"},
	{"network I/O", "KiB/s", 1, func(r *reference.Row) float64 { return r.NetKiBps },
		func(f *reference.Figures) *float64 { return f.NetKiBps }, "watcher_net_kib"},
}

func publishedRate(r *reference.Row) float64 { return r.StorageQPS }

// section is all of it: the rules on shape, the factors, and each row.
func (c beside) section() Section {
	if c.Comparison == nil {
		return Section{}
	}
	return Section{ID: "beside", Title: "Beside the published tables", Parts: []Section{
		{Title: "Shape", Table: c.shape()}, {Title: "Storage rate, after ÷ before", Table: c.factors()},
		{Title: "Rows", Table: c.rows(), Notes: c.notes()},
	}}
}

// rows is each published row with what was measured in its place.
func (c beside) rows() Table {
	s := Table{Keys: 3, Heads: append(Heads("setup"), Head{Title: "threads"}, Head{Words: true})}
	for _, f := range figures {
		s.Heads = append(s.Heads, Head{Title: f.title, Unit: f.unit})
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		line := func(name string, text func(*besideColumn) string) {
			cells := Cells(l.Row.Setup, strconv.Itoa(l.Row.Threads), name)
			for i := range figures {
				cells = append(cells, Cell{Text: text(&figures[i])})
			}
			s.Rows = append(s.Rows, cells)
		}
		if i == 0 || c.Lines[i-1].Row != l.Row {
			line("published", func(f *besideColumn) string {
				if f.csv == "" {
					return ""
				}
				return fixedAs(f.published(l.Row), f.decimals)
			})
			s.Rows[len(s.Rows)-1][0].Gap = i > 0 && c.Lines[i-1].Row.Setup != l.Row.Setup
		}
		projected := func(f *besideColumn) bool {
			return l.Projected && f.csv == "pod_handler_drain_s" && f.measured(&l.Figures) != nil
		}
		line(l.Watcher, func(f *besideColumn) string {
			v := f.measured(&l.Figures)
			if projected(f) {
				return "~" + short(*v) + " proj."
			}
			return fixed(v, f.decimals)
		})
		if l.Valid > 0 {
			line(l.Watcher+" ÷ published", func(f *besideColumn) string {
				v, to := f.measured(&l.Figures), f.published(l.Row)
				if v == nil || to == 0 {
					return unknown
				}
				return map[bool]string{true: "~"}[projected(f)] + short(*v/to)
			})
		}
	}
	return s
}

func fixedAs(v float64, decimals int) string { return fixed(&v, decimals) }

// factors is the table of the storage rates after ÷ before.
func (c beside) factors() Table {
	s := Table{Keys: 2, Heads: append(Heads("watcher", "before → after"),
		Head{Title: "published", Unit: "×"}, Head{Title: "published, drains alone", Unit: "×"},
		Head{Title: "over the drain, all kinds", Unit: "×"}, Head{Title: "published windows, all kinds", Unit: "×"},
		Head{Title: "busy window, Pods", Unit: "×"})}
	for i := range c.Factors {
		f := &c.Factors[i]
		cells := Cells(f.Watcher, fmt.Sprintf("%d → %d threads", f.Before.Threads, f.After.Threads), short(f.Published),
			fixedAs(f.Drain, 1), fixed(f.All, 1), fixed(f.Windowed, 1), fixed(f.Pods, 1))
		cells[0].Gap = i > 0 && c.Factors[i-1].Watcher != f.Watcher
		s.Rows = append(s.Rows, cells)
	}
	return s
}

// shape lists the rules that the published tables follow, and whether they hold here.
func (c beside) shape() Table {
	s := Table{Keys: 2, Heads: append(Heads("watcher", "rule"), Head{Title: "verdict", Words: true, Signed: true},
		Head{Title: "figures", Words: true})}
	for i, r := range c.Rules {
		tone := map[string]Tone{reference.Holds: Good, reference.Fails: Bad, reference.NotMeasured: Warn}[r.Verdict]
		cells := []Cell{{Text: r.Watcher}, {Text: r.Name}, {Text: r.Verdict, Tone: tone}, {Text: r.Figures}}
		cells[0].Gap = i > 0 && c.Rules[i-1].Watcher != r.Watcher
		s.Rows = append(s.Rows, cells)
	}
	return s
}

// reached is the part of the published writes per second that counts as reached.
const reached = 0.8

// notes list loads that the machine did not reach, dropped events and invalid rows.
func (c beside) notes() (notes []string) {
	var slow, lost, void []string
	for i := range c.Lines {
		l := &c.Lines[i]
		name := l.Watcher + " " + l.Label()
		switch {
		case l.Valid == 0:
			void = append(void, name+" ("+l.Why+")")
			continue
		case l.QPS != nil && *l.QPS < reached*l.Row.QPS:
			slow = append(slow, fmt.Sprintf("%s %.0f of %v", name, *l.QPS, l.Row.QPS))
		}
		if l.Dropped != nil && *l.Dropped > 0 {
			lost = append(lost, fmt.Sprintf("%s %.0f", name, *l.Dropped))
		}
	}
	if len(slow) > 0 {
		notes = append(notes, "This machine did not reach the published writes per second: "+strings.Join(slow, ", ")+
			"; of these rows compare ratios, not figures.")
	}
	if len(lost) > 0 {
		notes = append(notes, "Events that the watcher dropped: "+strings.Join(lost, ", ")+".")
	}
	if len(void) > 0 {
		notes = append(notes, "Invalid: "+strings.Join(void, "; ")+".")
	}
	return append(notes, fmt.Sprintf("Published storage rates are of all kinds, averaged over about %.0[1]f s before and "+
		"%.0[2]f s after; “–” where a cell was watched for less. “over the drain” is over the drain of Pods or its busiest "+
		"%[3]d s, “30 s” in the busiest %[3]d s whether Pods drained sooner or not, “Pods” of Pods alone.",
		reference.Windows[reference.Before], reference.Windows[reference.After], reference.MostDrain))
}

// csvReference has the published figures of each line's row, and its storage rates of all
// kinds.
func csvReference(res *result.Results) (fields []csvField) {
	if reference.Compare(res) == nil {
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

// shaped is the verdict on shape in one sentence.
func (c beside) shaped() string {
	var parts []string
	for _, w := range reference.Watchers {
		logs, published, n := 0.0, 0.0, 0.0
		for _, f := range c.Factors {
			if f.Watcher == w && f.All != nil {
				logs, published, n = logs+math.Log(*f.All), published+math.Log(f.Published), n+1
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s × (published %s ×)", w, short(math.Exp(logs/n)),
				short(math.Exp(published/n))))
		}
	}
	if len(parts) == 0 {
		return "How the rate of writes to storage differs between the published setups before and after was not measured."
	}
	return "Rate of writes to storage with the published setup “after”, as a multiple of that with “before”, at comparable " +
		"loads: " + strings.Join(parts, ", ") + "."
}
