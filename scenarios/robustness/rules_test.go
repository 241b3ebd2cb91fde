package robustness

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestTakeOver: a leader that lost its Lease, cannot renew it or
// wakes after it must end in time; one that had nothing to send shows nothing.
func TestTakeOver(t *testing.T) {
	taken := func(exited int64) takeOver { return takeOver{Lease: &loss{Expires: 11e9, Exited: exited}} }
	cutOff := func(exited int64) takeOver {
		return takeOver{Lease: &loss{Expires: 17e9, Exited: exited, CutOff: true}}
	}
	frozen := func(waiting, exited int64) takeOver {
		return takeOver{Frozen: &freeze{Waiting: waiting, Woken: 20e9, Exited: exited}}
	}
	for _, tc := range []struct {
		name   string
		end    takeOver // at 1 s
		late   bool     // the former leader's end
		vacant bool
	}{
		{"killed", takeOver{Seconds: 2}, false, false},
		{"lease taken, ends in time", taken(5e9), false, false},
		{"lease taken, ends too late", taken(15e9), true, false},
		{"lease taken, never ends", taken(0), true, false},
		{"cut off, ends in time", cutOff(6e9), false, false},
		{"cut off, ends too late", cutOff(8e9), true, false},
		{"cut off, never ends", cutOff(0), true, false},
		{"frozen, ends when it wakes", frozen(100, 21e9), false, false},
		{"frozen, ends late", frozen(100, 26e9), true, false},
		{"frozen, never ends", frozen(100, 0), true, false},
		{"frozen, nothing queued", frozen(2, 21e9), false, true},
	} {
		c := matrixtest.Case(&spec.Fault{})
		tc.end.Killed = 1e9
		c.Deeds = []history.Deed{matrixtest.Deed(t, killLeader, 0, tc.end)}
		facts := matrixtest.Facts(t, c, replicaRules, nil, nil)
		if late := len(facts) == 3 && !facts[0].OK; late != tc.late {
			t.Errorf("%s: %+v", tc.name, facts)
		}
		if why := matrixtest.Vacuous(matrixtest.Witness(t, c, replicaRules, nil, nil)); (why != "") != tc.vacant {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// TestTokenProvesNothing: a rotation counts only if the former token is refused at the end, the new one is not, and
// watches had to be opened again.
func TestTokenProvesNothing(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, new int
		ended    int64
		want     string // empty: it counts
	}{
		{"as it should be", 401, 200, 3, ""},
		{"still good", 200, 200, 3, "answers 200 to the former token, not 401"},
		{"good without rights", 403, 200, 3, "answers 403 to the former token, not 401"},
		{"nobody is let in", 401, 401, 3, "answers 401 to the new token, not 200"},
		{"watches stayed open", 401, 200, 2, "2 watches ended after"},
		{"never asked", 0, 0, 0, "answers 0 to the former token"},
	} {
		c := matrixtest.Case(&spec.Fault{Row: "F27", Title: "x", Assert: []string{"T"}})
		c.Cell.Kinds = []string{"Pod", "ConfigMap", "Namespace"}
		c.Cell.Scenario.Watch.Faults = []string{"close(1s,3s)"}
		c.Cell.WatchFired = []history.Firing{{Name: "close(1s,3s)", Fired: 7 + tc.ended}}
		c.Deeds = []history.Deed{matrixtest.Deed(t, rotateToken, 0, rotation{Ended: 7, OldAnswer: tc.old, NewAnswer: tc.new})}
		why := matrixtest.Vacuous(matrixtest.Witness(t, c, (&serviceAccount{}).rules, nil, nil))
		if (why == "") != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// TestNeverHappened: what storage never caught up with or followed is no figure of time, whatever it took to give up
// waiting.
func TestNeverHappened(t *testing.T) {
	fault := &spec.Fault{Row: "F2", Title: "x", Assert: []string{"T"}, Recovery: spec.Duration(7 * time.Second)}
	for _, tc := range []struct {
		name  string
		ruler faults.Ruler
		what  string
		seen  any
		want  []string // facts that are missing
	}{
		{"catch-up after a take-over", replicaRules, killLeader, takeOver{Seconds: 2, Return: faults.CatchUp{Seconds: 30, Behind: "Pod n/a"}}, []string{"catch-up after the take-over"}},
		{"a new token", (&serviceAccount{}).rules, rotateToken, rotation{OldAnswer: 401, NewAnswer: 200}, []string{
			"longest delay of a change after the former token was refused", "recovery of what had happened until then"}},
		{"custom resources", (&customs{}).rules, crdSwitch, follow{Seconds: 30, Behind: "x"}, []string{"until storage followed crd-switch"}},
	} {
		c := matrixtest.Case(fault, spec.Event{What: crdAdd})
		c.Deeds = []history.Deed{matrixtest.Deed(t, tc.what, 3, tc.seen)}
		var missing []string
		for _, f := range matrixtest.Facts(t, c, tc.ruler, nil, nil) {
			if f.Missing {
				missing = append(missing, f.Name)
			}
			if f.Column == "T" && f.Missing == f.OK {
				t.Errorf("%s: %+v", tc.name, f)
			}
		}
		if d := cmp.Diff(tc.want, missing); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

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

// killsAt are the facts of kills, and why they prove nothing.
func killsAt(t *testing.T, all []killed, changes ...history.Change) ([]result.Fact, string) {
	t.Helper()
	c := matrixtest.Case(&spec.Fault{Recovery: spec.Duration(10 * time.Second)})
	c.Cell.LoadFinished = int64(300 * time.Second)
	for _, k := range all {
		c.Deeds = append(c.Deeds, matrixtest.Deed(t, killAnytime, 0, k))
	}
	rules := matrixtest.Witness(t, c, (&randomKills{}).rules, nil, nil)
	return rules[0].Facts(matrixtest.Seen(changes...)), strings.Join(rules[0].Vacuous(matrixtest.Seen(changes...)), "\n")
}

// TestKillPhases: what a watcher was doing when it was killed follows from the record.
func TestKillPhases(t *testing.T) {
	const s = int64(time.Second)
	type changes = []history.Change
	for _, tc := range []struct {
		name    string
		ready   int64
		changes changes
		want    [3]float64 // first lists, behind, steady
	}{
		{"no list was complete", 0, changes{{Finished: s, Stored: 9 * s}}, [3]float64{1, 0, 0}},
		{"storage lacked a change from before the lists were complete", 3 * s,
			changes{{Finished: s, Stored: 2 * s}, {Finished: 2 * s, Stored: 6 * s}}, [3]float64{0, 1, 0}},
		{"storage never got it", 3 * s, changes{{Finished: 2 * s}}, [3]float64{0, 1, 0}},
		{"storage had it and could not say so", 3 * s, changes{{Finished: 2 * s, Unconfirmed: true}}, [3]float64{0, 0, 1}},
		{"it came and went unseen", 3 * s, changes{{Finished: 2 * s, Gone: true}}, [3]float64{0, 0, 1}},
		{"storage lacked only a later change", 3 * s,
			changes{{Finished: 2 * s, Stored: 4 * s}, {Finished: 4 * s, Stored: 6 * s}}, [3]float64{0, 0, 1}},
		{"nothing had changed", 3 * s, nil, [3]float64{0, 0, 1}},
	} {
		facts, _ := killsAt(t, []killed{{At: 5 * s, Ready: tc.ready, Last: &faults.CatchUp{Seconds: 1}}}, tc.changes...)
		if got := [3]float64{facts[0].Value, facts[1].Value, facts[2].Value}; got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestKillsProveSomething: each phase must have been hit often enough; a kill after which storage never has everything
// fails.
func TestKillsProveSomething(t *testing.T) {
	const s = int64(time.Second)
	const lost, end, longest = "kills after which storage never had all that had happened before",
		"storage caught up after the last kill", "longest from a kill until storage had all that had happened before"
	for _, tc := range []struct {
		name   string
		edit   func([]killed)
		more   history.Change
		why    string // that the cell proves nothing; empty: it does prove something
		failed []string
	}{
		{name: "just enough"},
		{name: "one less in the first lists", edit: func(all []killed) { all[0].Ready = all[0].At },
			why: "kills during the first lists: 1; at least 2 are needed"},
		{name: "one less while catching up", edit: func(all []killed) { all[2].Ready = 0 },
			why: "kills while storage was catching up: 1; at least 2 are needed"},
		{name: "none in steady state", edit: func(all []killed) {
			for i := range all[4:] {
				all[4+i].Ready = 0
			}
		}, why: "kills in steady state: 0; at least 2 are needed"},
		{name: "one after the load", edit: func(all []killed) { all[19].At += 20 * s }, why: "1 kills came after the load had ended"},
		{name: "the last never caught up", edit: func(all []killed) { all[19].Last.Behind = "Pod/a" }, failed: []string{end}},
		{name: "the last was never looked at", edit: func(all []killed) { all[19].Last = nil }, failed: []string{end}},
		{name: "a change that never came", more: history.Change{Finished: 290 * s}, failed: []string{lost, longest}},
		{name: "a change that came too late", more: history.Change{Finished: 290 * s, Stored: 301 * s}, failed: []string{longest}},
	} {
		var all []killed // 2 during the first lists, 2 before storage had what follows, 16 in steady state
		for i := range int64(20) {
			k := killed{At: (100 + 10*i) * s}
			if i >= 2 {
				k.Ready = k.At - s
			}
			all = append(all, k)
		}
		all[19].Last = &faults.CatchUp{Seconds: 2}
		if tc.edit != nil {
			tc.edit(all)
		}
		changes := []history.Change{{Finished: 118 * s, Stored: 124 * s}, {Finished: 128 * s, Stored: 133 * s}}
		if tc.more.Finished != 0 {
			changes = append(changes, tc.more)
		}
		facts, why := killsAt(t, all, changes...)
		if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: proves nothing because of %q, want %q", tc.name, why, tc.why)
		}
		var failed []string
		for _, f := range facts {
			if !f.OK {
				failed = append(failed, f.Name)
			}
		}
		if d := cmp.Diff(tc.failed, failed); d != "" {
			t.Errorf("%s: failed facts\n%s", tc.name, d)
		}
	}
}

// TestCustomFacts: the longest time of each event counts, and one that storage did not follow fails C.
func TestCustomFacts(t *testing.T) {
	facts := func(deeds ...history.Deed) (missed result.Fact, times map[string]float64) {
		c := matrixtest.Case(&spec.Fault{}, spec.Event{What: crdAdd})
		c.Deeds = deeds
		all, times := matrixtest.Facts(t, c, (&customs{}).rules, nil, nil), map[string]float64{}
		for _, f := range all[1:] {
			times[f.Name] = f.Value
		}
		return all[0], times
	}
	missed, times := facts(matrixtest.Deed(t, crdSwitch, 3, follow{Seconds: 1}), matrixtest.Deed(t, crdSwitch, 3, follow{Seconds: 3}), matrixtest.Deed(t, crdAdd, 6, follow{Seconds: 2}))
	if want := map[string]float64{"until storage followed crd-switch": 3, "until storage followed crd-add": 2}; !missed.OK || !cmp.Equal(times, want) {
		t.Errorf("%+v, %v", missed, times)
	}
	missed, _ = facts(matrixtest.Deed(t, crdAdd, 0, follow{}), matrixtest.Deed(t, crdRemove, 0, follow{Behind: "a is in storage"}))
	if missed.OK || missed.Value != 1 || !strings.Contains(missed.Detail, "crd-remove: a is in storage") {
		t.Errorf("%+v", missed)
	}
	if missed, _ = facts(); missed.OK {
		t.Errorf("nothing was waited for: %+v", missed)
	}
	if rules, err := (&customs{}).rules(matrixtest.Case(&spec.Fault{})); err != nil || len(rules) != 0 {
		t.Errorf("a cell without custom resources: %d rules, %v", len(rules), err)
	}
}

// TestForged: each address that is reached, and each configuration that is taken, fails a fact; listeners out of reach
// prove nothing.
func TestForged(t *testing.T) {
	const (
		strange = "connections to listeners that no allowed subscription made"
		dialled = "forged addresses that were not refused when dialled"
		started = "configurations with a forged address that were not refused"
		moved   = "redirects that were not counted as failures"
	)
	for _, tc := range []struct {
		name    string
		edit    func(*forgedSeen)
		failed  []string
		vacuous bool
	}{
		{name: "as it should be"},
		{"a connection", func(s *forgedSeen) { s.Listeners[1].Strange = 1 }, []string{strange}, false},
		{"nobody listened", func(s *forgedSeen) { s.Listeners = nil }, []string{strange}, false},
		{"a delivery", func(s *forgedSeen) { s.Subscriptions[0].Delivered = 1 }, []string{dialled}, false},
		{"it failed for another reason", func(s *forgedSeen) { s.Subscriptions[0].Other = 1 }, []string{dialled}, false},
		{"no log of a refusal", func(s *forgedSeen) { s.Subscriptions[1].Refused = 0 }, []string{dialled}, false},
		{"no subscriptions", func(s *forgedSeen) { s.Subscriptions = nil }, []string{dialled}, false},
		{"one started", func(s *forgedSeen) { s.Refusals[0] = forgedRefusal{Name: "file"} }, []string{started}, false},
		{"another exit code", func(s *forgedSeen) { s.Refusals[0].ExitCode = 1 }, []string{started}, false},
		{"another key", func(s *forgedSeen) { s.Refusals[0].NamesKey = false }, []string{started}, false},
		{"no configurations", func(s *forgedSeen) { s.Refusals = nil }, []string{started}, false},
		{"a redirect passed for a delivery", func(s *forgedSeen) { s.Taken = 1 }, []string{moved}, false},
		{"redirects were dropped without a word, or not counted", func(s *forgedSeen) { s.Failed = 0 }, []string{moved}, false},
		{"no redirect", func(s *forgedSeen) { s.Redirects = 0 }, []string{moved}, false},
		{"the listener was out of reach", func(s *forgedSeen) { s.Listeners[0].Deliveries = 0 }, nil, true},
		{"one never tried, or still waits", func(s *forgedSeen) { s.Subscriptions[0] = forgedTries{Name: "loopback"} }, []string{dialled}, false},
	} {
		s := forgedSeen{
			Subscriptions: []forgedTries{{Name: "loopback", Retried: 40, Refused: 2}, {Name: "metadata", Retried: 40, Refused: 1}},
			Refusals:      []forgedRefusal{{Name: "file", Ended: true, ExitCode: 2, NamesKey: true}, {Name: "userinfo", Ended: true, ExitCode: 2, NamesKey: true}},
			Listeners:     []trapSeen{{Address: "127.0.0.1:1", Connections: 1, Deliveries: 80}, {Address: "[::1]:1", Connections: 1, Deliveries: 80}},
			Redirects:     4, Failed: 3,
		}
		if tc.edit != nil {
			tc.edit(&s)
		}
		c := matrixtest.Case(&spec.Fault{})
		c.Deeds = []history.Deed{matrixtest.Deed(t, forgeWebhooks, 7, s)}
		failed, why := matrixtest.Failed(t, c, (&forgery{}).rules)
		if !slices.Equal(failed, tc.failed) || (why != "") != tc.vacuous {
			t.Errorf("%s: failed %q, want %q; proves nothing: %s", tc.name, failed, tc.failed, why)
		}
	}
}

// TestReceivers: each way in which a watcher may fail its receivers fails a fact, and so does what the record does not
// tell.
func TestReceivers(t *testing.T) {
	const (
		queue         = "events queued for one receiver"
		lost          = "events dropped for receivers without faults"
		reply         = "most of an answer that a receiver could send"
		missed, wrong = "changes that receivers without faults were not told of", "deliveries that were wrong or out of order"
		late          = "delivery p99 to receivers without faults"
	)
	type story struct {
		seen    queueReadings
		dropped [1]float64
		figures *result.Readers
		metrics bool
		r3      result.Check
	}
	for _, tc := range []struct {
		name    string
		edit    func(*story)
		failed  []string
		vacuous bool
	}{
		{name: "as it should be"},
		{"a queue beyond its bound", func(s *story) { s.seen.Most["hangs"] = 257 }, []string{queue}, false},
		{"nobody looked", func(s *story) { s.seen = queueReadings{} }, []string{queue, reply}, true},
		{"one was not seen", func(s *story) { delete(s.seen.Most, "receiver-1") }, []string{queue}, false},
		{"nothing waited", func(s *story) { s.seen.Most["hangs"] = 100 }, nil, true},
		{"only one without faults waited", func(s *story) { s.seen.Most["receiver-1"], s.seen.Most["hangs"] = 256, 1 }, nil, true},
		{"another pays", func(s *story) { s.dropped[0] = 3 }, []string{lost}, false},
		{"no counters", func(s *story) { s.metrics = false }, []string{lost}, false},
		{"the whole answer is read", func(s *story) { s.seen.Reply = 64 << 20 }, []string{reply}, false},
		{"no answer was read", func(s *story) { s.seen.Reply = 0 }, []string{reply}, false},
		{"one waits for another", func(s *story) { s.figures.Webhooks.LagMs.P99 = 1500 }, []string{late}, false},
		{"a change is lost", func(s *story) {
			s.figures.Webhooks.Missed, s.r3 = 1, result.Check{Verdict: result.Fail, Violations: 1}
		}, []string{missed}, false},
		{"two came in another order", func(s *story) { s.r3 = result.Check{Verdict: result.Fail, Violations: 1} }, []string{wrong}, false},
		{"nobody judged it", func(s *story) { s.r3 = result.Check{} }, []string{missed, wrong}, false},
		{"no record", func(s *story) { s.figures = nil }, []string{missed, wrong, late}, false},
	} {
		s := story{
			seen:    queueReadings{Readings: 9, Reply: 90 << 10, Most: map[string]int64{"receiver-1": 5, "hangs": 256, "fails": 40, "slow": 9, "huge": 1}},
			dropped: [1]float64{0}, metrics: true, r3: result.Check{Verdict: result.Pass},
			figures: &result.Readers{Webhooks: &result.Webhooks{LagMs: &result.Quantiles{P99: 80}}},
		}
		if tc.edit != nil {
			tc.edit(&s)
		}
		c := matrixtest.Case(&spec.Fault{})
		c.Cell.Scenario.Readers = spec.Readers{Webhooks: 1, WebhookQueue: 256}
		c.Deeds = []history.Deed{matrixtest.Deed(t, readQueues, 0, s.seen)}
		if s.metrics {
			c.After = history.Scrape{}
			for i, n := range s.dropped {
				for reason, v := range map[string]float64{"full": n, "abandoned": 0} {
					c.After[metric.NotifyDropped] = append(c.After[metric.NotifyDropped], history.Point{Labels: map[string]string{"subscription": receiverName(i + 1), "reason": reason}, Value: v})
				}
			}
		}
		rules := matrixtest.Witness(t, c, receiverRules, nil, nil)
		var failed []string
		for _, f := range rules[0].Facts(matrix.Seen{Figures: &result.Cell{Readers: s.figures, Checks: map[string]result.Check{"R3": s.r3}}}) {
			if !f.OK {
				failed = append(failed, f.Name)
			}
		}
		if !slices.Equal(failed, tc.failed) || (matrixtest.Vacuous(rules) != "") != tc.vacuous {
			t.Errorf("%s: failed %q, want %q; proves nothing: %s", tc.name, failed, tc.failed, matrixtest.Vacuous(rules))
		}
	}
	if rules, err := receiverRules(matrixtest.Case(&spec.Fault{})); err != nil || len(rules) != 0 {
		t.Errorf("without receivers: %v, %v", rules, err)
	}
	if !strings.HasPrefix(receiverName(1), "receiver-") {
		t.Error("the names are those of party.Serving")
	}
}

// TestScanProbes: each probe counts, also one that is still not answered when the readers end.
func TestScanProbes(t *testing.T) {
	after := func(ms time.Duration) func(context.Context) (time.Duration, error) {
		return func(ctx context.Context) (time.Duration, error) {
			select {
			case <-time.After(ms * time.Millisecond):
				return ms * time.Millisecond, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}
	for _, tc := range []struct {
		name    string
		ask     func(context.Context) (time.Duration, error)
		failed  string
		vacuous string
	}{
		{"answered", after(5), "", ""},
		{"too slow", after(300), "slowest probe", ""},
		{"none is answered before the end", after(9000), "slowest probe", "asked for 1 times; at least 5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second+50*time.Millisecond)
				defer cancel()
				s := &scanned{For: 4, Readers: slowSeen{Answers: map[int]int64{200: leastScans}}}
				s.probe(ctx, tc.ask)
				good := &scanned{For: 1, Probes: 8, Readers: s.Readers}
				c := matrixtest.Case(&spec.Fault{}, spec.Event{What: queryScans})
				for _, deeds := range [][]*scanned{{s}, {s, good}} {
					c.Deeds = nil
					for _, d := range deeds {
						c.Deeds = append(c.Deeds, matrixtest.Deed(t, queryScans, 1, d))
					}
					failed, why := matrixtest.Failed(t, c, scans{}.rules)
					if got := strings.Join(failed, ","); (got == "") != (tc.failed == "") || !strings.Contains(got, tc.failed) {
						t.Errorf("%d deeds: failed %q, want %q", len(deeds), got, tc.failed)
					}
					if (why == "") != (tc.vacuous == "") || !strings.Contains(why, tc.vacuous) {
						t.Errorf("%d deeds: vacuous %q, want %q", len(deeds), why, tc.vacuous)
					}
				}
			})
		})
	}
}
