package virtual

import (
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// regressions are histories that once went wrong.
var regressions = []struct {
	name  string
	was   string
	small string // the small test of the same mistake
	seeds []uint64
	setup setup
}{
	{"deletion-by-looking", "The judge counted a deletion that the watcher had found done as missing, once a later deletion of the name was sent.",
		`scenarios/check, story "a deletion found done by looking, and a later one sent"`, []uint64{58},
		setup{ops: 300, span: 80 * time.Second, storage: "blackhole(from=5s,for=60s)", edit: func(c *config.Config, _ *config.Filter) {
			c.BCS.Strategy, c.BCS.QueueFull, c.BCS.HandlerQueueLen = pipeline.Single, pipeline.Block, 3
		}}},
	{"merged-deletion", "A PUT of unknown outcome was applied late while the object was deleted, made again and deleted again. " +
		"The merged DELETE named the second uid and left the first one in a storage with preconditions.",
		"watcher/pipeline TestMergedDeletionMeansWhicheverIsThere", []uint64{78, 354, 481, 531, 814, 848, 944},
		setup{ops: 100, span: 60 * time.Second, mode: check.ModeConditional, storage: "late(3s,method=PUT|DELETE):8%"}},
	{"older-cache", "A watch resumed, or a list answered, by an apiserver whose cache was behind told changes again. " +
		"Objects that were gone by then were written to storage once more, and versions went down.",
		"watcher/collector TestOlderCacheTakesNothingBack", []uint64{2, 5, 8},
		setup{ops: 300, span: 60 * time.Second, watch: "older(20),close(2s,4s)"}},
}

// TestRegressions replays them.
func TestRegressions(t *testing.T) {
	for _, r := range regressions {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range r.seeds {
				r.setup.seed = seed
				for _, f := range simulate(t, r.setup).failures("G1", "G2", "G3", "G4", "G5", "G6", "G10", "G11", "G14") {
					t.Errorf("seed %d: %s\n  it was: %s; see %s\n  again: go test ./scenarios/faults/virtual -run 'TestRegressions/%s$' -count 20",
						seed, f, r.was, r.small, r.name)
				}
			}
		})
	}
}
