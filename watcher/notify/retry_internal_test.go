package notify

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/setting"
	"github.com/watchbench/watchbench/watcher/view"
)

// script is a target that fails as it is told.
type script struct {
	fail  func(n int, e Event) error
	times []time.Time
}

func (s *script) Deliver(_ context.Context, e Event) error {
	s.times = append(s.times, time.Now())
	return s.fail(len(s.times), e)
}

func (s *script) Close() {}

// at runs one worker with the target until nothing is queued, in virtual time, and returns
// when the tries were, since the start.
func at(t *testing.T, r Retry, events int, fail func(n int, e Event) error) (tries []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		target := &script{fail: fail}
		c := Subscription{Name: "s", Workers: 1, Retry: r}.withDefaults()
		s := &subscription{Subscription: c, logger: slog.New(slog.DiscardHandler), target: target, queue: newQueue(c.Queue), metrics: newMetrics()}
		for n := range events {
			uid := string(rune('a' + n))
			s.queue.put(&item{typ: view.Added, obj: &object.Object{UID: uid, Raw: []byte("{}")}, version: 1, received: time.Now(), key: uid})
		}
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		go s.work(ctx)
		<-s.queue.drained()
		cancel()
		synctest.Wait()
		for _, at := range target.times {
			tries = append(tries, at.Sub(began))
		}
	})
	return tries
}

var errAgain = errors.New("failed")

// TestBackoff: each pause is any time up to a bound that doubles, and tries end by number.
func TestBackoff(t *testing.T) {
	r := Retry{Initial: setting.Duration(time.Second), Max: setting.Duration(10 * time.Second), Tries: 8}
	sum, most := make([]time.Duration, 7), make([]time.Duration, 7)
	const runs = 200
	for range runs {
		tries := at(t, r, 1, func(int, Event) error { return errAgain })
		if len(tries) != 8 {
			t.Fatalf("%d tries, want 8", len(tries))
		}
		for i := range 7 {
			pause := tries[i+1] - tries[i]
			sum[i] += pause
			most[i] = max(most[i], pause)
		}
	}
	for i, bound := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		bound *= time.Second
		if mean := sum[i] / runs; most[i] > bound || mean < bound*2/5 || mean > bound*3/5 {
			t.Errorf("pause %d: %s on average, %s at most; want half of %s, and that", i, mean, most[i], bound)
		}
	}
}

// TestAge: tries end by time.
func TestAge(t *testing.T) {
	r := Retry{Initial: setting.Duration(time.Second), Max: setting.Duration(time.Second), Tries: 1000, Age: setting.Duration(time.Minute)}
	tries := at(t, r, 1, func(int, Event) error { return errAgain })
	if last := tries[len(tries)-1]; last < time.Minute || last > 61*time.Second {
		t.Errorf("the last try was after %s", last)
	}
}

// TestRetryAfter: no try is earlier than the receiver asked, and only a limit on all events holds back the others.
func TestRetryAfter(t *testing.T) {
	for _, all := range []bool{false, true} {
		tries := at(t, Retry{Initial: setting.Duration(time.Second)}, 2, func(n int, _ Event) error {
			if n == 1 {
				return &RetryAfterError{After: 20 * time.Second, All: all, Err: errAgain}
			}
			return nil
		})
		if len(tries) != 3 || tries[2] < 20*time.Second || tries[2] > 21*time.Second {
			t.Errorf("all %t: tries after %v, want the last between 20 and 21 s", all, tries)
		}
		if held := tries[1] >= 20*time.Second; held != all {
			t.Errorf("all %t: the other event was tried after %s", all, tries[1])
		}
	}
}

// TestLeftAlone: a target that cannot be reached is tried at pauses that grow, whatever number of events wait for it.
func TestLeftAlone(t *testing.T) {
	const away = time.Minute
	var began time.Time
	failed := map[string]bool{}
	// So few tries would not do if those that reached nobody counted.
	tries := at(t, Retry{Initial: setting.Duration(time.Second), Max: setting.Duration(8 * time.Second), Tries: 2}, 20, func(n int, e Event) error {
		if n == 1 {
			began = time.Now()
		}
		switch {
		case time.Since(began) < away:
			return &UnreachableError{Err: errAgain}
		case !failed[e.ID]:
			failed[e.ID] = true
			return errAgain
		}
		return nil
	})
	during := 0
	for _, at := range tries {
		if at < away {
			during++
		}
	}
	if during < 8 || during > 60 { // a minute of pauses of 4 s on average, after shorter ones
		t.Errorf("%d tries while it was away", during)
	}
	if after := tries[len(tries)-1] - away; after > 18*time.Second {
		t.Errorf("the last one came %s after it was back", after)
	}
	if len(tries)-during != 40 {
		t.Errorf("%d tries afterwards, want two for each event", len(tries)-during)
	}
	tries = at(t, Retry{Max: setting.Duration(time.Minute), Age: setting.Duration(time.Hour)}, 1, func(int, Event) error {
		return &UnreachableError{Err: errAgain}
	})
	if last := tries[len(tries)-1]; last < time.Hour || last > time.Hour+2*time.Minute {
		t.Errorf("given up after %s", last)
	}
}
