package measure

import (
	"fmt"
	"math"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// maxLittle is the disagreement between mean depth and rate × mean wait beyond which a watcher's queue metrics are
// taken for broken.
const maxLittle = 0.10

// QueuesContradict begins the reason why a cell is not believed whose watcher's queue metrics are wrong.
const QueuesContradict = "the queue metrics contradict"

// Storage without faults and below its capacity answers after its configured latency. On a machine with time to spare
// the means of cells were within 0.6 ms of that, from 5 ms to 1 s; what is beyond these is a machine that stood still.
const (
	maxLatency     = 1.10
	latencySlackMs = 3.0
	sampling       = 3.0 // standard errors of a mean of so many draws
)

// leastBusy is the part of the time that the threads of a closed loop must have had a request under way where time
// alone ends the load: with less, the generator and not the apiserver set the pace.
const leastBusy = 0.5

// grounds decide, beside the figures, whether a cell is valid, and what limited it.
type grounds struct {
	limits      spec.Limits
	littleQueue string
	dropped     int64    // operations that k6 had no virtual user for
	busy        *float64 // part of the threads' time with a request under way; nil: not judged
	faults      []string // of storage, by name
	limited     bool     // storage has a capacity below what the watcher may send
	deviationMs *float64 // of the configured latency; nil: a cell's mean says nothing about it
	generators  []history.GeneratorRun

	// While storage was busy: the busy share of all CPUs, and the watcher's use; nil unknown.
	machineBusy, cpuCores *float64
	cpus                  int
}

func groundsOf(f *Figures, littleQueue string) grounds {
	s := &f.cell.Scenario
	g := grounds{limits: s.Limits, littleQueue: littleQueue, faults: s.Storage.FaultNames(),
		generators: f.cell.Generators, machineBusy: f.cell.MachineBusy, cpuCores: f.busyCores(), cpus: f.cell.CPUs}
	if f.cell.Planned == 0 && !s.Load.Pauses() {
		g.busy = f.load.busy(s.Load.Threads)
	}
	if s.Load.Driver == spec.DriverK6 && s.Load.Model == result.ModelOpen {
		g.dropped = max(0, f.cell.Planned-f.load.attempted)
	}
	c := s.Storage.Capacity
	g.limited = c.Rate > 0 || c.Inflight > 0 && f.cell.Watcher.Own && f.watcher.Concurrency() >= c.Inflight
	if d, ok := s.Storage.LatencyDeviation(podKind); ok {
		g.deviationMs = ptr(float64(d) / 1e6)
	}
	return g
}

// chanceMs is how far the mean of so many draws may be above the configured one by chance; nil: a cell's mean says
// nothing about it.
func (g *grounds) chanceMs(c *result.Cell) *float64 {
	if g.deviationMs == nil || c.Storage.SeenMs == nil {
		return nil
	}
	return ptr(sampling * *g.deviationMs / math.Sqrt(float64(c.Storage.SeenMs.Count)))
}

// invalid lists why a cell is not to be believed; late are those reasons that are about time.
func invalid(c *result.Cell, g grounds) (why, late []string) {
	no := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	behind := func(format string, args ...any) {
		no(format, args...)
		late = append(late, why[len(why)-1])
	}
	loadRules(c, g, no, behind)
	generatorRules(c, g, no, behind)
	if c.Storage.Requests == 0 {
		no("storage acknowledged no request")
	}
	if m, chance := c.Storage.SeenMeanMs, g.chanceMs(c); m != nil && chance != nil && len(g.faults) == 0 && !g.limited {
		if most := maxLatency*c.Storage.LatencyMeanMs + latencySlackMs + *chance; *m > most {
			behind("storage answered after %.1f ms on average instead of %.1f ms, at most %.1f ms are believed: the machine "+
				"stalled or was overloaded", *m, c.Storage.LatencyMeanMs, most)
		}
	}
	if d := c.Handler.LittleDiscrepancy; d != nil && *d > maxLittle {
		no(QueuesContradict+" themselves: mean depth and rate × mean wait of %s differ by %.0f%%", g.littleQueue, 100**d)
	}
	for _, f := range g.faults {
		if c.Faults[f] == 0 {
			no("the fault %s never fired", f)
		}
	}
	return why, late
}

func loadRules(c *result.Cell, g grounds, no, behind func(string, ...any)) {
	l := &c.Load
	if l.Done == 0 {
		no("no write of the load succeeded")
	} else if share := float64(l.Done) / float64(l.Planned); share < float64(g.limits.MinEvents) {
		no("%d of %d planned writes succeeded (%.0f%%); at least %.0f%% are needed", l.Done, l.Planned, 100*share,
			100*float64(g.limits.MinEvents))
	}
	if g.busy != nil && *g.busy < leastBusy {
		no("the generator's threads waited for the apiserver in only %.0f%% of the load's time; at least %.0f%% are needed",
			100**g.busy, 100*leastBusy)
	}
	if l.Model != result.ModelOpen {
		return
	}
	if g.dropped > 0 {
		behind("k6 dropped %d of %d planned writes: all its virtual users waited for answers", g.dropped, l.Planned)
	}
	if q := l.LagMs; q != nil && q.P99 > millis(g.limits.Lag) {
		behind("the generator was %.0f ms late (p99); the limit is %.0f ms", q.P99, millis(g.limits.Lag))
	}
	if o := l.PlannedQPS; o != nil && *o > 0 && l.QPS/(*o) < float64(g.limits.MinOffered) {
		behind("%.1f writes/s were achieved of %.1f offered (%.1f%%); at least %.1f%% are needed", l.QPS, *o, 100*l.QPS/(*o),
			100*float64(g.limits.MinOffered))
	}
}

// generatorRules judges each of several generators: its start, its end, the record of it and its share.
func generatorRules(c *result.Cell, g grounds, no, behind func(string, ...any)) {
	for i, r := range g.generators {
		who, wrote := fmt.Sprintf("generator %d of %d", i+1, len(g.generators)), c.Load.Generators[i]
		if late := float64(r.Started-r.At) / 1e6; late > millis(g.limits.Lag) {
			behind("%s began %.0f ms after the others were to; the limit is %.0f ms", who, late, millis(g.limits.Lag))
		}
		least := math.Ceil(float64(g.limits.MinEvents) * float64(r.Planned))
		if c.Load.Timed {
			least = 1
		}
		switch {
		case r.Failure != "":
			no("%s failed: %s", who, r.Failure)
		case wrote != r.Done:
			no("%s had %d writes acknowledged, its op log has %d", who, r.Done, wrote)
		case float64(wrote) < least:
			no("%s wrote %d operations; of its share at least %.0f are needed", who, wrote, least)
		}
	}
}

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

// bottleneck names the stage that limited a cell. The rules are tried from the load towards storage, and each says
// which figures made it fire. By chanceMs the mean latency may be above the configured one; nil: unknown.
func bottleneck(c *result.Cell, g grounds, chanceMs *float64) result.Bottleneck {
	lagLimitMs := millis(g.limits.Lag)
	is := func(stage, format string, args ...any) result.Bottleneck {
		return result.Bottleneck{Stage: stage, Why: fmt.Sprintf(format, args...)}
	}
	mean := c.Storage.LatencyMeanMs
	if c.Storage.SeenMeanMs != nil {
		mean = *c.Storage.SeenMeanMs
	}
	if q := c.Load.LagMs; c.Load.Model == result.ModelOpen && q != nil && q.P99 > lagLimitMs {
		return is(StageGenerator, "writes were dispatched %.0f ms late (p99), the limit is %.0f ms", q.P99, lagLimitMs)
	}
	if d := c.Handler.DrainAfterLoad; d != nil && !c.Cut && *d*1000 <= keptUpFactor*mean {
		return is(StageNone, "storage had everything %.2f s after the load of %.0f writes/s ended", *d, c.Load.QPS)
	}
	eff := c.Storage.EfficiencyBacklog
	if b := c.Storage.BacklogSeconds; eff == nil && b != nil && !c.Cut {
		return is(StageUnknown, "storage was owed as many objects as may be in flight for only %.2f s, so nothing was used "+
			"to its limit", *b)
	}
	if m := c.Storage.SeenMeanMs; m != nil && chanceMs != nil && c.Storage.LatencyMeanMs > 0 &&
		*m-*chanceMs > slowStorage*c.Storage.LatencyMeanMs {
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
	if g.machineBusy != nil && *g.machineBusy >= cpuBusy {
		return is(StageMachine, "all processes together used %.0f%% of %d CPUs", 100**g.machineBusy, g.cpus)
	}
	if g.cpuCores != nil && *g.cpuCores >= cpuBusy*float64(g.cpus) {
		return is(StageWatcher, "the watcher used %.2f of %d CPUs", *g.cpuCores, g.cpus)
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
