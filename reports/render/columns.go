package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// column is one measure: of the throughput table, of throughput.csv and of bench.txt.
type column struct {
	Title    string // first heading line
	Unit     string // second heading line
	Meaning  string
	csv      string // name in throughput.csv, unit included; "" leaves it out
	bench    string // unit in bench.txt, a base unit; "" leaves it out
	scale    float64
	better   string // higher, lower, or "" where neither is better
	decimals int
	speed    bool // a speed, compared only between correct points
	closed   bool // better or worse in a closed loop only
	measure  func(*row) reading
}

func (c *column) head() Head { return Head{Title: c.Title, Unit: c.Unit, Meaning: c.Meaning} }

// reading is a summarised value of a row.
type reading struct {
	number    *float64  // nil: not known
	values    []float64 // what it sums up, one per valid repetition that knows it; nil for totals
	projected bool      // computed, not waited for
	atLeast   bool      // a lower bound
	word      string    // shown instead of a missing number
}

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

// cell is the value of a row, with how far its interval reaches.
func (c *column) cell(r *row) Cell {
	v := c.measure(r)
	cell := Cell{Text: c.text(v), Under: v.below(len(r.valid))}
	if v.projected || v.atLeast {
		cell.Tone = Warn
	}
	return cell
}

// interval is where the figure may lie, from its repetitions; ok is false if they are too
// few, or if it was not waited for.
func (v reading) interval() (i stats.Interval, ok bool) {
	if v.number == nil || v.projected || v.atLeast {
		return stats.Interval{}, false
	}
	return stats.Of(v.values)
}

// spread is how far the figure's interval reaches; "" where there is none, or nothing to be uncertain of.
func (v reading) spread() string {
	i, ok := v.interval()
	if !ok {
		return ""
	}
	return spreadOf(i, *v.number)
}

// spreadOf is an interval in per cent of a figure or, beyond 100 %, as a factor.
func spreadOf(i stats.Interval, figure float64) string {
	part, ok := i.Spread(figure)
	switch {
	case !ok || i.Low == i.High:
		return ""
	case part < 0.0995:
		return "±" + strconv.FormatFloat(100*part, 'f', 1, 64) + " %"
	case part < 1:
		return "±" + strconv.FormatFloat(100*part, 'f', 0, 64) + " %"
	}
	return "×÷ " + short(1+part)
}

// below returns the small print of a figure in a row of n valid repetitions: its interval, and
// how many repetitions know it if not all do.
func (v reading) below(n int) string {
	s := v.spread()
	if k := len(v.values); v.number != nil && k > 0 && k < n {
		s = strings.TrimSpace(fmt.Sprintf("%s n=%d", s, k))
	}
	return s
}

// Columns that notes, sentences and charts refer to.
var (
	drain = &column{
		Title: "Pod handler drain", Unit: "s", csv: "pod_handler_drain_s", bench: "drain-sec", scale: 1,
		better: "lower", decimals: 1, speed: true, closed: true, measure: measureDrain,
		Meaning: "From the first write of the load until storage acknowledged the last Pod that it was owed. " +
			"“~ proj.”: the drain limit came first; the events still owed, divided by the rate so far, were added.",
	}
	storageRate = &column{
		Title: "storage", Unit: "qps", csv: "storage_qps", bench: "storage-requests/sec", scale: 1,
		better: "higher", decimals: 1, speed: true,
		Meaning: "Acknowledged requests for Pods per second, from the first acknowledgement to the last.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.QPS }),
	}
	efficiency = &column{
		Title: "efficiency", Unit: "%", csv: "efficiency_percent", bench: "efficiency-percent", scale: 1,
		better: "higher", decimals: 1, speed: true, closed: true,
		Meaning: "Storage rate, of what the requests in flight allow at the configured mean latency.",
		measure: medianOf(func(c *result.Cell) *float64 { return times(c.Storage.Efficiency, 100) }),
	}
	freshnessP99 = &column{
		Title: "freshness p99", Unit: "s", csv: "freshness_p99_s", bench: "freshness-p99-sec", scale: 1,
		better: "lower", decimals: 2, speed: true, measure: freshnessQuantiles[2].measure,
		Meaning: "How old a change was when storage acknowledged it or a newer one, from the time at which it was due: " +
			"99 % of the operations, deletions included, took no longer. “≥”: of what was acknowledged.",
	}
	lost = &column{
		Title: "lost", Unit: "objects", csv: "lost_objects", bench: "lost-objects", scale: 1, better: "lower",
		Meaning: "Objects whose final state storage does not hold, by op log and ledger; over all repetitions.",
		measure: sumOf(func(e *result.Events) *int64 { return e.Lost }),
	}
	reordered = &column{
		Title: "reordered", Unit: "writes", csv: "reordered_writes", bench: "reordered-writes", scale: 1, better: "lower",
		Meaning: "Writes that put an older state over a newer one or over a deletion; over all repetitions.",
		measure: sumOf(func(e *result.Events) *int64 { return e.Reordered }),
	}
)

