package measure

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// maxLittle is the disagreement between mean depth and rate × mean wait beyond
// which a watcher's queue metrics are taken for broken.
const maxLittle = 0.10

// maxLatency is the ratio of seen to configured storage latency beyond which the
// machine is taken for overloaded; below minLatencyMs scheduling alone may do that.
const (
	maxLatency   = 1.5
	minLatencyMs = 10
)

// byChance is how much slower than its configured mean storage may have been, in
// milliseconds, without a cause: three standard errors, as few draws of a heavy tail vary.
func byChance(c *result.Cell) float64 {
	if c.Storage.SeenMeanErrMs == nil {
		return 0
	}
	return 3 * *c.Storage.SeenMeanErrMs
}

// invalid lists why a cell is not to be believed; late are those reasons that are about
// time.
func invalid(c *result.Cell, limits spec.Limits, littleQueue string, capacity spec.Capacity, faults []string) (why, late []string) {
	no := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	behind := func(format string, args ...any) {
		no(format, args...)
		late = append(late, why[len(why)-1])
	}
	if c.Load.Done == 0 {
		no("no write of the load succeeded")
	} else if share := float64(c.Load.Done) / float64(c.Load.Planned); share < float64(limits.MinEvents) {
		no("%d of %d planned writes succeeded (%.0f%%); at least %.0f%% are needed", c.Load.Done, c.Load.Planned, 100*share, 100*float64(limits.MinEvents))
	}
	if c.Load.Model == result.ModelOpen {
		if q := c.Load.LagMs; q != nil && q.P99 > millis(limits.Lag) {
			behind("the generator was %.0f ms late (p99); the limit is %.0f ms", q.P99, millis(limits.Lag))
		}
		if o := c.Load.PlannedQPS; o != nil && *o > 0 && c.Load.QPS/(*o) < float64(limits.MinOffered) {
			behind("%.1f writes/s were achieved of %.1f offered (%.1f%%); at least %.1f%% are needed", c.Load.QPS, *o, 100*c.Load.QPS/(*o), 100*float64(limits.MinOffered))
		}
	}
	if c.Storage.Requests == 0 {
		no("storage acknowledged no request")
	}
	// Without faults and below its capacity the mock answers after the latency it was
	// told; if not, the machine stood still, and the cell shows that.
	busy := capacity.Rate > 0 || capacity.Inflight > 0 && c.Handler.Workers >= capacity.Inflight
	if m := c.Storage.SeenMeanMs; m != nil && len(faults) == 0 && !busy && c.Storage.LatencyMeanMs >= minLatencyMs && *m-byChance(c) > maxLatency*c.Storage.LatencyMeanMs {
		behind("storage answered after %.0f ms on average instead of %.0f ms: the machine stalled or was overloaded", *m, c.Storage.LatencyMeanMs)
	}
	if d := c.Handler.LittleDiscrepancy; d != nil && *d > maxLittle {
		no("the queue metrics contradict themselves: mean depth and rate × mean wait of %s differ by %.0f%%", littleQueue, 100**d)
	}
	for _, f := range faults {
		if c.Faults[f] == 0 {
			no("the fault %s never fired", f)
		}
	}
	return why, late
}
