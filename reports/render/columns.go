package render

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
)

// group says where a column comes from.
type group string

const (
	published group = "published" // a column of the published measurements
	ours      group = "ours"
)

// column is one measure of the throughput table.
type column struct {
	group    group
	title    string // first heading line
	unit     string // second heading line
	csv      string // name in throughput.csv, unit included
	bench    string // unit in bench.txt; "" leaves it out
	scale    float64
	better   string // higher, lower, or "" where neither is better
	decimals int
	speed    bool // a speed, compared only between correct cells
	define   string
	measure  func(*row) reading
}

// reading is a summarised value of a row.
type reading struct {
	number    *float64 // nil: not known
	projected bool     // computed, not waited for
	atLeast   bool     // a lower bound
	word      string   // shown when there is no number to show
}

// value reads the column in one row.
func (c *column) value(r *row) reading { return c.measure(r) }

// text is how the table shows the value.
func (c *column) text(v reading) string {
	switch {
	case v.number == nil && v.word != "":
		return v.word
	case v.number == nil:
		return unknown
	case v.projected:
		return "~" + short(*v.number) + " proj."
	case v.atLeast:
		return "≥ " + fixed(v.number, c.decimals)
	}
	return fixed(v.number, c.decimals)
}

// Columns that notes and headlines refer to.
var (
	drain = &column{
		group: published, title: "Pod handler drain", unit: "s", csv: "pod_handler_drain_s", bench: "drain-sec", scale: 1, better: "lower", decimals: 1, speed: true,
		define:  "From the first event of the load until storage has acknowledged the last one. “~ proj.” means: the drain limit came first; what was left, divided by the rate so far, was added.",
		measure: measureDrain,
	}
	storageQPS = &column{
		group: published, title: "storage", unit: "qps", csv: "storage_qps", bench: "storage-requests/sec", scale: 1, better: "higher", decimals: 1, speed: true,
		define:  "Acknowledged storage requests per second, from the first acknowledgement to the last.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.QPS }),
	}
	efficiency = &column{
		group: ours, title: "efficiency", unit: "%", csv: "efficiency_percent", bench: "efficiency-percent", scale: 1, better: "higher", decimals: 1, speed: true,
		define:  "Storage rate divided by what that concurrency allows at that latency (requests in flight ÷ mean latency, Little's law).",
		measure: medianOf(func(c *result.Cell) *float64 { return times(c.Storage.Efficiency, 100) }),
	}
	freshnessP99 = &column{
		group: ours, title: "freshness p99", unit: "s", csv: "freshness_p99_s", bench: "freshness-p99-sec", scale: 1, better: "lower", decimals: 2, speed: true,
		define:  "Per operation: from the time the plan intended it until storage acknowledged a state at least that new; the 99th percentile, deletions included.",
		measure: measureFreshness(99, func(q *result.Quantiles) float64 { return q.P99 }),
	}
	lost = &column{
		group: ours, title: "lost", unit: "objects", csv: "lost_objects", bench: "lost-objects", scale: 1, better: "lower",
		define:  "Objects whose final state storage does not hold, found by comparing the apiserver with the ledger; over all repetitions.",
		measure: sumOf(func(e *result.Events) *int64 { return e.Lost }),
	}
	reordered = &column{
		group: ours, title: "reordered", unit: "writes", csv: "reordered_writes", bench: "reordered-writes", scale: 1, better: "lower",
		define:  "Writes that put an older state over a newer one, found in the ledger; over all repetitions.",
		measure: sumOf(func(e *result.Events) *int64 { return e.Reordered }),
	}
)

// columns is the table from left to right: the published order, then ours.
var columns = []*column{
	{
		group: published, title: "apiserver", unit: "qps", csv: "apiserver_qps", bench: "apiserver-writes/sec", scale: 1, better: "higher", decimals: 1,
		define:  "Successful writes per second that the generator reached against the apiserver, over the load window.",
		measure: medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.QPS, c.Load.DurationS > 0) }),
	},
	{
		group: published, title: "duration", unit: "s", csv: "duration_s", decimals: 1,
		define:  "Length of the load window.",
		measure: medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.DurationS, c.Load.DurationS > 0) }),
	},
	{
		group: published, title: "threads", csv: "threads",
		define:  "Concurrent load threads of a closed loop; an open loop has a rate and no threads.",
		measure: measureThreads,
	},
	{
		group: published, title: "writer full", unit: "s", csv: "writer_full_s", bench: "writer-full-sec", scale: 1, better: "lower", decimals: 1, speed: true,
		define:  "Time during which the Writer queue was at capacity.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Writer.FullSeconds }),
	},
	drain,
	{
		group: published, title: "storage latency", unit: "ms", csv: "storage_latency_ms", bench: "storage-latency-sec", scale: 1e-3, decimals: 1,
		define:  "Mean latency of the storage requests in the cell.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.SeenMeanMs }),
	},
	storageQPS,
	{
		group: published, title: "watcher cpu", unit: "cores", csv: "watcher_cpu_cores", bench: "watcher-cores", scale: 1, decimals: 3,
		define:  "User and system time of the watcher process per second, over load and drain.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.CPUCores }),
	},
	{
		group: published, title: "mem", unit: "MiB", csv: "watcher_mem_mib", bench: "watcher-rss-B", scale: 1 << 20, better: "lower", decimals: 1,
		define:  "Highest resident memory of the watcher process.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.RSSPeakMiB }),
	},
	{
		group: published, title: "network I/O", unit: "KiB/s", csv: "watcher_net_kib_per_s", bench: "watcher-net-B/sec", scale: 1 << 10, decimals: 1,
		define:  "Bytes on the watcher's own sockets per second, both directions, all peers.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.NetKiBps }),
	},
	efficiency,
	freshnessP99,
	lost,
	reordered,
}

