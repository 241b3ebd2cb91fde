package virtual

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/watcher/config"
)

// TestLegacyFails: under the faults that the original cannot bear, the checks find
// what it does wrong. It shows that they can.
func TestLegacyFails(t *testing.T) {
	lossy := func(c *config.Config, _ *config.Filter) { c.BCS.HandlerQueueLen = 2 }
	for _, tt := range []struct {
		id   string
		s    setup
		must []string // guarantees that fail in some history
	}{
		{"F2", setup{span: 80 * time.Second, storage: "refuse(from=5s,for=60s)"}, []string{"G6"}},
		{"F5", setup{span: 60 * time.Second, storage: "late(3s,method=PUT|DELETE):10%"}, []string{"G1", "G3", "G6"}},
		{"F7", setup{span: 60 * time.Second, storage: "500(key=a/?0,method=PUT|DELETE),422(key=b/?1)"}, []string{"G6"}},
		{"F19", setup{span: 2 * time.Second, latency: "500ms", edit: lossy}, []string{"G6"}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			failed := map[string]int{}
			example := map[string]string{}
			// In one history of three under F5 the end happens to be right.
			least, histories := max(3, *seeds/4), 0
			for _, seed := range seedsOf(t, 4*least) {
				if histories >= least && !slices.ContainsFunc(tt.must, func(g string) bool { return failed[g] == 0 }) {
					break
				}
				histories++
				s := tt.s
				s.seed, s.ops, s.until, s.legacy = seed, *opsFlag, time.Minute, true
				o := simulate(t, s)
				for _, g := range check.Guarantees {
					if f := o.failures(g); len(f) > 0 {
						failed[g]++
						example[g] = f[0]
					}
				}
			}
			var line []string
			for _, g := range check.Guarantees {
				if failed[g] > 0 {
					line = append(line, fmt.Sprintf("%s %d/%d", g, failed[g], histories))
				}
			}
			t.Logf("legacy under %s fails: %s", tt.id, strings.Join(line, ", "))
			for _, g := range slices.Sorted(slices.Values(tt.must)) {
				if failed[g] == 0 {
					t.Errorf("%s: %s did not fail in any of %d histories", tt.id, g, histories)
				} else {
					t.Log(example[g])
				}
			}
		})
	}
}
