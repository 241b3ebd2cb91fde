package measure

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// Stages that can limit a cell.
const (
	StageNone      = result.KeptUp // the watcher kept up; the load was the limit
	StageGenerator = "generator"   // the load itself was late
	StageWatcher   = "watcher CPU" // the process had no more CPU to use
	StageMachine   = "machine CPU" // all parties together had none
	StageWriter    = "writer queue"
	StageHandlers  = "handler concurrency"
	StageSkew      = "handler skew"
	StageStorage   = "storage"
	StageUnknown   = "unknown"
)

// Thresholds of the rules, each a fraction.
const (
	senderBusy   = 0.90 // of the limit: the senders did nothing but wait for storage
	cpuBusy      = 0.90 // of the CPUs
	slowStorage  = 1.25 // seen over configured mean latency: requests queued inside storage
	skewed       = 1.30 // busiest over mean queue
	keptUpFactor = 5.0  // drain after the load in mean latencies that still count as keeping up
)

// Limits are the figures that the rules look at.
type limits struct {
	cell        *result.Cell
	chanceMs    *float64 // by which the mean latency may be above the configured one; nil unknown
	machineBusy *float64 // busy share of all CPUs while storage was busy
	cpus        int
	cpuCores    *float64 // watcher, while the backlog was worked off
	lagLimitMs  float64
}

// bottleneck names the stage that limited a cell. The rules are tried from the load towards storage, and each says
// which figures made it fire.
func bottleneck(l limits) result.Bottleneck {
	c := l.cell
	is := func(stage, format string, args ...any) result.Bottleneck {
		return result.Bottleneck{Stage: stage, Why: fmt.Sprintf(format, args...)}
	}
	mean := c.Storage.LatencyMeanMs
	if c.Storage.SeenMeanMs != nil {
		mean = *c.Storage.SeenMeanMs
	}
	if q := c.Load.LagMs; c.Load.Model == result.ModelOpen && q != nil && q.P99 > l.lagLimitMs {
		return is(StageGenerator, "writes were dispatched %.0f ms late (p99), the limit is %.0f ms", q.P99, l.lagLimitMs)
	}
	if d := c.Handler.DrainAfterLoad; d != nil && !c.Cut && *d*1000 <= keptUpFactor*mean {
		return is(StageNone, "storage had everything %.2f s after the load of %.0f writes/s ended", *d, c.Load.QPS)
	}
	eff := c.Storage.EfficiencyBacklog
	if b := c.Storage.BacklogSeconds; eff == nil && b != nil && !c.Cut {
		return is(StageUnknown, "storage was owed as many objects as may be in flight for only %.2f s, so nothing was used "+
			"to its limit", *b)
	}
	if m := c.Storage.SeenMeanMs; m != nil && l.chanceMs != nil && c.Storage.LatencyMeanMs > 0 &&
		*m-*l.chanceMs > slowStorage*c.Storage.LatencyMeanMs {
		return is(StageStorage, "requests took %.0f ms where %.0f ms are configured: they queued for its capacity", *m,
			c.Storage.LatencyMeanMs)
	}
	if im := c.Handler.Imbalance; im != nil && *im > skewed && eff != nil && *eff < senderBusy {
		return is(StageSkew, "the busiest of %d queues had %.1f times the mean, so with backlog storage saw %.0f%% of what "+
			"its senders could do",
			c.Handler.Queues, *im, 100**eff)
	}
	if eff != nil && *eff >= senderBusy {
		return is(StageHandlers, "%d in flight at %.0f ms allow %.0f requests/s and %.0f%% of that was reached while there "+
			"was backlog",
			c.Handler.Workers, 1000*float64(c.Handler.Workers) / *c.Storage.LimitQPS, *c.Storage.LimitQPS, 100**eff)
	}
	if l.machineBusy != nil && *l.machineBusy >= cpuBusy {
		return is(StageMachine, "all processes together used %.0f%% of %d CPUs", 100**l.machineBusy, l.cpus)
	}
	if l.cpuCores != nil && *l.cpuCores >= cpuBusy*float64(l.cpus) {
		return is(StageWatcher, "the watcher used %.2f of %d CPUs", *l.cpuCores, l.cpus)
	}
	if f := c.Writer.FullSeconds; f != nil && *f > 0.1*c.Load.DurationS {
		return is(StageWriter, "the Writer queue was full for %.1f s", *f)
	}
	if eff != nil {
		return is(StageUnknown, "with backlog storage was used to %.0f%% of %.0f requests/s and no other rule fired",
			100**eff, *c.Storage.LimitQPS)
	}
	return is(StageUnknown, "too little was recorded")
}
