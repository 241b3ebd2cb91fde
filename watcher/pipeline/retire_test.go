package pipeline

import (
	"fmt"
	"testing"
	"time"
)

// goroutines are those of a kind that run.
func (l *line) goroutines(kind string) (n int) {
	lane := (*l.lanes.Load())[kind]
	lane.mu.Lock()
	defer lane.mu.Unlock()
	for i := range lane.parts {
		n += lane.parts[i].started
	}
	if lane.clock.running {
		n++
	}
	return n
}

func widgets(n int, version uint64) (events []Event) {
	for i := range n {
		events = append(events, put(fmt.Sprint("w-", i), version).of("Widget"))
	}
	return events
}

// TestRetiredKind: of a kind that is no longer collected no goroutine is left, whatever
// comes later is sent, and a kind that comes back is as any other.
func TestRetiredKind(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		l := start(t, c, s, nil)
		l.RetireKind("Widget") // nobody has heard of it
		l.enqueue(widgets(3, 1)...)
		l.RetireKind("Widget")
		time.Sleep(time.Second)
		if n := l.goroutines("Widget"); n != 0 || len(s.sent()) != 3 {
			t.Errorf("retired while it sent: %d goroutines, %d of 3 events sent", n, len(s.sent()))
		}
		l.enqueue(widgets(3, 2)...)
		time.Sleep(time.Second)
		if n := l.goroutines("Widget"); n != 0 || len(s.sent()) != 6 {
			t.Errorf("events of a retired kind: %d goroutines, %d of 6 events sent", n, len(s.sent()))
		}
		l.AddKind("Widget")
		l.enqueue(widgets(3, 3)...)
		time.Sleep(time.Second)
		if n := l.goroutines("Widget"); n == 0 || len(s.sent()) != 9 {
			t.Errorf("after it came back: %d goroutines, %d of 9 events sent", n, len(s.sent()))
		}
		l.RetireKind("Widget")
		time.Sleep(time.Second)
		if n := l.goroutines("Widget"); n != 0 {
			t.Errorf("retired at rest: %d goroutines", n)
		}
		if st := l.finish(); st.Sent != 9 {
			t.Errorf("%+v", st)
		}
	})
}

// TestRetiredWhileStorageIsDown: backoff, the shut gate and its probes go on until the
// last event is sent, then the goroutines end.
func TestRetiredWhileStorageIsDown(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		s.fault = down
		l := start(t, c, s, nil)
		l.enqueue(widgets(20, 1)...)
		time.Sleep(5 * time.Second)
		l.RetireKind("Widget")
		time.Sleep(30 * time.Second)
		if n := len(s.sent()); n != 0 {
			t.Errorf("%d events sent to a storage that is down", n)
		}
		s.setFault(up)
		time.Sleep(time.Minute)
		if n := l.goroutines("Widget"); n != 0 || len(s.sent()) != 20 {
			t.Errorf("after storage came back: %d goroutines, %d of 20 events sent", n, len(s.sent()))
		}
		l.finish()
	})
}

// TestGoroutinesReturn: after a burst into a storage that fails half of the time, a kind
// keeps no more goroutines than before.
func TestGoroutinesReturn(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(10 * time.Millisecond)
		n := 0
		l := start(t, c, s, nil)
		l.enqueue(widgets(3, 1)...)
		time.Sleep(time.Second)
		before := l.goroutines("Widget")
		s.setFault(func(Event) error {
			if n++; n%2 == 0 {
				return down(Event{})
			}
			return nil
		})
		l.enqueue(widgets(500, 2)...)
		time.Sleep(50 * time.Millisecond) // adaptive begins with one
		most := l.goroutines("Widget")
		s.setFault(up)
		time.Sleep(time.Minute)
		after := l.goroutines("Widget")
		if after > keepIdle {
			t.Errorf("goroutines: %d before, %d in the burst, %d after, want at most %d", before, most, after, keepIdle)
		}
		if shapeOf(c, "Widget").workers > keepIdle && most <= keepIdle {
			t.Errorf("%d goroutines in the burst: it shows nothing", most)
		}
		if st := l.finish(); st.Sent+st.Coalesced != 503 {
			t.Errorf("%+v", st)
		}
	})
}
