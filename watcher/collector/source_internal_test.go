package collector

import (
	"testing"
	"time"
)

// TestWatchSeconds: a healthy watch ends, and its last bookmark comes, before its
// silence counts.
func TestWatchSeconds(t *testing.T) {
	for _, tc := range []struct {
		idle   time.Duration
		chance float64
		want   int64
	}{
		{DefaultWatchIdle, 0, 38},
		{DefaultWatchIdle, 0.5, 43},
		{DefaultWatchIdle, 1, 49},
		{1100 * time.Millisecond, 0, 1},
		{time.Millisecond, 1, 1}, // 0 would leave it to the apiserver
	} {
		if got := watchSeconds(tc.idle, tc.chance); got != tc.want {
			t.Errorf("watchSeconds(%s, %v) = %d, want %d", tc.idle, tc.chance, got, tc.want)
		}
	}
}
