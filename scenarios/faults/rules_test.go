package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

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

// TestTermination: what was given up must be what was queued at the last reading, less what was acknowledged since.
func TestTermination(t *testing.T) {
	c := matrixtest.Case(&spec.Fault{})
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
		c.Deeds = []history.Deed{matrixtest.Deed(t, sigterm, 0, life{End: &tc.end})}
		ends, loses := false, ""
		for _, f := range matrixtest.Facts(t, c, livesRules, nil, tc.entries) {
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
	c := matrixtest.Case(&spec.Fault{Assert: []string{"L"}})
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
		c.Deeds = []history.Deed{matrixtest.Deed(t, sigterm, 0, life{End: &tc.end})}
		if got := matrixtest.Vacuous(matrixtest.Witness(t, c, livesRules, nil, nil)); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.end, got, tc.want)
		}
	}
	c.Cell.Scenario.Fault.Assert = []string{"C"}
	if got := matrixtest.Vacuous(matrixtest.Witness(t, c, livesRules, nil, nil)); got != "" {
		t.Errorf("a row that asks for no losses: %q", got)
	}
}

// TestRecreated: a name must end with the uid of its last object.
func TestRecreated(t *testing.T) {
	c := matrixtest.Case(&spec.Fault{})
	c.Deeds = []history.Deed{matrixtest.Deed(t, recreate, 2, []recreated{{"n", "a", "u1"}, {"n", "b", "u2"}}), matrixtest.Deed(t, recreate, 1, []recreated{{"n", "a", "u3"}})}
	for _, tc := range []struct {
		name  string
		state []history.StateRecord
		wrong float64
	}{
		{"the last ones", []history.StateRecord{row("a", "u3"), row("b", "u2")}, 0},
		{"the first one is back", []history.StateRecord{row("a", "u1"), row("b", "u2")}, 1},
		{"missing", []history.StateRecord{row("b", "u2")}, 1},
	} {
		rules, err := (&besideLoad{}).rules(c)
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

// TestRewritten: only writes that were settled before the cut, lost with it, and sent
// again as they were, show that somebody compared.
func TestRewritten(t *testing.T) {
	c := matrixtest.Case(&spec.Fault{Row: "F2", Title: "x", Assert: []string{"T"}})
	c.Deeds = []history.Deed{matrixtest.Deed(t, killStorage, 0, setback{Snapshot: 1e9, Cut: 5e9, Back: 6e9})}
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
		rules := matrixtest.Witness(t, c, storageRules, nil, tc.entries)
		facts := rules[0].Facts(matrix.Seen{})
		if got := facts[1]; got.Value != tc.want {
			t.Errorf("%s: %+v, want %v", tc.name, got, tc.want)
		}
		if why := matrixtest.Vacuous(rules); !strings.Contains(why, "rows that storage had acknowledged and lost") {
			t.Errorf("%s: %q; fewer than three rows prove nothing", tc.name, why)
		}
	}
}

// TestNeverHappened: what storage never caught up with, followed or repaired is no figure
// of time, whatever it took to give up waiting.
func TestNeverHappened(t *testing.T) {
	fault := &spec.Fault{Row: "F2", Title: "x", Assert: []string{"T"}, Recovery: spec.Duration(7 * time.Second)}
	behind := CatchUp{Seconds: 30, Behind: "Pod n/a"}
	at := func(what string, seen any) func(*matrix.Case) {
		return func(c *matrix.Case) { c.Deeds = []history.Deed{matrixtest.Deed(t, what, 3, seen)} }
	}
	for _, tc := range []struct {
		name   string
		ruler  Ruler
		record func(*matrix.Case)
		want   []string // facts that are missing
	}{
		{"catch-up after a restart", livesRules, func(c *matrix.Case) {
			c.Deeds = []history.Deed{
				matrixtest.Deed(t, killRestart, 0, life{Return: &CatchUp{Seconds: 1}}), matrixtest.Deed(t, killRestart, 0, life{Return: &behind}),
				matrixtest.Deed(t, killRestart, 0, life{Return: &CatchUp{Seconds: 2}}),
			}
		}, []string{"longest catch-up after a restart"}},
		{"catch-up after storage came back", storageRules, at(killStorage, setback{Return: behind}), []string{"catch-up after storage came back"}},
		{"a new CA", (&certFiles{}).rules, func(c *matrix.Case) { c.Deeds = []history.Deed{{What: rotateCA, Ended: 5}} }, []string{"recovery after the new CA"}},
		{"a repair", (&besideLoad{}).rules, func(c *matrix.Case) {
			c.Marks = []history.Mark{{Time: 5, What: tamperRemove, Kind: podKind, Namespace: "n", Name: "a"}}
			c.Cell.ScrapeFinished = 100e9
		}, []string{"longest repair of a row"}},
	} {
		c := matrixtest.Case(fault)
		tc.record(c)
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
