package measure

import (
	"iter"
	"math"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Pause is the longest time between two requests for a kind, as storage received them,
// of what began or ended between from and to and in which a change of that kind waited.
// A change waits from the apiserver's answer until the request that brings it, so what
// the watch takes to deliver it is counted too. Requests that failed are requests.
func Pause(ops []oplog.Record, entries []ledger.Entry, changes iter.Seq[history.Change], kind string, from, to int64) (longest int64) {
	var starts []int64
	stored := map[string]bool{}
	for _, e := range entries {
		if e.Kind == kind {
			starts = append(starts, e.Received)
			stored[e.UID] = true
		}
	}
	slices.Sort(starts)
	unseen := map[int64]bool{}
	for _, op := range ops {
		unseen[op.ID] = !stored[op.UID]
	}
	type wait struct{ from, to int64 }
	var waits []wait
	for c := range changes {
		if c.Kind != kind || c.Gone && unseen[c.Operation] { // it came and went unseen
			continue
		}
		if c.Arrived > from && c.Finished < c.Arrived {
			waits = append(waits, wait{c.Finished, c.Arrived})
		}
	}
	for i := 1; i < len(starts); i++ {
		a, b := starts[i-1], starts[i]
		if b <= from || a >= to || b-a <= longest {
			continue
		}
		since := int64(math.MaxInt64)
		for _, w := range waits {
			if w.to >= b {
				since = min(since, w.from)
			}
		}
		longest = max(longest, b-max(a, since))
	}
	return longest
}

// InFlight is the mean time that acknowledged requests for a kind took, of those that
// storage received between from and to, and the longest; 0 if there were none.
func InFlight(entries []ledger.Entry, kind string, from, to int64) (mean, longest int64) {
	sum, n := int64(0), int64(0)
	for _, e := range entries {
		if e.Kind == kind && e.Acked() && e.Received >= from && e.Received < to {
			took := e.Responded - e.Received
			sum, n, longest = sum+took, n+1, max(longest, took)
		}
	}
	if n == 0 {
		return 0, 0
	}
	return sum / n, longest
}
