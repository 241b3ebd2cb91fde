package measure

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// crowd is a cell in which n objects are made at once and ten senders may work. Each takes 100 ms for a request; busy
// of them do.
func crowd(n, busy int) *evidence {
	e := &evidence{cell: history.Cell{Planned: int64(n), CPUs: 2, Watcher: history.WatcherRun{Own: true}, Scenario: spec.Scenario{
		Storage: spec.Storage{Latency: "100ms"}, Watcher: spec.Watcher{Strategy: "keyed", PodQueueNum: 10}, Limits: testLimits,
	}}}
	for i := range n {
		name, r := fmt.Sprint(i), float64(10+i/busy*100)
		e.ops = append(e.ops, op(oplog.TypeCreate, name, "u", uint64(i+1), 0, 0, 5))
		e.entries = append(e.entries, put(name, "u", uint64(i+1), r, r+100))
		e.cell.DrainEnd = at(r + 200)
	}
	return e
}

// TestBacklogIsWhatIsOwed: a backlog is what op log and ledger say is owed, and not that all senders are at work. By
// the latter, efficiency with backlog is 100 % whatever is done.
func TestBacklogIsWhatIsOwed(t *testing.T) {
	for _, tc := range []struct {
		name                string
		cell                *evidence
		seconds, efficiency float64 // efficiency 0: not known
	}{
		// Owed from 5 ms on, until fewer than ten are left. Nothing can come back in the first latency.
		{"all senders at work", crowd(1000, 10), 10.005, 0.99},
		{"half of them idle, though 1000 objects are owed", crowd(1000, 5), 19.905, 0.5},
		{"too short for a rate", crowd(50, 10), 0.505, 0},
		{"senders at work on what storage has", rewriting(), 0.105, 0},
		{"one object with many changes", oneObject(), 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.cell.figures(t).Storage
			approx(t, "seconds", s.BacklogSeconds, tc.seconds, 0.003)
			if tc.efficiency == 0 && s.EfficiencyBacklog != nil {
				t.Errorf("an efficiency of %v", *s.EfficiencyBacklog)
			} else if tc.efficiency != 0 {
				approx(t, "efficiency", s.EfficiencyBacklog, tc.efficiency, 0.005)
			}
		})
	}
	late := backlog(0)
	late.ops = late.ops[50:]
	if c := late.figures(t); c.Storage.Requests != 75 {
		t.Errorf("%d requests: those before the load were counted", c.Storage.Requests)
	}
}

// rewriting is a cell in which ten senders write ten rows again and again.
func rewriting() *evidence {
	e := crowd(10, 10)
	first := e.entries
	for i := range 40 {
		for _, x := range first {
			x.Received, x.Applied, x.Responded = x.Received+int64(i+1)*100e6, x.Applied+int64(i+1)*100e6, x.Responded+int64(i+1)*100e6
			e.entries = append(e.entries, x)
		}
	}
	e.cell.DrainEnd = at(5000)
	return e
}

// oneObject has hundred changes of one object, which wait for each other.
func oneObject() *evidence {
	e := crowd(1, 10)
	for i := range 100 {
		rv := uint64(i + 2)
		e.ops = append(e.ops, op(oplog.TypePatch, "0", "u", rv, 0, 0, 6))
		e.entries = append(e.entries, put("0", "u", rv, float64(110+100*i), float64(210+100*i)))
	}
	e.cell.DrainEnd = at(11_000)
	return e
}

// TestDrainEndsWithWhatWasOwed: a new watcher writes every row again, which storage had already. The drain ends before.
func TestDrainEndsWithWhatWasOwed(t *testing.T) {
	e := rewriting()
	e.cell.Watcher.Restarts = 1
	c := e.figures(t)
	approx(t, "drain", c.Handler.DrainSeconds, 0.11, 0.001)
	approx(t, "drain after load", c.Handler.DrainAfterLoad, 0.105, 0.001)
}

