package notify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

func itemOf(key string, version uint64, size int) *item {
	return &item{typ: view.Modified, obj: &object.Object{UID: key, Raw: make([]byte, size)}, version: version, key: key}
}

// TestQueueModel compares the queue under random use with one that is plainly right: a list
// of events, of which the oldest of each object that is not in flight may be taken.
func TestQueueModel(t *testing.T) {
	for seed := range uint64(200) {
		for _, full := range []string{DropOldest, DropNewest, Resync} {
			if err := playQueue(seed, full); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, full, err)
			}
		}
	}
}

func playQueue(seed uint64, full string) error {
	rnd := rand.New(rand.NewPCG(seed, 0))
	now := time.Unix(1000, 0)
	q := newQueue(Queue{Length: 8, Bytes: 60, WhenFull: full})
	var model []*item // all that is queued, oldest first
	var taken []*item
	drop := func(i *item) { model = slices.DeleteFunc(model, func(x *item) bool { return x == i }) }
	size := func() (n int64) {
		for _, i := range model {
			n += i.size()
		}
		return n
	}
	for step := range 400 {
		switch op := rnd.IntN(10); {
		case op < 5:
			i := itemOf(fmt.Sprint(rnd.IntN(4)), uint64(step), rnd.IntN(12))
			wantLost, wantFull, add := 0, false, true
			for add && (len(model) >= 8 || size() >= 60) {
				at := slices.IndexFunc(model, func(i *item) bool { return !slices.Contains(taken, i) })
				switch {
				case full == Resync:
					wantFull, add = true, false
				case full == DropNewest || at < 0:
					wantLost, add = wantLost+1, false
				default:
					drop(model[at])
					wantLost++
				}
			}
			if add {
				model = append(model, i)
			}
			if lost, isFull := q.put(i); lost != wantLost || isFull != wantFull {
				return fmt.Errorf("step %d: put lost %d, full %t; want %d, %t", step, lost, isFull, wantLost, wantFull)
			}
		case op < 8:
			now = now.Add(time.Duration(rnd.IntN(3)) * time.Second)
			i, _ := q.next(now)
			want := -1
			for at, m := range model {
				first := slices.IndexFunc(model, func(x *item) bool { return x.key == m.key }) == at
				if first && !slices.Contains(taken, m) && (m.due.IsZero() || !m.due.After(now)) {
					want = at
					break
				}
			}
			switch {
			case want < 0 && i != nil:
				return fmt.Errorf("step %d: took %s %d, want none", step, i.key, i.version)
			case want >= 0 && i != model[want]:
				return fmt.Errorf("step %d: took %v, want %s %d", step, i, model[want].key, model[want].version)
			case i != nil:
				taken = append(taken, i)
			}
		case len(taken) > 0:
			at := rnd.IntN(len(taken))
			i := taken[at]
			taken = slices.Delete(taken, at, at+1)
			if op == 8 {
				i.due = now.Add(time.Duration(1+rnd.IntN(4)) * time.Second)
				q.retry(i, i.due, time.Time{})
			} else {
				q.settle(i)
				drop(i)
			}
		}
		if n, _ := q.depth(); n != len(model) || q.size != size() {
			return fmt.Errorf("step %d: %d events of %d bytes, want %d of %d", step, n, q.size, len(model), size())
		}
	}
	if len(q.lanes) > len(model) {
		return fmt.Errorf("%d lanes of %d events", len(q.lanes), len(model))
	}
	return nil
}

// TestHold: nothing is given out while the target is left alone, by as many workers as wait.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(Queue{Length: 100, Bytes: 100, WhenFull: DropOldest})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		took := make(chan time.Duration, 10) // one for each item
		for range 3 {
			go func() {
				for {
					i, ok := q.take(ctx)
					if !ok {
						return
					}
					took <- time.Since(began)
					if i.version == 1 && i.tries == 0 {
						i.tries++
						q.retry(i, began.Add(time.Second), began.Add(5*time.Second))
						continue
					}
					q.settle(i)
				}
			}()
		}
		q.put(itemOf("a", 1, 1))
		synctest.Wait()
		q.put(itemOf("b", 2, 1))
		q.put(itemOf("c", 3, 1))
		time.Sleep(10 * time.Second)
		cancel()
		synctest.Wait()
		close(took)
		var all []time.Duration
		for d := range took {
			all = append(all, d)
		}
		if want := []time.Duration{0, 5 * time.Second, 5 * time.Second, 5 * time.Second}; !slices.Equal(all, want) {
			t.Errorf("taken after %v, want %v", all, want)
		}
	})
}

// TestParallel: where one worker is woken for two events, it wakes another one.
func TestParallel(t *testing.T) {
	q := newQueue(Queue{Length: 100, Bytes: 100, WhenFull: DropOldest})
	q.put(itemOf("a", 1, 1))
	q.put(itemOf("b", 1, 1))
	<-q.wake
	for i, want := range []int{1, 0} {
		if taken, _ := q.next(time.Now()); taken == nil || len(q.wake) != want {
			t.Errorf("%d: %v, %d to be woken, want %d", i, taken, len(q.wake), want)
		}
		select {
		case <-q.wake:
		default:
		}
	}
}

// TestWait: who waits for room goes on at half the length, not before.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(Queue{Length: 4, Bytes: 1000, WhenFull: Resync})
		for v := range uint64(4) {
			q.put(itemOf(fmt.Sprint(v), v, 1))
		}
		if q.offer(itemOf("x", 9, 1)) {
			t.Error("a full queue took an event")
		}
		done := false
		go func() {
			if err := q.wait(t.Context()); err != nil {
				t.Error(err)
			}
			done = true
		}()
		for n := range 2 {
			synctest.Wait()
			if done {
				t.Errorf("it goes on after %d", n)
			}
			i, _ := q.next(time.Now())
			q.settle(i)
		}
		synctest.Wait()
		if !done {
			t.Error("it still waits at half the length")
		}
		if err := q.wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
