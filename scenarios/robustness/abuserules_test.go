package robustness

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestAbuse: each wrong answer fails a fact, and so does a server that does not come back; probes that were not asked,
// and clients that were not slow, prove nothing.
func TestAbuse(t *testing.T) {
	const (
		wrong = "requests that were answered otherwise than they must be"
		lists = "lists that have other items than they must"
		again = "an honest client is answered after the slow ones"
	)
	for _, tc := range []struct {
		name    string
		edit    func(*abused)
		failed  []string
		vacuous string
	}{
		{name: "as it should be"},
		{"a Secret is read", func(a *abused) { a.Probes[1].Codes = map[int]int64{403: 20, 200: 1} }, []string{wrong}, ""},
		{"another refusal", func(a *abused) { a.Probes[1].Codes = map[int]int64{401: 20} }, []string{wrong}, ""},
		{"no answer", func(a *abused) { a.Probes[0].Codes[0] = 1 }, []string{wrong}, ""},
		{"the selector sees what is masked", func(a *abused) { a.Probes[2].Items = 1 }, []string{lists}, ""},
		{"nothing was asked", func(a *abused) { a.Probes = nil }, []string{wrong}, "no object has the masked label"},
		{"it does not come back", func(a *abused) { a.Again = -1 }, []string{again}, ""},
		{"it comes back late", func(a *abused) { a.Again = 11 }, []string{again}, ""},
		{"one was asked too seldom", func(a *abused) { a.Probes[1].Codes = map[int]int64{403: 4} }, nil, "a Secret was asked 4 times"},
		{"nothing to be found", func(a *abused) { a.Probes[2].There = 0 }, nil, "no object has the masked label"},
		{"too few slow clients", func(a *abused) { a.Slow.Connected = 256 }, nil, "256 slow clients connected"},
		{"none got through", func(a *abused) { a.Slow.Shaken = 0 }, nil, "0 got through"},
		{"none was cut off", func(a *abused) { a.Slow.Cut = 0 }, nil, "0 were cut off"},
	} {
		a := abused{
			Probes: []probed{
				{Name: "no token", Want: 401, Codes: map[int]int64{401: 20}}, {Name: "a Secret", Want: 403, Codes: map[int]int64{403: 20}},
				{Name: "a masked label", Want: 200, Codes: map[int]int64{200: 20}, There: 1},
			},
			Slow: slowSeen{Asked: 10_000, Connected: 4000, Shaken: 20, Cut: 300}, Again: 0.4,
		}
		if tc.edit != nil {
			tc.edit(&a)
		}
		c := matrixtest.Case(&spec.Fault{})
		c.Deeds = []history.Deed{matrixtest.Deed(t, abuseQueries, 3, a)}
		failed, why := matrixtest.Failed(t, c, (&abuse{}).rules)
		if !slices.Equal(failed, tc.failed) || (why == "") != (tc.vacuous == "") || !strings.Contains(why, tc.vacuous) {
			t.Errorf("%s: failed %q, want %q; proves nothing: %q, want %q", tc.name, failed, tc.failed, why, tc.vacuous)
		}
	}
}

// TestAnswers: a list that has what it must not, or lacks what it must, counts as wrong.
func TestAnswers(t *testing.T) {
	var a answers
	a.there = 1
	masked, honest := &probe{name: "masked", want: 200, items: 0}, &probe{name: "honest", want: 200, items: 1}
	a.add(masked, 200, []byte(`{"items":[]}`), nil)
	a.add(masked, 200, []byte(`{"items":[{}]}`), nil)
	a.add(honest, 200, []byte(`{"items":[{}]}`), nil)
	a.add(honest, 200, []byte(`{"items":[]}`), nil)
	a.add(honest, 200, []byte(`{"items":`), nil)
	a.add(honest, 0, nil, context.DeadlineExceeded)
	got := a.sum()
	if len(got) != 2 || got[0].Items != 1 || got[0].There != 1 || got[0].Codes[200] != 2 || got[1].Items != 2 || got[1].Codes[0] != 1 || got[1].Error == "" || got[1].There != 0 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(string(a.text()), `masked: 200`+"\n"+`{"items":[{}]}`) {
		t.Errorf("%s", a.text())
	}
}