// TestCutCellIsProjected: from the events still owed, and not from the operations: a deletion is two events where the
// terminating state is seen.
func TestCutCellIsProjected(t *testing.T) {
	c := backlog(12_000).figures(t)
	if !c.Cut || !c.Handler.DrainProjected || *c.Handler.Owed != 41 {
		t.Fatalf("%+v", c.Handler)
	}
	approx(t, "fraction", &c.CutFraction, 0.59, 0.001)
	// 41 are owed at 12 s; one takes 200 ms, and 59 came between 0.2 s and 11.8 s.
	approx(t, "projected drain", c.Handler.DrainSeconds, 12+41*11.6/59, 0.01)
	none := backlog(12_000)
	none.entries = nil
	if c = none.figures(t); c.Handler.DrainSeconds != nil || c.Handler.DrainProjected || c.Valid {
		t.Errorf("nothing arrived: drain %v, projected %v, valid %v", value(c.Handler.DrainSeconds), c.Handler.DrainProjected, c.Valid)
	}

	e := deletions(100)
	c = e.figures(t)
	approx(t, "drain", c.Handler.DrainSeconds, 30.005, 0.001)
	early := deletions(100)
	early.cell.Cut, early.cell.DrainEnd, early.entries = true, at(250), early.entries[:2]
	early.entries[1] = put("1", "u", 5, 105, 205) // and no deletion so far
	if c = early.figures(t); *c.Handler.Owed != 298 {
		t.Errorf("%d owed before the first deletion, want 298", *c.Handler.Owed)
	}
	for cut := range 5 {
		e = deletions(100)
		e.cell.Cut, e.cell.DrainEnd = true, at(float64(cut+1)*5000)
		n := (cut + 1) * 50 // requests answered by then, apart from one under way
		e.entries = e.entries[:n-1]
		c = e.figures(t)
		if owed := int64(300 - n + 1); *c.Handler.Owed < owed-1 || *c.Handler.Owed > owed {
			t.Errorf("cut after %d s: %d owed, want %d", (cut+1)*5, *c.Handler.Owed, owed)
		}
		approx(t, fmt.Sprintf("projected drain after %d s", (cut+1)*5), c.Handler.DrainSeconds, 30, 0.7)
	}
}

// TestCutAfterThePods: a cell that waited for other kinds only when it was cut has a drain of Pods that was measured.
func TestCutAfterThePods(t *testing.T) {
	whole := deletions(10).figures(t)
	e := deletions(10)
	e.cell.Cut, e.cell.DrainEnd = true, at(60_000)
	c := e.figures(t)
	if c.Handler.DrainProjected || *c.Handler.Owed != 0 || c.CutFraction != 1 || *c.Handler.DrainSeconds != *whole.Handler.DrainSeconds || *c.Handler.DrainAfterLoad != *whole.Handler.DrainAfterLoad {
		t.Errorf("%+v, drain %v, want %v", c.Handler, *c.Handler.DrainSeconds, *whole.Handler.DrainSeconds)
	}
}

// deletions is a cell in which a single sender of 100 ms is given n objects that are created and deleted, object by
// object: 2n operations, 3n events.
func deletions(n int) *evidence {
	e := crowd(1, 1)
	e.ops, e.entries = nil, nil
	for i := range n {
		name, rv, r := fmt.Sprint(i), uint64(4*i+1), float64(5+300*i)
		e.ops = append(e.ops, op(oplog.TypeCreate, name, "u", rv, 0, 0, 1), op(oplog.TypeDelete, name, "u", rv, 0, 2, 3))
		gone := put(name, "u", rv+1, r+200, r+300)
		gone.Method, gone.Effect = "DELETE", "deleted"
		e.entries = append(e.entries, put(name, "u", rv, r, r+100), put(name, "u", rv+1, r+100, r+200), gone)
	}
	e.cell.DrainEnd = at(float64(300*n + 200))
	return e
}

// TestUnion: patches of one object that were under way at once are one stretch.
func TestUnion(t *testing.T) {
	var got []stretch
	union([]stretch{{30, 40}, {5, 10}, {7, 20}, {20, 22}, {50, 45}}, func(from, to int64) { got = append(got, stretch{from, to}) })
	if fmt.Sprint(got) != "[{5 22} {30 40}]" {
		t.Errorf("%v", got)
	}
}
