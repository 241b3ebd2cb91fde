package virtual

import (
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/config"
)

// TestUnorderedFails: a watcher that keeps no order is found out by the checks of order, which shows that they can.
func TestUnorderedFails(t *testing.T) {
	failed := map[string]bool{}
	for _, seed := range seedsOf(t, 6) {
		o := simulate(t, setup{seed: seed, ops: *opsFlag, span: 30 * time.Second, latency: "mix(0.9=20ms,0.1=2s)", until: time.Minute,
			edit: func(c *config.Config, _ *config.Filter) {
				c.BCS.Strategy, c.BCS.AllowUnordered, c.BCS.PodQueueNum = "unordered", true, 8
			}})
		for _, g := range []string{"G2", "G3"} {
			failed[g] = failed[g] || len(o.failures(g)) > 0
		}
		if failed["G2"] && failed["G3"] {
			return
		}
	}
	t.Errorf("failed: %v", failed)
}
