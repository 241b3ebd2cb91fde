package pipeline

import (
	"testing"
	"time"
)

// TestEarly: an event that is offered too early comes back without counting as a failure,
// holds up nobody else, and gives way to its key's next event.
func TestEarly(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Name != "other" && e.Action == Put && time.Since(s.began) < 500*time.Millisecond {
				return &EarlyError{After: 50 * time.Millisecond}
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("waits", 1), put("goes", 1), put("other", 1))
		time.Sleep(20 * time.Millisecond)
		if st := l.Stats(); st.Sent != 1 || st.Queued != 2 || st.Retried != 0 {
			t.Errorf("while two wait: %+v", st)
		}
		l.enqueue(put("waits", 2), del("goes", 2))
		time.Sleep(100 * time.Millisecond)
		if st := l.Stats(); st.Sent != 2 || st.Coalesced != 2 || st.Queued != 1 {
			t.Errorf("after a deletion: %+v", st)
		}
		time.Sleep(time.Second)
		if st := l.finish(); st.Sent != 3 || st.Retried != 0 || st.Parked != 0 || !st.Balanced() {
			t.Errorf("in the end: %+v", st)
		}
		if n := len(s.tries(func(e Event) bool { return e.Key.Name == "waits" && e.ResourceVersion == 1 })); n != 1 {
			t.Errorf("the replaced version was tried %d times", n)
		}
		checkOrder(t, s)
	})
}

// TestEarlyWhileDown: one that is offered too early as the probe of a storage that is down
// lets another be the probe.
func TestEarlyWhileDown(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			switch at := time.Since(s.began); {
			case e.Key.Name == "waits" && at < 20*time.Second:
				return &EarlyError{After: 50 * time.Millisecond}
			case at < 10*time.Second:
				return down(e)
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("a", 1), put("waits", 1), put("b", 1), put("c", 1))
		time.Sleep(17 * time.Second)
		if st := l.Stats(); st.Sent != 3 || st.Queued != 1 {
			t.Errorf("after the outage: %+v", st)
		}
		time.Sleep(5 * time.Second)
		if st := l.finish(); st.Sent != 4 || !st.Balanced() {
			t.Errorf("in the end: %+v", st)
		}
	})
}
