package pipeline

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/watcher/storage"
)

// TestStress runs in real time, with many callers, scrapes and failures at once; with
// -race it is the check of the locks.
func TestStress(t *testing.T) {
	for _, strategy := range Strategies() {
		for _, full := range QueueFulls() {
			t.Run(fmt.Sprint(strategy, "/", full), func(t *testing.T) {
				t.Parallel()
				c := small(strategy, full)
				c.MaxInFlight = 16
				c.Events.Count = 6
				c.QueueFullTimeout = 2 * time.Millisecond
				c.Backoff = Backoff{Min: time.Millisecond, Max: 4 * time.Millisecond}
				c.FenceDelay = 2 * time.Millisecond
				c.DrainTimeout = 20 * time.Second
				s := newStore(0)
				s.latency = func(Event) time.Duration { return time.Duration(rand.IntN(200)) * time.Microsecond }
				s.fault = func(e Event) error {
					switch rand.IntN(20) {
					case 0:
						return down(e)
					case 1:
						return &storage.UnknownOutcomeError{Err: errBroken}
					case 2:
						return &storage.ThrottledError{RetryAfter: time.Millisecond, Err: errBroken}
					case 3:
						return &storage.PermanentError{Err: errBroken}
					}
					return nil
				}
				registry := prometheus.NewRegistry()
				p, err := New(c, Settings{Sender: s, Registry: registry})
				if err != nil {
					t.Fatal(err)
				}
				l := run(t, p, s)
				var callers sync.WaitGroup
				const events = 400
				kinds := []string{"Pod", "Node", "Event", "Lease"}
				for i, kind := range kinds {
					callers.Go(func() {
						r := rand.New(rand.NewPCG(uint64(i), 1))
						for v := range events {
							if err := p.Enqueue(t.Context(), put(fmt.Sprint("o-", r.IntN(30)), uint64(v+1)).of(kind)); err != nil {
								t.Error(err)
							}
						}
					})
				}
				r := rand.New(rand.NewPCG(9, 9))
				for !p.Idle() || p.Stats().Received < events*uint64(len(kinds)) {
					if _, err := registry.Gather(); err != nil {
						t.Error(err)
					}
					l.resize(anyQueues(r))
					if st := p.Stats(); !st.Balanced() {
						t.Errorf("%+v does not balance", st)
					}
					time.Sleep(time.Millisecond)
				}
				callers.Wait()
				st := l.finish()
				shed := (*p.lanes.Load())["Event"].shed
				if full != Drop && st.Dropped != shed {
					t.Errorf("%d shed, %+v", shed, st)
				}
				if shed == 0 {
					t.Error("nothing was shed: it shows nothing of that")
				}
				if strategy != Unordered {
					checkOrder(t, s)
				}
			})
		}
	}
}