// heading is the column's in every format.
func (c *column) heading() heading {
	return heading{Title: c.title, Unit: c.unit, Meaning: c.define, group: c.group}
}

// checksHeading is that of the table's last column.
var checksHeading = heading{Title: "checks", Meaning: checksMeaning, group: ours, left: true, marked: true}

// definitions are all columns with what they mean.
func definitions() (all []heading) {
	for _, c := range columns {
		all = append(all, c.heading())
	}
	return append(all, checksHeading)
}

const checksMeaning = "Guarantees judged over the recorded history; a cell that fails one is marked, and its speed is not compared."

func measureDrain(r *row) reading {
	v := medianOf(func(c *result.Cell) *float64 { return c.Handler.DrainSeconds })(r)
	if v.number == nil {
		return v
	}
	v.projected = slices.ContainsFunc(r.valid, func(c *result.Cell) bool { return c.Cut || c.Handler.DrainProjected })
	return v
}

func measureThreads(r *row) reading {
	v := medianOf(func(c *result.Cell) *float64 {
		return ifSome(float64(c.Load.Threads), c.Load.Threads > 0)
	})(r)
	if v.number == nil && len(r.valid) > 0 && r.valid[0].Load.Model == result.ModelOpen {
		v.word = "open loop"
	}
	return v
}

// measureFreshness reads one percentile. Over several repetitions it merges the
// histograms; without them it is unknown, because percentiles cannot be averaged.
func measureFreshness(percentile float64, field func(*result.Quantiles) float64) func(*row) reading {
	return func(r *row) reading {
		var v reading
		switch len(r.valid) {
		case 0:
			return v
		case 1:
			if q := r.valid[0].Freshness; q != nil && q.Count > 0 {
				v.number = ptr(field(q))
			}
		default:
			if h := r.freshness(); h != nil {
				v.number = ptr(float64(h.ValueAtPercentile(percentile)) / microsPerSecond)
			}
		}
		v.atLeast = v.number != nil && r.cut()
		return v
	}
}

// microsPerSecond: histograms count in microseconds.
const microsPerSecond = 1e6

// freshness merges the histograms of the valid repetitions; nil if one is missing.
func (r *row) freshness() *hdrhistogram.Histogram {
	var merged *hdrhistogram.Histogram
	for _, c := range r.valid {
		if c.Freshness == nil || c.Freshness.HDR == "" {
			return nil
		}
		h, err := hdrhistogram.Decode([]byte(c.Freshness.HDR))
		if err != nil {
			return nil
		}
		if merged == nil {
			merged = h
		} else if merged.Merge(h) > 0 {
			return nil // values outside the first one's range would be lost
		}
	}
	if merged == nil || merged.TotalCount() == 0 {
		return nil
	}
	return merged
}

// medianOf summarises a number over the valid repetitions that know it.
func medianOf(field func(*result.Cell) *float64) func(*row) reading {
	return func(r *row) reading {
		var values []float64
		for _, c := range r.valid {
			if v := field(c); v != nil {
				values = append(values, *v)
			}
		}
		return reading{number: median(values)}
	}
}

// sumOf adds a count over the valid repetitions. If only some know it, the sum is
// a lower bound.
func sumOf(field func(*result.Events) *int64) func(*row) reading {
	return func(r *row) reading {
		var v reading
		var sum float64
		known := 0
		for _, c := range r.valid {
			if c.Events != nil && field(c.Events) != nil {
				sum += float64(*field(c.Events))
				known++
			}
		}
		if known > 0 {
			v.number = &sum
			v.atLeast = known < len(r.valid)
		}
		return v
	}
}

// median of values; nil for none. Of an even number it is the mean of the middle two.
func median(values []float64) *float64 {
	n := len(values)
	if n == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return &s[n/2]
	}
	return ptr((s[n/2-1] + s[n/2]) / 2)
}

func ptr[T any](v T) *T { return &v }

func times(v *float64, k float64) *float64 {
	if v == nil {
		return nil
	}
	return ptr(*v * k)
}

func ifSome(v float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &v
}
