package collector

import (
	"testing"
	"time"
)

func TestPauseAfterAttempts(t *testing.T) {
	failed := attempt{lasted: time.Second}
	listed := attempt{lasted: time.Second, list: 20 * time.Millisecond}
	worked := attempt{lasted: time.Second, list: 20 * time.Millisecond, events: true}
	tests := []struct {
		name     string
		attempts []attempt
		// The last wait is at least the first and less than the second.
		least, below time.Duration
	}{
		{"the first failure", []attempt{failed}, 800 * time.Millisecond, 1600 * time.Millisecond},
		{"failures double it", []attempt{failed, failed, failed}, 3200 * time.Millisecond, 6400 * time.Millisecond},
		{"up to the longest", []attempt{failed, failed, failed, failed, failed, failed, failed, failed, failed}, 30 * time.Second, 60 * time.Second},
		{"a list alone is no success: the watch may be forbidden", []attempt{listed, listed, listed}, 3200 * time.Millisecond, 6400 * time.Millisecond},
		{"a change after the list is", []attempt{failed, failed, failed, worked}, 2400 * time.Millisecond, 3600 * time.Millisecond},
		{"and again", []attempt{worked, worked, worked, worked}, 2400 * time.Millisecond, 3600 * time.Millisecond},
		{"then failures begin anew", []attempt{failed, failed, failed, worked, failed, failed}, 1600 * time.Millisecond, 3200 * time.Millisecond},
		{"a long quiet watch is a success", []attempt{failed, failed, failed, {lasted: calm}}, 800 * time.Millisecond, 1600 * time.Millisecond},
		{"so is a long busy one", []attempt{failed, failed, failed, {lasted: calm, list: time.Millisecond, events: true}}, 800 * time.Millisecond, 1600 * time.Millisecond},
		{"as long as the list took", []attempt{{lasted: time.Minute, list: 12 * time.Second, events: true}}, 12 * time.Second, 12*time.Second + 1},
		{"but no longer than the longest", []attempt{{lasted: time.Hour, list: 10 * time.Minute, events: true}}, 30 * time.Second, 30*time.Second + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 100 { // the jitter is chance
				p := newPause(retry)
				var got time.Duration
				for _, a := range tt.attempts {
					got = p.after(a)
				}
				if got < tt.least || got >= tt.below {
					t.Fatalf("wait %v, want %v to %v", got, tt.least, tt.below)
				}
			}
		})
	}
}
