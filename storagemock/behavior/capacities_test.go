package behavior_test

import (
	"strings"
	"testing"

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
		"inflight=3,rate=2/s,queue=10":       {{Value: behavior.Capacity{InFlight: 3, Rate: 2, Queue: 10}}},
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
		"inflight=0":            "at least 1",
		"inflight=x":            "whole number",
		"inflight=3)":           "separated by commas",
		"infligth=3":            "it takes inflight",
		"rate=50":               "write 50/s",
		"rate=50/h":             "write 50/s",
		"rate=0/s":              "0.001/s",
		"rate=1/s,burst=2":      "it takes inflight",
		"300":                   "none by position",
		"queue=-1":              "at least 0",
	} {
		if _, err := behavior.ParseCapacities(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// FuzzParseCapacities: limits that are accepted are within the bounds of the grammar, and an idle storage serves a
// request within them.
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
		m, _ := behavior.ParseModel("1ms", 1)
		if _, err := behavior.NewStations(m, rules).Serve("PUT", "Pod", "", 0, plus(0)); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	})
}