// published are the columns of the published measurements, in their order.
var published = []*column{
	{
		Title: "apiserver", Unit: "qps", csv: "apiserver_qps", bench: "apiserver-writes/sec", scale: 1,
		better: "higher", decimals: 1, measure: achieved,
		Meaning: "Successful writes per second, of all kinds, that the generator reached against the apiserver.",
	},
	{
		Title: "duration", Unit: "s", csv: "duration_s", decimals: 1,
		Meaning: "Length of the load.",
		measure: medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.DurationS, c.Load.DurationS > 0) }),
	},
	{
		Title: "threads", csv: "threads", measure: measureThreads,
		Meaning: "Concurrent load threads of a closed loop; an open loop has a rate and no threads.",
	},
	{
		Title: "writer full", Unit: "s", csv: "writer_full_s", bench: "writer-full-sec", scale: 1,
		better: "lower", decimals: 1, speed: true,
		Meaning: "Time during which the Writer queue was full, by the watcher's own counter.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Writer.FullSeconds }),
	},
	drain,
	{
		Title: "storage latency", Unit: "ms", csv: "storage_latency_ms", bench: "storage-latency-sec", scale: 1e-3,
		decimals: 1,
		Meaning:  "Mean time that an acknowledged request for a Pod spent in storage, by the mock's clock.",
		measure:  medianOf(func(c *result.Cell) *float64 { return c.Storage.SeenMeanMs }),
	},
	storageRate,
	{
		Title: "watcher cpu", Unit: "cores", csv: "watcher_cpu_cores", bench: "watcher-cores", scale: 1, decimals: 3,
		Meaning: "CPU time of the watcher per second, over load and drain.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.CPUCores }),
	},
	{
		Title: "mem", Unit: "MiB", csv: "watcher_mem_mib", bench: "watcher-rss-B", scale: 1 << 20, better: "lower",
		decimals: 1,
		Meaning:  "Highest resident memory of the watcher in load and drain, of the samples taken.",
		measure:  medianOf(func(c *result.Cell) *float64 { return c.Watcher.RSSPeakMiB }),
	},
	{
		Title: "network I/O", Unit: "KiB/s", csv: "watcher_net_kib_per_s", bench: "watcher-net-B/sec", scale: 1 << 10,
		decimals: 1,
		Meaning:  "Bytes that the watcher read and wrote per second, over all its connections.",
		measure:  medianOf(func(c *result.Cell) *float64 { return c.Watcher.NetKiBps }),
	},
}

// ours follow them in the table; the verdict comes last.
var ours = []*column{efficiency, freshnessP99, lost, reordered}

// measures lists the columns of the formats for programs.
var measures = slices.Concat(published, ours, further)

