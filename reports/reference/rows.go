// Package reference holds the throughput tables that the authors of bcs-k8s-watch published,
// and compares a run at the same settings (scenario reference) with them.
//
// The figures are facts with a source: throughput.csv names it. What the comparison needs of
// a run is in its results.json, so that a saved run can be compared again; docs/published.md
// has the definitions and how they were derived.
package reference

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Setups of the published tables.
const (
	Before = "before" // one Pod handler queue
	After  = "after"  // 30 Pod handler queues
)

// Setting is how a setup's queues were set.
type Setting struct{ Writer, Handler, Queues int }

// Settings of the setups.
var Settings = map[string]Setting{Before: {10240, 1024, 1}, After: {102400, 1024, 30}}

// Room is how many Pod events wait in all before the Writer queue is full, if they are spread evenly.
func (s Setting) Room() int { return s.Writer + s.Queues*s.Handler }

//go:embed throughput.csv
var source string

// Row is one line of the published tables. Texts are as printed, in the order of Columns.
type Row struct {
	Setup       string
	QPS         float64 // writes per second against the API server
	Seconds     float64 // of load
	Threads     int
	WriterFullS float64
	DrainS      float64 // of the Pod handler queues
	LatencyMs   float64 // of storage
	StorageQPS  float64
	CPUCores    float64
	MemMiB      float64
	NetKiBps    float64 // printed as 1.170 in the last row; 1170 is meant, by the trend
	Texts       []string
}

// Figures are the metrics that the tables have and the load does not set.
var Figures = []string{"load.qps", "writer.fullSeconds", "handler.drainSeconds", "storage.latencyMeanSeenMs",
	"storage.qps", "watcher.cpuCores", "watcher.rssPeakMiB", "watcher.netKiBps"}

// Value is the published figure of a metric.
func (r *Row) Value(metric string) float64 {
	return []float64{r.QPS, r.WriterFullS, r.DrainS, r.LatencyMs, r.StorageQPS, r.CPUCores, r.MemMiB,
		r.NetKiBps}[slices.Index(Figures, metric)]
}

// Label names a row in a sentence.
func (r *Row) Label() string { return r.Setup + " " + strconv.Itoa(r.Threads) + " threads" }

// Name of the row's load in the scenario.
func (r *Row) Name() string { return r.Setup + "-" + strconv.Itoa(r.Threads) }

// Writes is how many the load made.
func (r *Row) Writes() float64 { return r.QPS * r.Seconds }

// Serial is the requests per second of one serial queue.
func (r *Row) Serial() float64 { return 1000 / r.LatencyMs }

// What the published rows say of the mix of kinds; TestMix derives both.
const (
	// PodsPerWrite is how many Pod events a write makes.
	PodsPerWrite = 1.27
	// Others is how many other kinds have a serial queue that is as busy as that of Pods.
	Others = 2
)

// DrainQPS is the storage rate of all kinds while Pods drain and the other queues are busy, by
// the other figures of the row; the printed one is a mean over a window that may be longer.
func (r *Row) DrainQPS() float64 {
	pods := r.Serial()
	if r.Setup == After {
		pods = PodsPerWrite * r.Writes() / r.DrainS
	}
	return pods + Others*r.Serial()
}

var meant = map[string]float64{"1.170": 1170}

// Rows are the published rows in their order: before, then after, by threads.
var Rows = sync.OnceValue(func() []Row {
	rows, err := parse(source)
	if err != nil {
		panic(err) // the file is embedded, and tested
	}
	return rows
})

// Find is the row whose load has that name; nil is none.
func Find(name string) *Row {
	for i := range Rows() {
		if r := &Rows()[i]; r.Name() == name {
			return r
		}
	}
	return nil
}

func parse(text string) ([]Row, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.Comment = '#'
	lines, err := in.ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, fmt.Errorf("read the published tables, %d lines: %w", len(lines), err)
	}
	var rows []Row
	for _, line := range lines[1:] {
		r := Row{Setup: line[0], Texts: line[1:]}
		if _, ok := Settings[r.Setup]; !ok {
			return nil, fmt.Errorf("read the published tables: setup %q", r.Setup)
		}
		threads := 0.0
		for i, to := range []*float64{
			&r.QPS, &r.Seconds, &threads, &r.WriterFullS, &r.DrainS,
			&r.LatencyMs, &r.StorageQPS, &r.CPUCores, &r.MemMiB, &r.NetKiBps,
		} {
			if *to, err = strconv.ParseFloat(line[i+1], 64); err != nil {
				return nil, fmt.Errorf("read the published tables: %s: %w", lines[0][i+1], err)
			}
		}
		if v, ok := meant[line[10]]; ok {
			r.NetKiBps = v
		}
		r.Threads = int(threads)
		rows = append(rows, r)
	}
	return rows, nil
}
