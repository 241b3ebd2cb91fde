package virtual

import (
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/watcher/config"
)

var unknownSeeds = flag.Int("unknown-seeds", 20, "histories of TestUnknownOutcomes, per mode")

// TestUnknownOutcomes: requests that storage applies 3 s after the watcher gave them
// up. With preconditions in storage nothing ever goes wrong; nor without them, because
// nothing else is sent within the fence.
func TestUnknownOutcomes(t *testing.T) {
	const period = 10 * time.Second
	for _, mode := range []string{check.ModeConditional, check.ModeFaithful} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			var mu sync.Mutex // guards the sums
			var late, repaired, violations int64
			all := seedsOf(t, *unknownSeeds)
			for _, seed := range all {
				s := setup{seed: seed, ops: *opsFlag / 3, span: 60 * time.Second, mode: mode, storage: "late(3s,method=PUT|DELETE):8%"}
				if mode == check.ModeFaithful {
					// Given up well before the fence of 5 s ends, so that a write within it can be told
					// from one after it.
					s.edit = func(c *config.Config, f *config.Filter) {
						synced(period)(c, f)
						c.BCS.StorageTimeout = config.Duration(time.Second)
					}
				}
				o := simulate(t, s)
				mu.Lock()
				late += int64(o.fired[0].Fired)
				repaired += o.verdict.Repaired
				mu.Unlock()
				again := "again: go test ./scenarios/faults/virtual -run 'TestUnknownOutcomes/" + mode + "$' -seed"
				for _, f := range o.failures("G1", "G2", "G3", "G4", "G5", "G6", "G10", "G11", "G14") {
					violations++
					t.Errorf("%s\n  %s %d -ops %d -count 20", f, again, seed, *opsFlag)
				}
				if mode == check.ModeFaithful {
					// The last late application comes 4 s after its request, its fence ends after 6 s.
					if took := o.settled.Sub(o.healed); o.settled.IsZero() || took > 6*time.Second+period+2*time.Second {
						t.Errorf("storage was right again %s after the load, want one period of %s\n  %s %d -ops %d -count 20", took, period, again, seed, *opsFlag)
					}
				}
			}
			if len(all) > 3 && late < int64(len(all)) {
				t.Errorf("only %d requests were applied late", late)
			}
			t.Logf("%s: %d histories in %s: %d requests applied late, %d over newer state and repaired, %d violations",
				mode, len(all), time.Since(begin).Round(time.Second), late, repaired, violations)
		})
	}
}
