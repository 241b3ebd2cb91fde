package churn

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// anyEngine is an engine of a plan on a fake apiserver.
func anyEngine(t *testing.T, api *anyAPI, change func(*plan.Config)) (*Engine, *recorder) {
	t.Helper()
	profileEngine(t, api) // fills api
	cfg := plan.Default()
	cfg.Seed = 1
	change(&cfg)
	return engineOn(t, cfg, api)
}

// TestSentInOrder: virtual users that take a profile's operations in turn send all of them,
// none before its time; after one that was refused the rest of its object is told as not sent.
func TestSentInOrder(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &anyAPI{latency: 50 * time.Millisecond}
		refused := ""
		api.refuse = func(path string, m metav1.ObjectMeta) bool {
			if refused == "" && path == "/apis/batch/v1/namespaces/watchbench-fake-0/jobs" {
				refused = m.Name
				return true
			}
			return false
		}
		e, log := anyEngine(t, api, func(c *plan.Config) {
			c.Model, c.Rate, c.Duration, c.Profile, c.Nodes = plan.ModelOpen, 4, units.Duration(20*time.Second), plan.ProfileBatchJobs, 20
			c.Tuning = &plan.Tuning{TimeScale: 100}
		})
		if err := e.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := len(log.records)
		var mu sync.Mutex
		done, unsent := 0, 0
		stats, err := e.LoadBy(t.Context(), nil, func(_ context.Context, s *Sender) error {
			start := s.Now()
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for {
						r, ok := s.Next(start)
						if !ok {
							return
						}
						mu.Lock()
						if done++; r.Started == 0 {
							unsent++
						} else if r.Started < r.Intended || r.Finished < r.Started {
							t.Errorf("operation %d: intended at %d, sent at %d, answered at %d", r.Op.ID, r.Intended, r.Started, r.Finished)
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			return nil
		})
		if err != nil || int64(done) != stats.Planned || refused == "" || unsent == 0 || int64(unsent) != stats.Skipped {
			t.Errorf("%d of %d operations, %d not sent, %d skipped after Job %q was refused: %v", done, stats.Planned, unsent, stats.Skipped, refused, err)
		}
		if logged := len(log.records) - before; logged < done-unsent {
			t.Errorf("%d records of %d operations", logged, done-unsent)
		}
	})
}
