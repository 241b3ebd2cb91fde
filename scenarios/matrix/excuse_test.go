package matrix

import (
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// standing is a case whose machine stood still for 2.25 s, from 4 s on.
func standing() *Case {
	m := newMachine()
	for m.now < drainEnds {
		m.run(250, full, 0, 0, 0.05)
		m.sample(0)
		if m.now == 4000 {
			m.run(2000, nobody, 0, 0, 0)
		}
	}
	c := &Case{Cell: &history.Cell{Scenario: spec.Default(), LoadFinished: loadEnds * 1e6, DrainEnd: drainEnds * 1e6}, Samples: m.samples}
	for i := range c.Samples[1:] { // only the parties' work tells
		c.Samples[i].Until = c.Samples[i+1].Time
	}
	c.Cell.Scenario.Fault = &spec.Fault{Row: "F1", Assert: []string{"T", "I"}}
	return c
}

// TestExcused: a stall excuses no more than its own length, and only what was under way.
func TestExcused(t *testing.T) {
	change := func(from, to int64) history.Change {
		return history.Change{Intended: from * 1e6, Started: from * 1e6, Finished: from * 1e6, Stored: to * 1e6, Bystander: true}
	}
	other := change(9000, 9010)
	for _, tc := range []struct {
		name    string
		changes []history.Change
		want    bool
	}{
		{"in the stall", []history.Change{change(4100, 6800), other}, true},
		{"in the stall, later than it explains", []history.Change{change(4100, 7500), other}, false},
		{"after the stall", []history.Change{change(7000, 8500), other}, false},
		{"one in the stall, a shorter one after it", []history.Change{change(4100, 6800), change(7000, 8500)}, false},
	} {
		c, seen := standing(), Seen{Measured: check.Measured{Changes: slices.Values(tc.changes)}, Figures: &result.Cell{Bystander: result.Bystander{Freshness: &result.Quantiles{}}}}
		rule := stating(func(s Seen) []result.Fact { return []result.Fact{DelayFact("longest", s.Changes, 0, 1)} })
		cell := result.Cell{Checks: map[string]result.Check{"G8": {Verdict: result.Fail}}}
		c.Baseline = &result.Cell{Bystander: result.Bystander{Freshness: &result.Quantiles{Count: 1, P99: 0.5}}}
		Fill(c, []Rule{rule}, &cell, seen)
		if len(cell.Robustness.Stalled) == 0 {
			t.Fatal("no stall")
		}
		for name, col := range cell.Robustness.Columns {
			if col.Verdict != result.Fail || col.Late != tc.want {
				t.Errorf("%s: column %s %+v, want late %v", tc.name, name, col, tc.want)
			}
		}
	}
	// A figure of which only the length is known is held to all that was lost.
	for value, want := range map[float64]bool{3.2: true, 3.3: false} {
		c, cell := standing(), result.Cell{}
		Fill(c, []Rule{stating(func(Seen) []result.Fact { return []result.Fact{Within("T", "catch-up", "s", value, 1)} })}, &cell, Seen{Figures: &cell})
		if got := cell.Robustness.Columns["T"].Late; got != want {
			t.Errorf("catch-up of %v s: late %v", value, got)
		}
	}
}

// TestLateLoad: a generator that was later than the machine stood still has no second try.
func TestLateLoad(t *testing.T) {
	for lag, want := range map[float64]int{2300: 1, 2700: 0} {
		c := standing()
		cell := result.Cell{LateReasons: []string{"late"}, InvalidReasons: []string{"late"}, Load: result.Load{LagMs: &result.Quantiles{P99: lag}}}
		Fill(c, nil, &cell, Seen{Figures: &cell})
		if got := len(cell.LateReasons); got != want {
			t.Errorf("%v ms late: %d reasons that a stall explains, want %d", lag, got, want)
		}
	}
	c := standing()
	offered := 100.0
	cell := result.Cell{LateReasons: []string{"slow"}, Load: result.Load{PlannedQPS: &offered, QPS: 50, DurationS: 10}}
	if Fill(c, nil, &cell, Seen{Figures: &cell}); len(cell.LateReasons) != 0 {
		t.Error("half of the load is missing, and a stall of 2 s explains it")
	}
}

// TestLostTime: what was stolen or taken by others counts where it happened, and only where
// the whole cell shows it.
func TestLostTime(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		foreign, steal, delay float64
		in, after             time.Duration // lost from 4 s to 8 s, and later
	}{
		{"stolen", 0, 0.5, 0, 2 * time.Second, 0},
		{"hardly stolen", 0, 0.1, 0, 0, 0},
		{"others", 1.9, 0, 12, 4 * time.Second, 0},
		{"others, too little of the whole", 1.4, 0, 4, 0, 0},
		{"nothing", 0, 0, 0, 0, 0},
	} {
		m := newMachine()
		for m.now < drainEnds {
			if m.now >= 4000 && m.now < 8000 {
				m.run(250, full, tc.foreign, tc.steal, tc.delay)
			} else {
				m.run(250, full, 0, 0, 0.05)
			}
			m.sample(250)
		}
		c := &Case{Cell: &history.Cell{Scenario: spec.Default(), LoadFinished: loadEnds * 1e6, DrainEnd: drainEnds * 1e6}, Samples: m.samples}
		all := lostTime(c)
		if in, after := all.within(result.Span{From: 4e9, To: 8e9}).Round(time.Millisecond), all.within(result.Span{From: 8e9, To: 15e9}); in != tc.in || after != tc.after {
			t.Errorf("%s: %s and %s lost, want %s and %s", tc.name, in, after, tc.in, tc.after)
		}
	}
}
