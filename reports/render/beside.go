package render

import (
	"fmt"
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
		Notes: []string{"Measured by the authors of bcs-k8s-watch on a real cluster, not by this run. “before”: one Pod " +
			"handler queue, Writer queue 10 240. “after”: 30 Pod handler queues, Writer queue 102 400. The last network " +
			"figure is printed so; 1170 is meant."}}
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
	{"watcher cpu", "cores", 3, func(r *reference.Row) float64 { return r.CPUCores },
		func(f *reference.Figures) *float64 { return f.CPUCores }, "watcher_cpu_cores"},
	{"mem", "MiB", 1, func(r *reference.Row) float64 { return r.MemMiB },
		func(f *reference.Figures) *float64 { return f.MemMiB }, "watcher_mem_mib"},
	{"network I/O", "KiB/s", 1, func(r *reference.Row) float64 { return r.NetKiBps },
		func(f *reference.Figures) *float64 { return f.NetKiBps }, "watcher_net_kib"},
}

func publishedRate(r *reference.Row) float64 { return r.StorageQPS }

// section is all of it: the rules on shape, and each row.
func (c beside) section() Section {
	if c.Comparison == nil {
		return Section{}
	}
	return Section{ID: "beside", Title: "Beside the published tables", Parts: []Section{
		{Title: "Shape", Table: c.shape()}, {Title: "Rows", Table: c.rows(), Notes: c.notes()},
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

// notes list dropped events and invalid rows, and say what the rates are.
func (c beside) notes() (notes []string) {
	for i := range c.Lines {
		l := &c.Lines[i]
		switch {
		case l.Valid == 0:
			notes = append(notes, fmt.Sprintf("%s %s is invalid: %s.", l.Watcher, l.Label(), l.Why))
		case l.Dropped != nil && *l.Dropped > 0:
			notes = append(notes, fmt.Sprintf("%s %s dropped %.0f events.", l.Watcher, l.Label(), *l.Dropped))
		}
	}
	return append(notes, fmt.Sprintf("Storage rates are of all kinds: as published, over about %.0f s before and %.0f s "+
		"after, or over the drain of Pods or its busiest %d s. A row that this machine did not load as published "+
		"compares in ratios, not figures.",
		reference.Windows[reference.Before], reference.Windows[reference.After], reference.MostDrain))
}

// headline is whether the watchers follow the published factor.
func (c beside) headline() string {
	var parts []string
	for _, r := range c.Rules {
		if r.Needed {
			parts = append(parts, fmt.Sprintf("%s: %s: %s (%s)", r.Watcher, r.Name, r.Verdict, r.Figures))
		}
	}
	return "Beside the published tables, " + strings.Join(parts, "; ") + "."
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
