package matrix

import (
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func TestRecovery(t *testing.T) {
	const s = int64(1e9)
	ops := []oplog.Record{opAt(oplog.TypeCreate, "a", "u", 1, 1*s), opAt(oplog.TypePatch, "a", "u", 2, 2*s), opAt(oplog.TypeCreate, "b", "v", 3, 9*s)}
	all := []ledger.Entry{acked("PUT", "a", "u", 1, 1*s), acked("PUT", "a", "u", 2, 7*s), acked("PUT", "b", "v", 3, 10*s)}
	brief := append(slices.Clone(ops), opAt(oplog.TypeCreate, "c", "w", 4, 3*s), opAt(oplog.TypeDelete, "c", "w", 4, 4*s))
	for name, tc := range map[string]struct {
		ops  []oplog.Record
		all  []ledger.Entry
		want float64 // 0: none
	}{
		"the patch of second 2 arrived in second 7":         {ops, all, 2},
		"what never arrived is no recovery":                 {ops, all[:1], 0},
		"an object that came and went unseen is not missed": {brief, all, 2},
		"nothing happened":                                  {nil, all, 0},
	} {
		if f := RecoveryFact("x", changes(tc.ops, tc.all), 5*s, 60); f.Missing != (tc.want == 0) || f.Value != tc.want || f.OK == f.Missing {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestDelays looks at what was made since a time, and at what never came.
func TestDelays(t *testing.T) {
	op := func(uid string, rv uint64, at int64) oplog.Record {
		return oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypePatch, Kind: "Pod", Namespace: "a", Name: uid, UID: uid, ResourceVersion: rv, Intended: at, Started: at, Finished: at + 1e6, Status: 200}
	}
	ack := func(uid string, rv uint64, at int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Namespace: "a", Name: uid, UID: uid, ResourceVersion: rv, Received: at - 1e6, Applied: at, Responded: at, Status: 200, Effect: ledger.EffectReplaced}
	}
	ops := []oplog.Record{op("u1", 1, 1e9), op("u2", 2, 2e9), op("u3", 3, 3e9), op("u4", 4, 4e9)}
	all := []ledger.Entry{ack("u1", 1, 9e9), ack("u2", 2, 25e8), ack("u3", 3, 4e9)}
	for name, tc := range map[string]struct {
		ops     []oplog.Record
		since   int64
		limit   float64
		want    float64
		ok      bool
		missing string
	}{
		"all three":  {ops[:3], 0, 60, 8, true, ""},
		"since":      {ops[:3], 2e9, 60, 1, true, ""},
		"too long":   {ops[:3], 0, 7, 8, false, ""},
		"never":      {ops, 0, 60, 0, false, "1 changes never arrived"},
		"none":       {nil, 0, 60, 0, false, "no change was made"},
		"none since": {ops[:3], 5e9, 60, 0, false, "no change was made"},
	} {
		if f := DelayFact("x", changes(tc.ops, all), tc.since, tc.limit); f.Value != tc.want || f.OK != tc.ok || f.Missing != (tc.missing != "") || f.Detail != tc.missing {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestBystanderFromAnswer: what the apiserver took, and what was late, does not count.
func TestBystanderFromAnswer(t *testing.T) {
	const ms = int64(1e6)
	beside := func(name string, started, finished int64) oplog.Record {
		op := opAt(oplog.TypePatch, name, "u", 1, finished)
		op.Bystander, op.Intended, op.Started = true, 0, started
		return op
	}
	ops := []oplog.Record{
		beside("slow apiserver", 0, 900*ms), beside("late", 800*ms, 810*ms), beside("faster than the answer", 0, 500*ms), beside("never arrived", 0, ms),
		opAt(oplog.TypePatch, "of the load", "u", 1, ms),
	}
	q := fromAnswer(changes(ops, []ledger.Entry{
		acked("PUT", "slow apiserver", "u", 1, 930*ms), acked("PUT", "late", "u", 1, 820*ms), acked("PUT", "faster than the answer", "u", 1, 400*ms),
		acked("PUT", "of the load", "u", 1, 9000*ms),
	}))
	if q == nil || q.Count != 3 || q.Max < 0.0299 || q.Max > 0.0301 || q.P50 < 0.0099 || q.P50 > 0.0101 {
		t.Errorf("%+v", q)
	}
}

// TestAttempts: a refused request, a repeated one and one that storage applied twice are attempts more; none carries
// another state.
func TestAttempts(t *testing.T) {
	refused := acked("PUT", "a", "u", 1, 5)
	refused.Applied, refused.Status, refused.Effect = 0, 503, ledger.EffectRejected
	put, removal := acked("PUT", "a", "u", 1, 6), acked("DELETE", "a", "u", 1, 8)
	again := acked("DELETE", "a", "", 0, 9)
	again.Received, again.Responded, again.Status, again.Effect = removal.Received, 0, 0, ledger.EffectNone
	other, later := acked("DELETE", "b", "w", 3, 8), acked("DELETE", "a", "v", 4, 20)
	a := attempts{to: 50, states: map[uint64]struct{}{}}
	for _, e := range []ledger.Entry{refused, put, put, removal, again, other, later, acked("PUT", "late", "w", 9, 99)} {
		a.request(&e)
	}
	if a.tried != 7 || len(a.states) != 4 {
		t.Errorf("%d attempts of %d states, want 7 of 4", a.tried, len(a.states))
	}
}

func TestThrottle(t *testing.T) {
	const s = int64(1e9)
	told := acked("PUT", "a", "u", 1, 1*s)
	told.Status, told.Fault = 429, "throttle"
	asked := func(e *ledger.Entry) time.Duration {
		if e.Fault == "throttle" {
			return 2 * time.Second
		}
		return 0
	}
	for at, want := range map[int64]int64{2 * s: 1, 3 * s: 0, 3*s - 1e6: 0} {
		x := throttle{asked: asked, until: map[uint64]int64{}}
		for _, e := range []ledger.Entry{told, acked("PUT", "a", "u", 1, at), acked("PUT", "a", "u", 2, at)} {
			x.request(&e)
		}
		if x.disobeyed != want || x.obeyed != 1-want || (x.first == "") != (want == 0) {
			t.Errorf("again after %d ns: obeyed %d, disobeyed %d, %q", at-s, x.obeyed, x.disobeyed, x.first)
		}
	}
}

func TestBackoffSteps(t *testing.T) {
	for in, want := range map[time.Duration]int{0: 1, 50 * time.Millisecond: 2, time.Second: 5, 10 * time.Second: 9} {
		if got := BackoffSteps(in); got != want {
			t.Errorf("%s: %d steps, want %d", in, got, want)
		}
	}
}

func TestFaultEnd(t *testing.T) {
	at := func(faults, watch []string) (time.Duration, bool) {
		s := spec.Default()
		s.Storage.Faults, s.Watch.Faults = faults, watch
		end, windowed := FaultEnd(&Case{Cell: &history.Cell{Scenario: s, FaultsSet: 1, LoadFinished: 1 + int64(10*time.Second)}})
		return time.Duration(end - 1), windowed
	}
	for _, tc := range []struct {
		faults, watch []string
		end           time.Duration
		windowed      bool
	}{
		{[]string{"refuse(from=1s,for=6s)"}, nil, 7 * time.Second, true},
		{[]string{"503:1%"}, nil, 10 * time.Second, false},
		{[]string{"503(from=1s,for=2s)"}, []string{"gone(4s,from=1s)"}, 5 * time.Second, true},
		{[]string{"503(from=1s,for=20s)"}, nil, 10 * time.Second, false},
		{nil, []string{"close(1s,2s)"}, 10 * time.Second, false},
	} {
		if end, windowed := at(tc.faults, tc.watch); end != tc.end || windowed != tc.windowed {
			t.Errorf("%v %v: %s, %v", tc.faults, tc.watch, end, windowed)
		}
	}
}
