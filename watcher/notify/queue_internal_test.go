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
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			if err := playQueue(seed); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			time.Sleep(time.Minute) // retries
		})
	}
}

func playQueue(seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 0))
	q := newQueue(Queue{Length: 8, Bytes: 60})
	var model []*item // all that is queued, oldest first
	var taken []*item
	due := map[*item]time.Time{}
	size := func() (n int64) {
		for _, i := range model {
			n += i.size()
		}
		return n
	}
	for step := range 300 {
		switch op := rnd.IntN(10); {
		case op < 5:
			i := itemOf(fmt.Sprint(rnd.IntN(4)), uint64(step), rnd.IntN(12))
			want := len(model) < 8 && size() < 60
			if want {
				model = append(model, i)
			}
			if got := q.put(i); got != want {
				return fmt.Errorf("step %d: put %t, want %t", step, got, want)
			}
		case op < 8:
			time.Sleep(time.Duration(rnd.IntN(3)) * time.Second)
			synctest.Wait()
			var may *item
			for at, m := range model {
				first := slices.IndexFunc(model, func(x *item) bool { return x.key == m.key }) == at
				if first && may == nil && !slices.Contains(taken, m) && !due[m].After(time.Now()) {
					may = m
				}
			}
			i := q.next()
			if i != may {
				return fmt.Errorf("step %d: took %v, want %v", step, i, may)
			}
			if i != nil {
				taken = append(taken, i)
			}
		case len(taken) > 0:
			at := rnd.IntN(len(taken))
			i := taken[at]
			taken = slices.Delete(taken, at, at+1)
			if op == 8 {
				due[i] = time.Now().Add(time.Duration(1+rnd.IntN(4)) * time.Second)
				q.retry(i, due[i], time.Time{})
			} else {
				q.settle(i)
				model = slices.DeleteFunc(model, func(x *item) bool { return x == i })
			}
		}
		if n, _ := q.depth(); n != len(model) || q.size != size() || len(q.lanes) > len(model) {
			return fmt.Errorf("step %d: %d events of %d bytes in %d lanes, want %d of %d", step, n, q.size, len(q.lanes), len(model), size())
		}
	}
	return nil
}

// TestHold: nothing is given out while the target is left alone, by as many workers as wait.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(Queue{Length: 100, Bytes: 100})
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
	q := newQueue(Queue{Length: 100, Bytes: 100})
	q.put(itemOf("a", 1, 1))
	q.put(itemOf("b", 1, 1))
	<-q.wake
	for i, want := range []int{1, 0} {
		if taken := q.next(); taken == nil || len(q.wake) != want {
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
		q := newQueue(Queue{Length: 4, Bytes: 1000})
		for v := range uint64(4) {
			q.put(itemOf(fmt.Sprint(v), v, 1))
		}
		if q.put(itemOf("x", 9, 1)) {
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
			i := q.next()
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
