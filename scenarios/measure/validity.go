package measure

import (
	"fmt"
	"math"

	"github.com/watchbench/watchbench/reports/result"
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

// grounds decide, beside the figures, whether a cell is valid.
type grounds struct {
	limits      spec.Limits
	littleQueue string
	dropped     int64    // operations that k6 had no virtual user for
	busy        *float64 // part of the threads' time with a request under way; nil: not judged
	faults      []string // of storage, by name
	limited     bool     // storage has a capacity below what the watcher may send
	deviationMs *float64 // of the configured latency; nil: a cell's mean says nothing about it
}

func groundsOf(f *Figures, littleQueue string) grounds {
	s := &f.cell.Scenario
	g := grounds{limits: s.Limits, littleQueue: littleQueue, faults: s.Storage.FaultNames()}
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
