package robustness

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestTakeOver: a replica that writes while another leads is found. A leader that lost its Lease, cannot renew it or
// wakes after it must end in time; one that had nothing to send shows nothing.
func TestTakeOver(t *testing.T) {
	from := func(instance int, at int64) ledger.Entry { return ledger.Entry{Instance: instance, Received: at} }
	killed := takeOver{Seconds: 2}
	taken := func(exited int64) takeOver { return takeOver{Lease: &loss{Expires: 11e9, Exited: exited}} }
	cutOff := func(exited int64) takeOver {
		return takeOver{Lease: &loss{Expires: 17e9, Exited: exited, CutOff: true}}
	}
	frozen := func(waiting, exited int64) takeOver {
		return takeOver{Frozen: &freeze{Waiting: waiting, Woken: 20e9, Exited: exited}}
	}
	for _, tc := range []struct {
		name    string
		end     takeOver // at 1 s
		entries []ledger.Entry
		double  float64
		late    bool // the former leader's end
		vacant  bool
	}{
		{"one after the other", killed, []ledger.Entry{from(0, 5e8), from(0, 105e7), from(1, 3e9)}, 0, false, false},
		{"the former goes on", killed, []ledger.Entry{from(0, 2e9)}, 1, false, false},
		{"the next began before", killed, []ledger.Entry{from(1, 5e8), from(1, 6e8)}, 2, false, false},

		{"lease taken, ends in time", taken(5e9), []ledger.Entry{from(0, 4e9)}, 0, false, false},
		{"lease taken, writes too long", taken(15e9), []ledger.Entry{from(0, 14e9)}, 1, true, false},
		{"lease taken, never ends", taken(0), []ledger.Entry{from(0, 4e9)}, 0, true, false},
		{"lease taken, the next writes before it expires", taken(5e9), []ledger.Entry{from(0, 4e9), from(1, 3e9)}, 1, false, false},
		{"lease taken, the next saw it a little earlier", taken(5e9), []ledger.Entry{from(0, 4e9), from(1, 10_950_000_000)}, 0, false, false},
		{"lease taken, the next writes after it expires", taken(5e9), []ledger.Entry{from(0, 4e9), from(1, 12e9)}, 0, false, false},

		{"cut off, ends in time", cutOff(6e9), []ledger.Entry{from(0, 5e9), from(1, 17e9)}, 0, false, false},
		{"cut off, ends too late", cutOff(8e9), []ledger.Entry{from(0, 7e9), from(1, 17e9)}, 0, true, false},
		{"cut off, never ends", cutOff(0), []ledger.Entry{from(0, 5e9)}, 1, true, false},
		{"cut off, both at once", cutOff(6e9), []ledger.Entry{from(0, 5e9), from(1, 5_500_000_000)}, 1, false, false},

		{"frozen, ends when it wakes", frozen(100, 21e9), []ledger.Entry{from(0, 1e9)}, 0, false, false},
		{"frozen, goes on", frozen(100, 21e9), []ledger.Entry{from(0, 20_500_000_000)}, 1, false, false},
		{"frozen, ends late", frozen(100, 26e9), []ledger.Entry{from(0, 1e9)}, 0, true, false},
		{"frozen, never ends", frozen(100, 0), []ledger.Entry{from(0, 1e9)}, 0, true, false},
		{"frozen, nothing queued", frozen(2, 21e9), []ledger.Entry{from(0, 1e9)}, 0, false, true},
	} {
		c := matrixtest.Case(&spec.Fault{})
		tc.end.Killed = 1e9
		c.Deeds = []history.Deed{matrixtest.Deed(t, killLeader, 0, tc.end)}
		facts := matrixtest.Facts(t, c, replicaRules, nil, tc.entries)
		last := facts[len(facts)-1]
		if late := len(facts) == 4 && !facts[0].OK; late != tc.late || last.Value != tc.double || last.OK != (tc.double == 0) {
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
