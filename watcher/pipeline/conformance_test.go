package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// everyStrategy runs a test for each strategy in virtual time.
func everyStrategy(t *testing.T, test func(t *testing.T, c Config)) {
	for _, s := range Strategies() {
		t.Run(string(s), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, config(s)) })
		})
	}
}

// ordered is everyStrategy without the one that promises no order.
func ordered(t *testing.T, test func(t *testing.T, c Config)) {
	everyStrategy(t, func(t *testing.T, c Config) {
		if c.Strategy == Unordered {
			t.Skip("promises no order")
		}
		test(t, c)
	})
}

// checkOrder fails if an applied version of one key and uid goes down, if two
// requests of one key overlapped, or if a deleted uid comes back.
func checkOrder(t *testing.T, s *store) {
	t.Helper()
	type object struct {
		key any
		uid string
	}
	last := map[object]uint64{}
	gone := map[object]bool{}
	for _, e := range s.sent() {
		o := object{e.Key, e.UID}
		if e.ResourceVersion < last[o] {
			t.Fatalf("%v was applied after version %d", e, last[o])
		}
		last[o] = e.ResourceVersion
		if e.Action == Put && gone[o] {
			t.Fatalf("%v was applied after its deletion", e)
		}
		gone[o] = e.Action == Delete
	}
	for key, n := range s.most {
		if n > 1 {
			t.Fatalf("%d requests of %s were in flight together", n, key)
		}
	}
}

func TestOrderAndNoLoss(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		s := newStore(20 * time.Millisecond)
		l := start(t, c, s, nil)
		const keys, versions = 40, 25
		for v := 1; v <= versions; v++ {
			for k := range keys {
				l.enqueue(put(fmt.Sprint("pod-", k), uint64(v)))
			}
			time.Sleep(time.Millisecond)
		}
		c.DrainTimeout = time.Minute
		time.Sleep(time.Minute)
		if !l.Idle() {
			t.Fatalf("not drained: %+v", l.Stats())
		}
		st := l.finish()
		checkOrder(t, s)
		if st.Sent+st.Coalesced != keys*versions || st.Dropped != 0 {
			t.Errorf("counts: %+v", st)
		}
		if !shapeOf(c, "Pod").merge && st.Coalesced != 0 {
			t.Errorf("%d events merged by a strategy that sends every event", st.Coalesced)
		}
		for k, r := range s.rows {
			if r.version != versions {
				t.Errorf("%s ends at version %d", k, r.version)
			}
		}
		if len(s.rows) != keys {
			t.Errorf("%d rows", len(s.rows))
		}
	})
}

func TestUnorderedReorders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(0)
		s.latency = func(e Event) time.Duration { return time.Duration(100-e.ResourceVersion) * time.Millisecond }
		l := start(t, config(Unordered), s, nil)
		l.enqueue(put("a", 1), put("a", 2))
		time.Sleep(time.Second)
		l.finish()
		if got := s.sent(); len(got) != 2 || got[0].ResourceVersion != 2 {
			t.Errorf("applied %v: want the later change first", got)
		}
	})
}

func TestRates(t *testing.T) {
	const latency = 90 * time.Millisecond
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(latency)
		l := start(t, c, s, nil)
		for i := range 3000 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		const window = 5 * time.Second
		time.Sleep(window + time.Millisecond)
		got := float64(len(s.sent())) / (window.Seconds() / latency.Seconds()) // in units of 1/L
		want, tolerance := 30.0, 0.03
		switch c.Strategy {
		case Single:
			want = 1
		case Partitioned:
			want, tolerance = 30, 0.10 // the hash is uneven
		}
		if c.Strategy == Adaptive { // nobody told it 30; this storage is worth more
			want, got = 30, min(got, 30)
		}
		if got < want*(1-tolerance) || got > want {
			t.Errorf("%.2f requests per latency: want %.0f", got, want)
		}
		l.stop()
		<-l.done
	})
}

func TestOldestFreeKeyFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10 * time.Millisecond)
		c := config(Keyed)
		c.PodQueueNum = 1
		l := start(t, c, s, nil)
		l.enqueue(put("a", 1), put("a", 2), put("b", 1), put("a", 3), put("c", 1))
		time.Sleep(time.Second)
		l.finish()
		var got []string
		for _, e := range s.sent() {
			got = append(got, fmt.Sprint(e.Key.Name, e.ResourceVersion))
		}
		if want := "[a1 a2 b1 a3 c1]"; fmt.Sprint(got) != want {
			t.Errorf("sent %v: want %s", got, want)
		}
	})
}