// further are measures that the table has no room for. Those with a title are in the
// page's second table.
var further = []*column{
	{csv: "drain_after_load_s", measure: medianOf(func(c *result.Cell) *float64 { return c.Handler.DrainAfterLoad })},
	{csv: "imbalance_ratio", measure: medianOf(func(c *result.Cell) *float64 { return c.Handler.Imbalance })},
	{bench: "freshness-p50-sec", scale: 1, better: "lower", speed: true, measure: freshnessQuantiles[0].measure},
	{csv: "freshness_operations", measure: medianOf(func(c *result.Cell) *float64 {
		if c.Freshness == nil {
			return nil
		}
		return new(float64(c.Freshness.Count))
	})},
	{
		Title: "efficiency with backlog", Unit: "%", csv: "efficiency_backlog_percent", bench: "efficiency-backlog-percent",
		scale: 1, better: "higher", decimals: 1, speed: true, closed: true,
		Meaning: "Efficiency over the time in which as many objects were owed to storage as requests may be in flight.",
		measure: medianOf(func(c *result.Cell) *float64 { return times(c.Storage.EfficiencyBacklog, 100) }),
	},
	{
		Title: "backlog", Unit: "s", csv: "backlog_s", decimals: 2, Meaning: "That time.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.BacklogSeconds }),
	},
	{
		Title: "configured p50", Unit: "ms", csv: "storage_latency_configured_p50_ms", decimals: 1,
		Meaning: "Configured median latency of storage.", measure: configuredP50,
	},
	{
		Title: "configured mean", Unit: "ms", csv: "storage_latency_configured_ms", decimals: 1, Meaning: "Its mean.",
		measure: medianOf(func(c *result.Cell) *float64 {
			return ifSome(c.Storage.LatencyMeanMs,
				c.Storage.LatencyMeanMs > 0)
		}),
	},
	{
		Title: "configured p99", Unit: "ms", csv: "storage_latency_configured_p99_ms", decimals: 1,
		Meaning: "Its 99th percentile.", measure: configuredP99,
	},
	{
		Title: "served p50", Unit: "ms", csv: "storage_latency_p50_ms", decimals: 1,
		Meaning: "Median latency of the acknowledged requests for Pods by the mock's clock.",
		measure: measureQuantile(servedMs, 1e3, 50, func(q *result.Quantiles) float64 { return q.P50 }),
	},
	{
		Title: "served p99", Unit: "ms", csv: "storage_latency_p99_ms", decimals: 1, Meaning: "Its 99th percentile.",
		measure: measureQuantile(servedMs, 1e3, 99, func(q *result.Quantiles) float64 { return q.P99 }),
	},
	{
		Title: "latency, watcher's side", Unit: "ms", csv: "storage_latency_watcher_ms", bench: "storage-latency-watcher-sec",
		scale: 1e-3, better: "lower", decimals: 1,
		Meaning: "Mean time of a successful write of a Pod by the watcher's own clock, from the call to the answer.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.WatcherMeanMs }),
	},
	{
		Title: "requests per event", csv: "requests_per_event", bench: "requests/event", scale: 1, decimals: 3,
		Meaning: "Below 1 where events are merged, above where something is sent again.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.RequestsPerEvent }),
	},
	{
		Title: "connections", csv: "storage_connections_opened", bench: "storage-connections", scale: 1, better: "lower",
		Meaning: "Connections to storage that the watcher opened during load and drain.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Storage.ConnectionsOpened }),
	},
	{
		Title: "cpu per request", Unit: "µs", csv: "cpu_us_per_request", bench: "cpu-sec/request", scale: 1e-6,
		better: "lower", speed: true, measure: cpuPerRequest,
		Meaning: "CPU time of the watcher over load and drain, divided by the requests that storage received.",
	},
	{
		Title: "cpu per event", Unit: "µs", csv: "cpu_us_per_event", bench: "cpu-sec/event", scale: 1e-6,
		better: "lower", speed: true,
		Meaning: "The same, divided by the events of all kinds that the watcher received.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.CPUMicrosPerEvent }),
	},
	{
		Title: "first sync", Unit: "s", csv: "first_sync_s", bench: "first-sync-sec", scale: 1, better: "lower", decimals: 2,
		Meaning: "From the start of the first watcher process until its lists were complete.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.FirstSync }),
	},
	{
		Title: "cpu of first sync", Unit: "s", csv: "first_sync_cpu_s", bench: "first-sync-cpu-sec", scale: 1,
		better: "lower", decimals: 2, Meaning: "CPU time of the process in it.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.FirstSyncCPU }),
	},
	{
		Title: "mem since start", Unit: "MiB", csv: "watcher_mem_highest_mib", bench: "watcher-highest-rss-B", scale: 1 << 20,
		better: "lower", decimals: 1,
		Meaning: "The most memory the watcher ever had resident, its first lists included, as the kernel keeps it.",
		measure: medianOf(func(c *result.Cell) *float64 { return c.Watcher.RSSHighestMiB }),
	},
	{bench: "failed-checks", scale: 1, better: "lower", measure: measureFailing},
}

var (
	configuredP50 = medianOf(func(c *result.Cell) *float64 {
		return ifSome(c.Storage.LatencyP50Ms,
			c.Storage.LatencyP50Ms > 0)
	})
	configuredP99 = medianOf(func(c *result.Cell) *float64 {
		return ifSome(c.Storage.LatencyP99Ms,
			c.Storage.LatencyP99Ms > 0)
	})
	offered       = medianOf(func(c *result.Cell) *float64 { return c.Load.OfferedQPS })
	achieved      = medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.QPS, c.Load.DurationS > 0) })
	cpuPerRequest = medianOf(func(c *result.Cell) *float64 { return c.Watcher.CPUMicrosPerReq })
)

