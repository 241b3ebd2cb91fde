package runner

import (
	"testing"
	"time"
)

// TestReadsDoNotProlongADrain: a watcher that compares with storage at every period reads it for as
// long as it runs, so a difference that stays would never be final.
func TestReadsDoNotProlongADrain(t *testing.T) {
	now := time.Unix(0, 0)
	r := newRest(now)
	r.see(now, 7, false)
	for i := range 100 { // a read is seen at every tenth poll
		now = now.Add(drainPoll)
		r.see(now, 7, i%10 == 0)
	}
	if since := now.Sub(r.unchanged); since < quietUnknown {
		t.Errorf("nothing has changed for %v, want 10 s", since)
	}
	if since := now.Sub(r.idle); since != 9*drainPoll {
		t.Errorf("idle for %v, want %v since the last read", since, 9*drainPoll)
	}
	if r.see(now, 8, false); r.unchanged != now || r.idle != now || r.known {
		t.Errorf("a change leaves %+v, want it to end the rest", r)
	}
}
