package legacy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// answerTimeout is the original's for one request.
const answerTimeout = 5 * time.Second

// The vectors of the contract, §2.5.
func TestQueueOf(t *testing.T) {
	for _, tc := range []struct {
		key  object.Key
		want map[int]int
	}{
		{object.Key{Namespace: "team-a", Name: "web-abc-1"}, map[int]int{3: 2, 10: 9, 30: 29, 120: 119}},
		{object.Key{Namespace: "default", Name: "nginx-0"}, map[int]int{3: 0, 10: 9, 30: 9, 120: 99}},
	} {
		for n, want := range tc.want {
			if got := pipeline.PartitionOf(tc.key.Namespace, tc.key.Name, n); got != want {
				t.Errorf("%s of %d: queue %d, want %d", tc.key, n, got, want)
			}
		}
	}
}

func TestQueueNames(t *testing.T) {
	for _, tc := range []struct {
		kind        string
		n, want     int
		first, last string
	}{
		{"Pod", 0, 1, "Pod", "Pod"},
		{"Pod", 30, 30, "Pod_0", "Pod_29"},
		{"Event", 0, 1, "Event", "Event"},
		{"Event", 30, 120, "Event_0", "Event_119"},
		{"Node", 30, 1, "Node", "Node"},
	} {
		got := queueNames(tc.kind, tc.n)
		if len(got) != tc.want || got[0] != tc.first || got[len(got)-1] != tc.last {
			t.Errorf("%s with podQueueNum %d: %d queues from %s to %s, want %d from %s to %s", tc.kind, tc.n, len(got), got[0], got[len(got)-1], tc.want, tc.first, tc.last)
		}
	}
}