// freshnessQuantiles are the percentiles that a record holds of it.
var freshnessQuantiles = []struct {
	name    string
	measure func(*row) reading
}{
	{"p50", measureFreshness(50, func(q *result.Quantiles) float64 { return q.P50 })},
	{"p90", measureFreshness(90, func(q *result.Quantiles) float64 { return q.P90 })},
	{"p99", measureFreshness(99, func(q *result.Quantiles) float64 { return q.P99 })},
	{"max", measureFreshness(100, func(q *result.Quantiles) float64 { return q.Max })},
}

// measureFailing counts the checks that failed, allowed or not.
func measureFailing(r *row) reading {
	return reading{number: ifSome(float64(len(r.failing())), len(r.checks) > 0)}
}

func measureDrain(r *row) reading {
	v := medianOf(func(c *result.Cell) *float64 { return c.Handler.DrainSeconds })(r)
	v.projected = v.number != nil && slices.ContainsFunc(r.valid,
		func(c *result.Cell) bool { return c.Handler.DrainProjected })
	return v
}

func measureThreads(r *row) reading {
	v := medianOf(func(c *result.Cell) *float64 { return ifSome(float64(c.Load.Threads), c.Load.Threads > 0) })(r)
	if v.number == nil && len(r.valid) > 0 && r.isOpen() {
		v.word = "open loop"
	}
	return v
}

// measureFreshness reads one percentile, of what was acknowledged.
func measureFreshness(percentile float64, field func(*result.Quantiles) float64) func(*row) reading {
	measure := measureQuantile(freshnessOf, microsPerSecond, percentile, field)
	return func(r *row) reading {
		v := measure(r)
		v.atLeast = v.number != nil && r.cut()
		return v
	}
}

// distribution is one of a cell's, nil where it is not known.
type distribution func(*result.Cell) *result.Quantiles

func freshnessOf(c *result.Cell) *result.Quantiles { return c.Freshness }
func servedMs(c *result.Cell) *result.Quantiles    { return c.Storage.SeenMs }

// measureQuantile reads one percentile, in units of so many microseconds. Its interval is
// that of the repetitions' own percentiles. Over several repetitions it merges the
// histograms; without them it is unknown, because percentiles cannot be averaged.
func measureQuantile(of distribution, micros, percentile float64,
	field func(*result.Quantiles) float64) func(*row) reading {
	single := func(c *result.Cell) *float64 {
		if q := of(c); q != nil && q.Count > 0 {
			return new(field(q))
		}
		return nil
	}
	return func(r *row) reading {
		v := reading{values: valuesOf(r.valid, single)}
		switch len(r.valid) {
		case 0:
			return v
		case 1:
			v.number = single(r.valid[0])
		default:
			if h := r.histogram(of); h != nil {
				v.number = new(float64(h.ValueAtPercentile(percentile)) / micros)
			}
		}
		return v
	}
}

// microsPerSecond: histograms count in microseconds.
const microsPerSecond = 1e6

// histogram merges those of the valid repetitions; nil if one is missing.
func (r *row) histogram(of distribution) *hdrhistogram.Histogram {
	var all []*result.Quantiles
	for _, c := range r.valid {
		all = append(all, of(c))
	}
	return result.Merge(all)
}

// medianOf summarises a number over the valid repetitions that know it.
func medianOf(field func(*result.Cell) *float64) func(*row) reading {
	return func(r *row) reading {
		values := valuesOf(r.valid, field)
		return reading{number: median(values), values: values}
	}
}

// valuesOf returns the known values.
func valuesOf(cells []*result.Cell, field func(*result.Cell) *float64) (values []float64) {
	for _, c := range cells {
		if v := field(c); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// sumOf adds a count over the valid repetitions, and over the others what they found:
// a loss is one however late the machine was. If only some know it, the sum is a lower
// bound.
func sumOf(field func(*result.Events) *int64) func(*row) reading {
	return func(r *row) reading {
		sum, known := 0.0, 0
		for _, c := range r.cells {
			if c.Events == nil || field(c.Events) == nil {
				continue
			}
			sum += float64(*field(c.Events))
			if slices.Contains(r.valid, c) {
				known++
			}
		}
		if known == 0 && sum == 0 {
			return reading{}
		}
		return reading{number: &sum, atLeast: known < len(r.valid)}
	}
}

// median of values; nil for none.
func median(values []float64) *float64 {
	m, ok := stats.Median(values)
	return ifSome(m, ok)
}

func times(v *float64, k float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v * k)
}

func ifSome(v float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &v
}