func TestDrain(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		c.DrainTimeout = time.Minute
		s := newStore(10 * time.Millisecond)
		l := start(t, c, s, nil)
		for i := range 500 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		began := time.Now()
		st := l.finish()
		if st.Sent != 500 || st.Dropped != 0 {
			t.Errorf("after the drain: %+v", st)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the drain took %s", took)
		}
		if err := l.Enqueue(t.Context(), put("late", 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("enqueue after the end: %v", err)
		}
		if st := l.Stats(); st.Dropped != 1 || !st.Balanced() {
			t.Errorf("a refused event is not counted: %+v", st)
		}
		if err := l.Run(t.Context()); !errors.Is(err, lifecycle.ErrRunTwice) {
			t.Errorf("second run: %v", err)
		}
	})
}

func TestDrainDeadline(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		c.DrainTimeout = 2 * time.Second
		s := newStore(time.Hour)
		l := start(t, c, s, nil)
		const events = 500
		for i := range events {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		time.Sleep(time.Second)
		began := time.Now()
		st := l.finish()
		if took := time.Since(began); took != c.DrainTimeout {
			t.Errorf("the drain took %s: want %s", took, c.DrainTimeout)
		}
		if st.Dropped != events || st.Sent != 0 {
			t.Errorf("abandoned events: %+v", st)
		}
	})
}

func TestBeforeRun(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		p, err := New(c, Settings{Sender: s})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if err := p.Enqueue(t.Context(), put(fmt.Sprint("pod-", i), 1)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if st := p.Stats(); st.Sent != 100 {
			t.Errorf("%+v", st)
		}
	})
}

func TestDeleteAndRecreate(t *testing.T) {
	for name, events := range map[string]func() []Event{
		"recreated": func() []Event { return []Event{put("a", 1), del("a", 2), put("a", 3).as("v")} },
		"gone again": func() []Event {
			return []Event{put("a", 1), del("a", 2), put("a", 3).as("v"), del("a", 4).as("v")}
		},
		"across a failure": func() []Event { return []Event{put("a", 5), del("a", 6), put("a", 7).as("v")} },
	} {
		t.Run(name, func(t *testing.T) {
			ordered(t, func(t *testing.T, c Config) {
				s := newStore(10 * time.Millisecond)
				if name == "across a failure" {
					s.fault = func(e Event) error {
						if time.Since(s.began) < time.Second {
							return down(e)
						}
						return nil
					}
				}
				l := start(t, c, s, nil)
				list := events()
				for _, e := range list {
					l.enqueue(e)
				}
				time.Sleep(time.Minute)
				l.finish()
				checkOrder(t, s)
				last := list[len(list)-1]
				got, ok := s.rows[last.Key]
				if last.Action == Delete && ok || last.Action == Put && got != (row{last.UID, last.ResourceVersion}) {
					t.Errorf("ends as %v %v", got, ok)
				}
			})
		})
	}
}

// TestRestoredStateIsNotStale: the state of a cluster that was put back to an earlier version
// replaces what waits, whatever the versions.
func TestRestoredStateIsNotStale(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		l := start(t, c, s, nil)
		back := put("a", 3)
		back.Older = true
		again := put("b", 2) // deleted since, in the history that is no more
		again.Older = true
		l.enqueue(put("a", 5), put("a", 6), back, put("b", 4), del("b", 9), again)
		time.Sleep(time.Second)
		l.finish()
		if s.rows[back.Key].version != 3 || s.rows[again.Key].version != 2 {
			t.Errorf("rows %v", s.rows)
		}
	})
}

func TestStaleRepairIsSuperseded(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		l := start(t, c, s, nil)
		l.enqueue(put("a", 5), put("a", 3))              // an older state of an object in flight
		l.enqueue(del("b", 9), put("b", 8), put("b", 1)) // of a deleted one
		time.Sleep(time.Second)
		st := l.finish()
		checkOrder(t, s)
		if st.Coalesced != 3 || len(s.rows) != 1 || s.rows[put("a", 1).Key].version != 5 {
			t.Errorf("%+v, rows %v", st, s.rows)
		}
	})
}