// Five workers fill a queue whose handler is held up; each further put waits a second
// and is then dropped, and the key is forgotten: the object never reaches storage.
func TestDropAfterOneSecond(t *testing.T) {
	run(t, shape{length: 2}, func(c *cluster, f *fake) {
		release := make(chan struct{})
		f.answerBy(func(call) error { <-release; return nil })
		// One in flight, two in the queue, five held by workers that wait, two more keys.
		const workers = 5
		const events = 1 + 2 + workers + 2
		for i := range events {
			c.put(pod(fmt.Sprint(i)))
			synctest.Wait()
		}
		time.Sleep(time.Second - time.Millisecond)
		synctest.Wait()
		if s := c.stats(); s.Dropped != 0 || s.Queued != events {
			t.Errorf("before a second has passed: %+v", s)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if s := c.stats(); s.Dropped != workers || s.Queued != events-workers {
			t.Errorf("after a second: %+v, want the workers' %d items dropped", s, workers)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := c.stats(); s.Dropped != workers+2 || s.Queued != 3 {
			t.Errorf("after two seconds: %+v, want all dropped that found no room", s)
		}
		close(release)
		time.Sleep(time.Hour)
		if s := c.stats(); s.Sent != 3 || s.Queued != 0 || len(f.holds()) != 3 {
			t.Errorf("an hour later: %+v and %d rows, want the dropped events forgotten", s, len(f.holds()))
		}
	})
}

// A failed key comes back after 0 to 4999 ms, without end, and its state is read anew.
func TestRequeue(t *testing.T) {
	run(t, shape{}, func(c *cluster, f *fake) {
		f.answerBy(func(call) error { return errDown })
		c.put(pod("a"))
		time.Sleep(time.Hour)
		calls := f.seen()
		least, most := time.Hour, time.Duration(0)
		for i := 1; i < len(calls); i++ {
			d := calls[i].at - calls[i-1].at
			least, most = min(least, d), max(most, d)
		}
		// About 1440 draws: each end of the range is missed by more than 100 ms with a
		// probability below 10⁻¹².
		if least > 100*time.Millisecond || most < 4899*time.Millisecond || most > 4999*time.Millisecond {
			t.Errorf("%d tries between %s and %s apart, want 0 to 4.999 s", len(calls), least, most)
		}
		if s := c.stats(); s.Queued != 1 || s.Retried != uint64(len(calls)-1) || s.Dropped != 0 {
			t.Errorf("%+v after %d tries, want the event queued still", s, len(calls))
		}
		// What was deleted meanwhile is a DELETE.
		c.remove(pod("a"))
		f.answerBy(nil)
		time.Sleep(time.Minute)
		calls = f.seen()
		if last := calls[len(calls)-1]; last.action != "DELETE" {
			t.Errorf("last call is %s, want a DELETE", last)
		}
	})
}

// A failed Event is lost, and its handler rests until its next start; other kinds
// whose name starts so fare no better. Starts are 500 ms apart, or follow a second
// without work.
func TestEventLossAndPause(t *testing.T) {
	for _, tc := range []struct {
		kind         string
		failed, next time.Duration // since the handler's first start
	}{
		{"Event", 100 * time.Millisecond, 500 * time.Millisecond},
		{"EventSource", 100 * time.Millisecond, 500 * time.Millisecond},
		{"Event", 1200 * time.Millisecond, 1500 * time.Millisecond},
		{"Event", 700 * time.Millisecond, 700 * time.Millisecond}, // the tick has passed
	} {
		t.Run(fmt.Sprint(tc.kind, tc.failed), func(t *testing.T) {
			run(t, shape{kinds: []string{tc.kind}}, func(c *cluster, f *fake) {
				f.answerBy(func(k call) error {
					if k.key.Name == "lost" {
						return errDown
					}
					return nil
				})
				time.Sleep(tc.failed)
				c.put(object.Key{Kind: tc.kind, Namespace: "n", Name: "lost"})
				synctest.Wait()
				c.put(object.Key{Kind: tc.kind, Namespace: "n", Name: "kept"})
				time.Sleep(time.Minute)
				calls := f.seen()
				if len(calls) != 2 || calls[0].key.Name != "lost" || calls[1].key.Name != "kept" {
					t.Fatalf("calls %v, want one for each of two objects", calls)
				}
				if calls[0].at != tc.failed || calls[1].at != tc.next {
					t.Errorf("calls %v, want them at %s and %s", calls, tc.failed, tc.next)
				}
				if s := c.stats(); s.Dropped != 1 || s.Sent != 1 {
					t.Errorf("%+v, want one dropped and one sent", s)
				}
			})
		})
	}
}

// A queue has one request in flight, two queues have two.
func TestSerialHandler(t *testing.T) {
	for _, tc := range []struct{ n, want int }{{0, 1}, {1, 1}, {3, 3}} {
		t.Run(fmt.Sprint(tc.n), func(t *testing.T) {
			run(t, shape{podQueues: tc.n}, func(c *cluster, f *fake) {
				f.answerBy(func(call) error { time.Sleep(90 * time.Millisecond); return nil })
				const pods = 60
				for i := range pods {
					c.put(pod(fmt.Sprintf("web-%d", i)))
				}
				time.Sleep(10 * time.Second)
				if s := c.stats(); s.Sent != pods {
					t.Errorf("%+v, want %d sent", s, pods)
				}
				if f.atOnce() != tc.want {
					t.Errorf("%d requests at a time, want %d", f.atOnce(), tc.want)
				}
				if tc.want == 1 {
					calls := f.seen()
					if d := calls[pods-1].at - calls[0].at; d != (pods-1)*90*time.Millisecond {
						t.Errorf("%d requests took %s, want them back to back", pods, d)
					}
				}
			})
		})
	}
}

// Keys that wait in the eventQueue are merged; items in a handler queue are not.
func TestMerge(t *testing.T) {
	run(t, shape{length: 1}, func(c *cluster, f *fake) {
		release := make(chan struct{})
		f.answerBy(func(call) error { <-release; return nil })
		// In flight, in the queue, and one held by each worker.
		for i := range 2 + 5 {
			c.put(pod(fmt.Sprint(i)))
			synctest.Wait()
		}
		for range 5 {
			c.put(pod("busy"))
		}
		if s := c.stats(); s.Coalesced != 4 {
			t.Errorf("%+v, want four of five merged", s)
		}
		close(release)
		time.Sleep(time.Minute)
		for range 3 { // each finds a free worker
			c.put(pod("idle"))
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		var versions []uint64
		for _, k := range f.seen() {
			if k.key == pod("idle") {
				versions = append(versions, k.version)
			}
		}
		if len(versions) != 3 || !slices.IsSorted(versions) {
			t.Errorf("versions %v of a pod that changed three times, want all three", versions)
		}
	})
}

// A PUT whose answer is lost is applied after the DELETE that follows it, and after the
// one that its retry becomes: the pod is back in storage and stays.
func TestResurrection(t *testing.T) {
	run(t, shape{}, func(c *cluster, f *fake) {
		f.answerBy(func(k call) error {
			if k.action == "DELETE" {
				return nil
			}
			time.Sleep(answerTimeout)
			time.AfterFunc(11*time.Second, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.apply(k)
			})
			return errors.New("no answer within 5 s")
		})
		c.put(pod("a"))
		synctest.Wait()
		c.remove(pod("a"))
		time.Sleep(time.Hour)
		var deletes []time.Duration
		for _, k := range f.seen() {
			if k.action == "DELETE" {
				deletes = append(deletes, k.at)
			}
		}
		if len(deletes) != 2 || deletes[0] != answerTimeout {
			t.Errorf("DELETEs at %v, want one right after the timeout, unfenced, and one for the retry", deletes)
		}
		if _, back := f.holds()[pod("a")]; !back {
			t.Error("the pod did not come back, although nothing prevents it")
		}
		if s := c.stats(); s.Sent != 2 || s.Queued != 0 {
			t.Errorf("%+v, want both events sent and nothing left to do", s)
		}
	})
}

// An update lost in the same way is overwritten for good by the older one.
func TestGoesBack(t *testing.T) {
	run(t, shape{}, func(c *cluster, f *fake) {
		first := true
		f.answerBy(func(k call) error {
			if !first {
				return nil
			}
			first = false
			time.Sleep(answerTimeout)
			time.AfterFunc(11*time.Second, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.apply(k)
			})
			return errDown
		})
		c.put(pod("a"))
		synctest.Wait()
		c.put(pod("a"))
		time.Sleep(time.Hour)
		if got := f.holds()[pod("a")]; got != 1 {
			t.Errorf("storage holds version %d, want the older one, 1", got)
		}
	})
}

// A poison object delays all others of its queue, each time it comes back.
func TestPoisonHoldsUpOthers(t *testing.T) {
	const tries = 3 * attemptPause // four attempts
	run(t, shape{}, func(c *cluster, f *fake) {
		f.answerBy(func(k call) error {
			if k.key.Name == "poison" {
				time.Sleep(tries)
				return errDown
			}
			return nil
		})
		c.put(pod("poison"))
		synctest.Wait()
		c.put(pod("other"))
		time.Sleep(time.Minute)
		calls := f.seen()
		if calls[1].key != pod("other") || calls[1].at != tries {
			t.Errorf("second call %s, want the other pod after %s", calls[1], tries)
		}
	})
}

// The end is at once: what waits and what is in flight is lost.
func TestEndDoesNotDrain(t *testing.T) {
	var of *cluster
	run(t, shape{}, func(c *cluster, f *fake) {
		of = c
		f.answerBy(func(call) error { time.Sleep(90 * time.Millisecond); return nil })
		for i := range 100 {
			c.put(pod(fmt.Sprint(i)))
		}
		time.Sleep(900 * time.Millisecond)
	})
	s := of.stats()
	if s.Sent+s.Dropped != 100 || s.Dropped < 85 {
		t.Errorf("%+v, want about ten of a hundred sent and the others lost", s)
	}
	if err := of.q.Enqueue(t.Context(), pipeline.Event{Action: pipeline.Put, Key: pod("late")}); !errors.Is(err, errClosed) {
		t.Errorf("enqueue after the end: %v, want errClosed", err)
	}
}

// A pod whose ReplicaSet is not known yet waits 1 s, 2 s, 4 s … 32 s.
func TestNotReady(t *testing.T) {
	var mu sync.Mutex // guards asked and ready
	var asked []time.Duration
	ready := false
	var start time.Time
	run(t, shape{prepare: func(o *object.Object) (*object.Object, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, time.Since(start))
		return o, ready, nil
	}}, func(c *cluster, f *fake) {
		start = time.Now()
		c.put(pod("a"))
		time.Sleep(130 * time.Second)
		mu.Lock()
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 15, 31, 63, 95, 127} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
		if s := c.stats(); s.Queued != 1 || len(f.seen()) != 0 {
			t.Errorf("%+v and %d calls, want the event queued and nothing sent", s, len(f.seen()))
		}
		asked = nil
		mu.Unlock()
		c.put(pod("a")) // a change begins the backoff anew
		time.Sleep(2 * time.Second)
		mu.Lock()
		if len(asked) != 2 || asked[1]-asked[0] != time.Second {
			t.Errorf("after a change asked at %v, want two looks 1 s apart", asked)
		}
		ready = true
		mu.Unlock()
		time.Sleep(time.Minute)
		if s := c.stats(); s.Sent+s.Coalesced != 2 || s.Queued != 0 {
			t.Errorf("%+v, want both settled", s)
		}
	})
}

// An Event that is gone when its turn comes is never deleted in storage, and an object
// that cannot be prepared is lost.
func TestNotSent(t *testing.T) {
	run(t, shape{prepare: func(o *object.Object) (*object.Object, bool, error) {
		if o.Key.Name == "broken" {
			return nil, false, errDown
		}
		return o, true, nil
	}}, func(c *cluster, f *fake) {
		c.enqueue(pipeline.Event{Action: pipeline.Put, Key: event("gone")})
		c.put(pod("broken"))
		time.Sleep(time.Minute)
		if s := c.stats(); len(f.seen()) != 0 || s.Coalesced != 1 || s.Dropped != 1 {
			t.Errorf("%+v and calls %v, want one coalesced, one dropped, none sent", s, f.seen())
		}
	})
}
