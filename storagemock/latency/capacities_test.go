package latency_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/storagemock/latency"
)

func TestParseCapacities(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "unlimited",
		"unlimited":                          "unlimited",
		"inflight=300":                       "inflight=300",
		"kind=Pod: rate=50/s":                "kind=Pod: rate=50/s",
		"kind=Pod|Node,method=put: rate=3/m": "method=PUT,kind=Pod|Node: rate=0.05/s",
		"kind=Pod: rate=50/s ; inflight=300": "kind=Pod: rate=50/s; inflight=300",
		"kind=Pod: unlimited; inflight=1":    "kind=Pod: unlimited; inflight=1",
	} {
		got, err := latency.ParseCapacities(in)
		if err != nil || got.String() != want {
			t.Errorf("%q = %q, %v, want %q", in, got, err, want)
		}
		if again, err := latency.ParseCapacities(got.String()); err != nil || again.String() != want {
			t.Errorf("%q prints as %q, which parses to %q, %v", in, got, again, err)
		}
	}
	for in, want := range map[string]string{
		"inflight=3; rate=1/s":  "never reached",
		"kind=Pod: inflight=0":  "at least 1",
		"kind=Pod: ; rate=1/s;": "empty rule",
		"pod: rate=1/s":         "want method=PUT|GET or kind=Pod|Node",
		"kind=Pod: a: b":        "more than one colon",
	} {
		if _, err := latency.ParseCapacities(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// TestStationsAreSeparate: a kind that exceeds its rate keeps no other kind waiting.
func TestStationsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := latency.ParseCapacities("kind=Pod,method=PUT: rate=1/s; kind=Node: inflight=1")
		if err != nil {
			t.Fatal(err)
		}
		s := latency.NewStations(c, latency.SystemClock{})
		enter := func(method, kind string) time.Duration {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			if err := s.For(method, kind).Enter(ctx); err != nil {
				t.Fatal(err)
			}
			return time.Since(begin)
		}
		for _, tc := range []struct {
			method, kind string
			want         time.Duration
		}{
			{"PUT", "Pod", 0},
			{"PUT", "Pod", time.Second},
			{"PUT", "ConfigMap", 0},
			{"DELETE", "Pod", 0},
			{"PUT", "Node", 0},
			{"PUT", "Pod", time.Second},
		} {
			if got := enter(tc.method, tc.kind); got != tc.want {
				t.Errorf("%s %s waited %s, want %s", tc.method, tc.kind, got, tc.want)
			}
		}
		if inFlight, waiting := s.Load(); inFlight != 6 || waiting != 0 {
			t.Errorf("%d in service and %d waiting, want 6 and 0", inFlight, waiting)
		}
		s.For("PUT", "Node").Leave()
		if inFlight, _ := s.Load(); inFlight != 5 {
			t.Errorf("%d in service, want 5", inFlight)
		}
	})
}

// FuzzParseCapacities: what is accepted prints as text that means the same.
func FuzzParseCapacities(f *testing.F) {
	for _, s := range []string{"unlimited", "kind=Pod|Node,method=PUT: rate=3/m,burst=2; inflight=300,queue=7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := latency.ParseCapacities(s)
		if err != nil {
			return
		}
		again, err := latency.ParseCapacities(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q prints as %q, which parses to %q, %v", s, c, again, err)
		}
	})
}
