package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// stage is a cell without parties.
type stage struct {
	Cell
	s     *spec.Scenario
	setup Setup
}

func (c *stage) Scenario() *spec.Scenario { return c.s }
func (c *stage) Run() string              { return "r-1" }
func (c *stage) Dir() string              { return "" }
func (c *stage) Setup() *Setup            { return &c.setup }

// caseOf is a recorded cell.
func caseOf(f *spec.Fault, events ...spec.Event) *matrix.Case {
	s := spec.Default()
	s.Fault, s.Events = f, events
	return &matrix.Case{Cell: &history.Cell{Scenario: s}}
}

func deedOf(t *testing.T, what string, keys int64, seen any) history.Deed {
	t.Helper()
	data, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	return history.Deed{What: what, Keys: keys, Seen: data}
}

// witness feeds a record to a family's rules.
func witness(t *testing.T, c *matrix.Case, r Ruler, ops []oplog.Record, entries []ledger.Entry) matrix.Rules {
	t.Helper()
	injected, err := r.Rules(c)
	if err != nil {
		t.Fatal(err)
	}
	rules := matrix.Rules(injected)
	for i := range ops {
		rules.Operation(&ops[i])
	}
	for i := range entries {
		rules.Request(&entries[i])
	}
	return rules
}

func seenOf(changes ...history.Change) matrix.Seen {
	return matrix.Seen{Measured: check.Measured{Changes: slices.Values(changes)}}
}

func factsOf(t *testing.T, c *matrix.Case, r Ruler, ops []oplog.Record, entries []ledger.Entry, changes ...history.Change) (facts []result.Fact) {
	t.Helper()
	for _, rule := range witness(t, c, r, ops, entries) {
		facts = append(facts, rule.Facts(seenOf(changes...))...)
	}
	return facts
}

func vacuous(rules []matrix.Rule) string {
	var why []string
	for _, r := range rules {
		if r.Vacuous != nil {
			why = append(why, r.Vacuous(seenOf())...)
		}
	}
	return strings.Join(why, "\n")
}

