package collector

import (
	"net/http"
	"testing"
	"time"
)

// TestWatchSeconds: a healthy watch ends, and its last bookmark comes, before its silence counts.
func TestWatchSeconds(t *testing.T) {
	for _, tc := range []struct {
		idle     time.Duration
		together bool
		chance   float64
		want     int64
	}{
		{DefaultWatchIdle, false, 0, 38},
		{DefaultWatchIdle, false, 0.5, 44},
		{DefaultWatchIdle, false, 1, 49},
		{DefaultWatchIdle, true, 0, 5},
		{DefaultWatchIdle, true, 1, 49},
		{1100 * time.Millisecond, false, 0, 1},
		{time.Millisecond, true, 1, 1}, // 0 would leave it to the apiserver
	} {
		if got := watchSeconds(tc.idle, tc.together, tc.chance); got != tc.want {
			t.Errorf("watchSeconds(%s, %v, %v) = %d, want %d", tc.idle, tc.together, tc.chance, got, tc.want)
		}
	}
}

func TestComeBack(t *testing.T) {
	for _, tc := range []struct {
		status int
		header string
		want   time.Duration // 0: nobody is asked to come back
	}{
		{429, "1", time.Second},
		{503, "7", 7 * time.Second},
		{500, "2", 2 * time.Second},
		{429, "3600", maxComeBack},
		{429, "", 0},
		{429, "0", 0},
		{429, "-1", 0},
		{429, "Wed, 21 Oct 2026 07:28:00 GMT", 0}, // apiservers send seconds
		{403, "1", 0},
		{410, "1", 0},
	} {
		resp := &http.Response{StatusCode: tc.status, Header: http.Header{}}
		if tc.header != "" {
			resp.Header.Set("Retry-After", tc.header)
		}
		got, busy := comeBack(resp)
		if got != tc.want || busy != (tc.want > 0) {
			t.Errorf("%d, Retry-After %q: %s %v, want %s", tc.status, tc.header, got, busy, tc.want)
		}
	}
}
