package behavior_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/storagemock/behavior"
)

func TestParseCapacities(t *testing.T) {
	limit := func(m behavior.Match, inFlight int, perSecond float64) behavior.Rule[behavior.Capacity] {
		return behavior.Rule[behavior.Capacity]{Match: m, Value: behavior.Capacity{InFlight: inFlight, Rate: perSecond, Queue: behavior.DefaultQueue}}
	}
	all, pods := behavior.Match{}, behavior.Match{Kinds: []string{"Pod"}}
	for in, want := range map[string][]behavior.Rule[behavior.Capacity]{
		"":                                   nil,
		"unlimited":                          {limit(all, 0, 0)},
		"inflight=300":                       {limit(all, 300, 0)},
		"kind=Pod: rate=50/s":                {limit(pods, 0, 50)},
		"kind=Pod|Node,method=put: rate=3/s": {limit(behavior.Match{Methods: []string{"PUT"}, Kinds: []string{"Pod", "Node"}}, 0, 3)},
		"kind=Pod: rate=50/s ; inflight=300": {limit(pods, 0, 50), limit(all, 300, 0)},
		"kind=Pod: unlimited; inflight=1":    {limit(pods, 0, 0), limit(all, 1, 0)},
	} {
		got, err := behavior.ParseCapacities(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v, -want +got:\n%s", in, err, diff)
		}
	}
	for in, want := range map[string]string{
		"inflight=3; rate=1/s":  "never reached",
		"kind=Pod: inflight=0":  "at least 1",
		"kind=Pod: ; rate=1/s;": "empty rule",
		"pod: rate=1/s":         "want method=PUT|GET or kind=Pod|Node",
		"kind=Pod: a: b":        "more than one colon",
	} {
		if _, err := behavior.ParseCapacities(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// TestStationsAreSeparate: a kind that exceeds its rate keeps no other kind waiting.
func TestStationsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := behavior.ParseCapacities("kind=Pod,method=PUT: rate=1/s; kind=Node: inflight=1")
		if err != nil {
			t.Fatal(err)
		}
		s := behavior.NewStations(c)
		enter := func(method, kind string) time.Duration {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			if _, err := s.For(method, kind).Enter(ctx); err != nil {
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

// FuzzParseCapacities: limits that are accepted are within the bounds of the grammar, and
// stations can be made of them.
func FuzzParseCapacities(f *testing.F) {
	for _, s := range []string{"unlimited", "kind=Pod|Node,method=PUT: rate=3/s; inflight=300,queue=7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rules, err := behavior.ParseCapacities(s)
		if err != nil {
			return
		}
		for _, r := range rules {
			if c := r.Value; c.InFlight < 0 || c.Queue < 0 || c.Rate != 0 && !(c.Rate >= 0.001 && c.Rate <= 1e6) {
				t.Errorf("%q: %+v", s, c)
			}
		}
		if behavior.NewStations(rules).For("PUT", "Pod") == nil {
			t.Errorf("%q: no queue for a PUT of a Pod", s)
		}
	})
}