func TestAbandonedIn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "w.log")
	text := `time=x level=INFO msg="storage answers again" kind=Pod
time=x level=WARN msg="events dropped" reason="not sent before the drain deadline" drainTimeout=4s events=217 kinds.Pod=200 kinds.ConfigMap=17
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := abandonedIn(log); n != 217 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := abandonedIn(log + "x"); n != 0 || err == nil {
		t.Errorf("%d of no log, %v", n, err)
	}
}

// TestTermination: what was given up must be what was queued at the last reading, less
// what was acknowledged since.
func TestTermination(t *testing.T) {
	c := caseOf(&spec.Fault{})
	c.Cell.Watcher.Own = true
	acked := func(at int64) ledger.Entry { return ledger.Entry{Method: "PUT", Responded: at, Status: 200} }
	for _, tc := range []struct {
		name    string
		end     termination
		entries []ledger.Entry
		ends    bool   // the fact of column T
		loses   string // failed facts of column L
	}{
		{"drained", termination{Seconds: 0.2, Limit: 1, Known: true, Read: 5, Balanced: true}, nil, true, ""},
		{"gave up what was queued", termination{Seconds: 1.1, Limit: 1, Abandoned: 3, Known: true, Read: 5, Queued: 5, Balanced: true}, []ledger.Entry{acked(4), acked(5), acked(6)}, true, ""},
		{"gave up more than that", termination{Seconds: 1.1, Limit: 1, Abandoned: 6, Known: true, Read: 5, Queued: 5, Balanced: true}, nil, true, "events given up at the end"},
		{"gave up less: something vanished", termination{Seconds: 1.1, Limit: 1, Abandoned: 3, Known: true, Read: 5, Queued: 5, Balanced: true}, []ledger.Entry{acked(6)}, true, "events given up at the end"},
		{"counters that do not balance", termination{Seconds: 0.2, Limit: 1, Known: true, Read: 5}, nil, true, "events given up at the end"},
		{"no reading", termination{Seconds: 0.2, Limit: 1}, nil, true, "events given up at the end"},
		{"gave up too early", termination{Seconds: 0.2, Limit: 1, Abandoned: 1, Known: true, Queued: 1, Balanced: true}, nil, true, "events given up before the drain limit"},
		{"too late", termination{Seconds: 1.6, Limit: 1, Known: true, Balanced: true}, nil, false, ""},
		{"killed", termination{Seconds: 11, Limit: 1, Killed: true, Known: true, Balanced: true}, nil, false, ""},
	} {
		c.Deeds = []history.Deed{deedOf(t, sigterm, 0, life{End: &tc.end})}
		ends, loses := false, ""
		for _, f := range factsOf(t, c, livesRules{}, nil, tc.entries) {
			switch {
			case f.Column == "T":
				ends = f.OK
				if f.Missing != tc.end.Killed {
					t.Errorf("%s: %+v", tc.name, f)
				}
			case !f.OK:
				loses += f.Name
			}
		}
		if ends != tc.ends || loses != tc.loses {
			t.Errorf("%s: end %v, loss %q; want %v, %q", tc.name, ends, loses, tc.ends, tc.loses)
		}
	}
}

// TestNothingToDrain: SIGTERM to a watcher that has sent everything proves nothing.
func TestNothingToDrain(t *testing.T) {
	c := caseOf(&spec.Fault{Assert: []string{"L"}})
	c.Cell.Watcher.Own = true
	for _, tc := range []struct {
		end  termination
		want string
	}{
		{termination{Known: true, Waiting: 2, Balanced: true}, "SIGTERM found 2 events to drain; at least 3 are needed"},
		{termination{Known: true, Waiting: 3, Balanced: true}, ""},
		{termination{Known: true, Waiting: 2, Abandoned: 2, Queued: 2, Balanced: true}, ""},
		{termination{}, "SIGTERM found 0 events to drain; at least 3 are needed"},
	} {
		c.Deeds = []history.Deed{deedOf(t, sigterm, 0, life{End: &tc.end})}
		if got := vacuous(witness(t, c, livesRules{}, nil, nil)); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.end, got, tc.want)
		}
	}
	c.Cell.Scenario.Fault.Assert = []string{"C"}
	if got := vacuous(witness(t, c, livesRules{}, nil, nil)); got != "" {
		t.Errorf("a row that asks for no losses: %q", got)
	}
}

// TestTakeOver: a replica that writes while another leads is found.
func TestTakeOver(t *testing.T) {
	c := caseOf(&spec.Fault{})
	c.Deeds = []history.Deed{deedOf(t, killLeader, 0, takeOver{Killed: 1e9, Before: 0, Seconds: 2})}
	from := func(instance int, at int64) ledger.Entry { return ledger.Entry{Instance: instance, Received: at} }
	for _, tc := range []struct {
		name    string
		entries []ledger.Entry
		double  float64
	}{
		{"one after the other", []ledger.Entry{from(0, 5e8), from(0, 105e7), from(1, 3e9)}, 0},
		{"the former goes on", []ledger.Entry{from(0, 2e9)}, 1},
		{"the next began before", []ledger.Entry{from(1, 5e8), from(1, 6e8)}, 2},
	} {
		facts := factsOf(t, c, replicaRules{}, nil, tc.entries)
		if len(facts) != 3 || facts[2].Value != tc.double || facts[2].OK != (tc.double == 0) {
			t.Errorf("%s: %+v", tc.name, facts)
		}
	}
}

// TestLostLease: a leader whose lease was taken may write until that has expired, and must
// end by then.
func TestLostLease(t *testing.T) {
	for _, tc := range []struct {
		name   string
		exited int64
		last   int64 // request of the former leader
		double float64
		ends   bool
	}{
		{"in time", 5e9, 4e9, 0, true},
		{"writes too long", 15e9, 14e9, 1, false},
		{"never ends", 0, 4e9, 0, false},
	} {
		c := caseOf(&spec.Fault{})
		c.Deeds = []history.Deed{deedOf(t, takeLease, 0, takeOver{Killed: 1e9, Lease: &loss{Expires: 11e9, Exited: tc.exited}})}
		facts := factsOf(t, c, replicaRules{}, nil, []ledger.Entry{{Received: tc.last}})
		if len(facts) != 4 || facts[0].OK != tc.ends || facts[3].Value != tc.double || facts[3].OK != (tc.double == 0) {
			t.Errorf("%s: %+v", tc.name, facts)
		}
	}
}

// TestLeaderCutOff: a leader that cannot renew must end, and nobody else may write before.
func TestLeaderCutOff(t *testing.T) {
	for _, tc := range []struct {
		name    string
		exited  int64
		entries []ledger.Entry
		double  float64
		ends    bool
	}{
		{"in time", 6e9, []ledger.Entry{{Received: 5e9}, {Instance: 1, Received: 17e9}}, 0, true},
		{"too late", 8e9, []ledger.Entry{{Received: 7e9}, {Instance: 1, Received: 17e9}}, 0, false},
		{"never", 0, []ledger.Entry{{Received: 5e9}}, 1, false},
		{"both at once", 6e9, []ledger.Entry{{Received: 5e9}, {Instance: 1, Received: 5_500_000_000}}, 1, true},
	} {
		c := caseOf(&spec.Fault{})
		c.Deeds = []history.Deed{deedOf(t, loseLeader, 0, takeOver{Killed: 1e9, Lease: &loss{Expires: 17e9, Exited: tc.exited, CutOff: true}})}
		facts := factsOf(t, c, replicaRules{}, nil, tc.entries)
		if len(facts) != 4 || facts[0].OK != tc.ends || facts[3].Value != tc.double || facts[3].OK != (tc.double == 0) {
			t.Errorf("%s: %+v", tc.name, facts)
		}
	}
}

// TestFrozenLeader: a leader that wakes must send nothing and end, and shows nothing if it
// had nothing to send.
func TestFrozenLeader(t *testing.T) {
	for _, tc := range []struct {
		name   string
		frozen freeze
		last   int64 // request of the former leader
		double float64
		ends   bool
		vacant bool
	}{
		{"as it should be", freeze{Waiting: 100, Woken: 20e9, Exited: 21e9}, 1e9, 0, true, false},
		{"goes on", freeze{Waiting: 100, Woken: 20e9, Exited: 21e9}, 20_500_000_000, 1, true, false},
		{"ends late", freeze{Waiting: 100, Woken: 20e9, Exited: 26e9}, 1e9, 0, false, false},
		{"never ends", freeze{Waiting: 100, Woken: 20e9}, 1e9, 0, false, false},
		{"nothing queued", freeze{Waiting: 2, Woken: 20e9, Exited: 21e9}, 1e9, 0, true, true},
	} {
		c := caseOf(&spec.Fault{})
		c.Deeds = []history.Deed{deedOf(t, stopLeader, 0, takeOver{Killed: 1e9, Frozen: &tc.frozen})}
		facts := factsOf(t, c, replicaRules{}, nil, []ledger.Entry{{Received: tc.last}})
		if len(facts) != 4 || facts[0].OK != tc.ends || facts[3].Value != tc.double || facts[3].OK != (tc.double == 0) {
			t.Errorf("%s: %+v", tc.name, facts)
		}
		if why := vacuous(witness(t, c, replicaRules{}, nil, nil)); (why != "") != tc.vacant {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// TestTakenTooEarly: while the Lease that was taken has not expired, the former leader may
// write, so no other may.
func TestTakenTooEarly(t *testing.T) {
	c := caseOf(&spec.Fault{})
	c.Deeds = []history.Deed{deedOf(t, takeLease, 0, takeOver{Killed: 1e9, Before: 0, Lease: &loss{Expires: 11e9, Exited: 8e9}})}
	for at, double := range map[int64]float64{3e9: 1, 10_950_000_000: 0, 12e9: 0} {
		facts := factsOf(t, c, replicaRules{}, nil, []ledger.Entry{{Instance: 0, Received: 4e9}, {Instance: 1, Received: at}})
		if f := facts[3]; f.Value != double || f.OK != (double == 0) {
			t.Errorf("another replica wrote at %d: %+v", at, f)
		}
	}
}

// TestRecreated: a name must end with the uid of its last object.
func TestRecreated(t *testing.T) {
	c := caseOf(&spec.Fault{})
	c.Deeds = []history.Deed{deedOf(t, recreate, 2, []recreated{{"n", "a", "u1"}, {"n", "b", "u2"}}), deedOf(t, recreate, 1, []recreated{{"n", "a", "u3"}})}
	for _, tc := range []struct {
		name  string
		state []history.StateRecord
		wrong float64
	}{
		{"the last ones", []history.StateRecord{row("a", "u3"), row("b", "u2")}, 0},
		{"the first one is back", []history.StateRecord{row("a", "u1"), row("b", "u2")}, 1},
		{"missing", []history.StateRecord{row("b", "u2")}, 1},
	} {
		rules, err := (&besideLoad{}).Rules(c)
		if err != nil || len(rules) != 1 {
			t.Fatalf("%d rules, %v", len(rules), err)
		}
		for i := range tc.state {
			rules[0].State(&tc.state[i])
		}
		if f := rules[0].Facts(matrix.Seen{})[0]; f.Value != tc.wrong || f.OK != (tc.wrong == 0) {
			t.Errorf("%s: %+v", tc.name, f)
		}
	}
}

func row(name, uid string) history.StateRecord {
	return history.StateRecord{Side: history.SideStorage, Kind: podKind, Namespace: "n", Name: name, UID: uid}
}

// TestTokenProvesNothing: a rotation counts only if the former token is refused at the
// end, the new one is not, and watches had to be opened again.
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
		c := caseOf(&spec.Fault{Row: "F27", Title: "x", Assert: []string{"T"}})
		c.Cell.Kinds = []string{"Pod", "ConfigMap", "Namespace"}
		c.Cell.Scenario.Watch.Faults = []string{"close(1s,3s)"}
		c.Cell.WatchFired = []history.Firing{{Name: "close(1s,3s)", Fired: 7 + tc.ended}}
		c.Deeds = []history.Deed{deedOf(t, rotateToken, 0, rotation{Ended: 7, OldAnswer: tc.old, NewAnswer: tc.new})}
		why := vacuous(witness(t, c, &serviceAccount{}, nil, nil))
		if (why == "") != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// TestRewritten: only writes that were settled before the cut, lost with it, and sent
// again as they were, show that somebody compared.
func TestRewritten(t *testing.T) {
	c := caseOf(&spec.Fault{Row: "F2", Title: "x", Assert: []string{"T"}})
	c.Deeds = []history.Deed{deedOf(t, killStorage, 0, setback{Snapshot: 1e9, Cut: 5e9, Back: 6e9})}
	put := func(uid string, rv uint64, at int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Namespace: "a", Name: uid, UID: uid, ResourceVersion: rv, Received: at - 1e6, Applied: at, Responded: at + 1e6, Status: 200, Effect: ledger.EffectReplaced}
	}
	del := func(uid string, at int64) ledger.Entry {
		e := put(uid, 0, at)
		e.Method, e.Effect = "DELETE", ledger.EffectDeleted
		return e
	}
	unanswered := func(e ledger.Entry) ledger.Entry { e.Responded, e.Status = 0, 0; return e }
	rejected := func(e ledger.Entry) ledger.Entry { e.Effect, e.Status = ledger.EffectRejected, 503; return e }
	for _, tc := range []struct {
		name    string
		entries []ledger.Entry
		want    float64
	}{
		{"sent again", []ledger.Entry{put("u", 5, 2e9), put("u", 5, 7e9)}, 1},
		{"sent again twice", []ledger.Entry{put("u", 5, 2e9), put("u", 5, 7e9), put("u", 5, 8e9)}, 1},
		{"deleted again", []ledger.Entry{del("u", 2e9), del("u", 7e9)}, 1},
		{"never sent again", []ledger.Entry{put("u", 5, 2e9)}, 0},
		{"in the snapshot", []ledger.Entry{put("u", 5, 5e8), put("u", 5, 7e9)}, 0},
		{"a new version", []ledger.Entry{put("u", 5, 2e9), put("u", 6, 7e9)}, 0},
		{"never acknowledged", []ledger.Entry{unanswered(put("u", 5, 2e9)), put("u", 5, 7e9)}, 0},
		{"too near to the cut", []ledger.Entry{put("u", 5, 49e8), put("u", 5, 7e9)}, 0},
		{"a later write was under way", []ledger.Entry{put("u", 5, 2e9), unanswered(put("u", 6, 49e8)), put("u", 6, 7e9)}, 0},
		{"refused the second time", []ledger.Entry{put("u", 5, 2e9), rejected(put("u", 5, 7e9))}, 0},
	} {
		rules := witness(t, c, storageRules{}, nil, tc.entries)
		facts := rules[0].Facts(matrix.Seen{})
		if got := facts[1]; got.Value != tc.want {
			t.Errorf("%s: %+v, want %v", tc.name, got, tc.want)
		}
		if why := vacuous(rules); !strings.Contains(why, "rows that storage had acknowledged and lost") {
			t.Errorf("%s: %q; fewer than three rows prove nothing", tc.name, why)
		}
	}
}

func TestPauseAroundResize(t *testing.T) {
	const ms = int64(time.Millisecond)
	put := func(name string, at int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Name: name, UID: name, ResourceVersion: 1, Received: at * ms, Applied: at * ms, Responded: (at + 50) * ms, Status: 200, Effect: ledger.EffectCreated}
	}
	entries := []ledger.Entry{put("a", 1000), put("a", 7400), put("b", 8950), put("c", 9010), put("d", 9090), put("e", 10030), put("f", 10430)}
	limit := 0.1
	for _, tc := range []struct {
		name    string
		resizes []int64 // ms
		ops     int     // of a to f, that wait since long ago
		want    []result.Fact
	}{
		{"within two requests", []int64{9000}, 4, []result.Fact{{Value: 0.08, OK: true, Detail: "1 changes, a request takes 50ms, the slowest 50ms"}}},
		{"longer", []int64{9000, 9900}, 6, []result.Fact{{Value: 0.94, Detail: "2 changes, a request takes 50ms, the slowest 50ms"}}},
		{"in the outage, and in the backoff after it", []int64{1500, 7500}, 6, []result.Fact{{Missing: true, Detail: "no request was acknowledged around one, or storage was down"}}},
	} {
		c := caseOf(&spec.Fault{}, spec.Event{What: resize, PodQueueNum: 16})
		c.Cell.Scenario.Storage.Faults = []string{"refuse(from=1s,for=2s)"}
		for _, at := range tc.resizes {
			c.Marks = append(c.Marks, history.Mark{What: history.MarkResized, Time: at * ms})
		}
		var ops []oplog.Record
		var changes []history.Change
		for i, name := range []string{"a", "b", "c", "d", "e", "f"}[:tc.ops] {
			ops = append(ops, oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypeCreate, Kind: "Pod", Name: name, UID: name, ResourceVersion: 1, Finished: 1, Status: 200})
			arrived := entries[max(i+1, 1)].Received
			if i == 0 {
				arrived = entries[0].Received
			}
			changes = append(changes, history.Change{Kind: "Pod", Finished: 1, Arrived: arrived, Stored: arrived + 50*ms})
		}
		for i := range tc.want {
			tc.want[i].Column, tc.want[i].Name, tc.want[i].Unit, tc.want[i].Limit = "T", "longest pause around a change of queues", "s", &limit
			if tc.want[i].Missing {
				tc.want[i].Limit = nil
			}
		}
		if d := cmp.Diff(tc.want, factsOf(t, c, queueRules{}, ops, entries, changes...)); d != "" {
			t.Errorf("%s:\n%s", tc.name, d)
		}
	}
}

// TestNeverHappened: what storage never caught up with, followed or repaired is no figure
// of time, whatever it took to give up waiting.
func TestNeverHappened(t *testing.T) {
	fault := &spec.Fault{Row: "F2", Title: "x", Assert: []string{"T"}, Recovery: spec.Duration(7 * time.Second)}
	behind := CatchUp{Seconds: 30, Behind: "Pod n/a"}
	at := func(what string, seen any) func(*matrix.Case) {
		return func(c *matrix.Case) { c.Deeds = []history.Deed{deedOf(t, what, 3, seen)} }
	}
	for _, tc := range []struct {
		name   string
		ruler  Ruler
		record func(*matrix.Case)
		want   []string // facts that are missing
	}{
		{"catch-up after a restart", livesRules{}, func(c *matrix.Case) {
			c.Deeds = []history.Deed{
				deedOf(t, killRestart, 0, life{Return: &CatchUp{Seconds: 1}}), deedOf(t, killRestart, 0, life{Return: &behind}),
				deedOf(t, killRestart, 0, life{Return: &CatchUp{Seconds: 2}}),
			}
		}, []string{"longest catch-up after a restart"}},
		{"catch-up after a take-over", replicaRules{}, at(killLeader, takeOver{Seconds: 2, Return: behind}), []string{"catch-up after the take-over"}},
		{"catch-up after storage came back", storageRules{}, at(killStorage, setback{Return: behind}), []string{"catch-up after storage came back"}},
		{"a new CA", &certFiles{}, func(c *matrix.Case) { c.Deeds = []history.Deed{{What: rotateCA, Ended: 5}} }, []string{"recovery after the new CA"}},
		{"a new token", &serviceAccount{}, at(rotateToken, rotation{OldAnswer: 401, NewAnswer: 200}), []string{
			"longest delay of a change after the former token was refused", "recovery of what had happened until then"}},
		{"custom resources", &customs{}, at(crdSwitch, follow{Seconds: 30, Behind: "x"}), []string{"until storage followed crd-switch"}},
		{"an object of a definition", &customs{}, at(crdAdd, follow{Defined: []defined{{Kind: "Custom0", Established: 1, First: 2}}}), []string{
			"definition established until its first object is in storage", "first object of a definition made until it is in storage"}},
		{"a repair", &besideLoad{}, func(c *matrix.Case) {
			c.Marks = []history.Mark{{Time: 5, What: tamperRemove, Kind: podKind, Namespace: "n", Name: "a"}}
			c.Cell.ScrapeFinished = 100e9
		}, []string{"longest repair of a row"}},
	} {
		c := caseOf(fault, spec.Event{What: crdAdd})
		tc.record(c)
		var missing []string
		for _, f := range factsOf(t, c, tc.ruler, nil, nil) {
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
