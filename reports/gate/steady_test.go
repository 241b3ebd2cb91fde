package gate

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// shaken is what cells of one second showed on two shared cores: CPU per event varied by 7 %
// between equal cells, of which 3 % were left as a part of what generator and storage used.
var shaken = noise{sigma: 0.02, related: 0.4, machine: 0.06}

// long is the same of cells of three seconds, at the quiet end of what they showed while the load average was 12 to 20:
// 2.0 to 2.9 % were left between blocks.
var long = noise{sigma: 0.016, related: 0.4, machine: 0.06}

// TestAims: what must be found in nine of ten gates of 16 blocks, and what in none of 200.
func TestAims(t *testing.T) {
	const runs = 200
	for _, tt := range []struct {
		name        string
		p           planted
		least, most int // FAIL
	}{
		{"the same", planted{}, 0, 0},
		{"5 % more CPU", planted{cpu: 1.05}, runs * 9 / 10, runs},
		{"2 ms more for each request of 0.3 ms", planted{gap: 7.7}, runs * 9 / 10, runs},
	} {
		counts := map[Outcome]int{}
		for seed := range uint64(runs) {
			counts[mustPaired(t, paired(1000+seed, long, 16, tt.p)).Outcome]++
		}
		if t.Logf("%s: %v", tt.name, counts); counts[Fail] < tt.least || counts[Fail] > tt.most {
			t.Errorf("%s: %v, want %d to %d FAIL of %d", tt.name, counts, tt.least, tt.most, runs)
		}
	}
}

// outcomes counts what the gate says of so many runs.
func outcomes(t *testing.T, runs, blocks int, n noise, p planted, change func(*result.Results)) map[Outcome]int {
	t.Helper()
	counts := map[Outcome]int{}
	for seed := range uint64(runs) {
		res := paired(seed, n, blocks, p)
		if change != nil {
			change(res)
		}
		counts[finding(t, mustPaired(t, res), "watcher.cpuMicrosPerEvent").Outcome]++
	}
	return counts
}

func unknown(res *result.Results) {
	for i := range res.Cells {
		res.Cells[i].Parties = nil
	}
}

// TestNoiseOfTheMachineFallsOut: what slows all processes alike hides neither that nothing
// changed nor a change of 7 %, which it does where the others' CPU time is not known.
func TestNoiseOfTheMachineFallsOut(t *testing.T) {
	const runs = 200
	same, changed := planted{}, planted{cpu: 1.07}
	with, without := outcomes(t, runs, 12, shaken, same, nil), outcomes(t, runs, 12, shaken, same, unknown)
	t.Logf("nothing changed: %v, by itself %v", with, without)
	if with[Fail] > runs/100 || with[Pass] < runs*3/5 || without[Pass] > runs*2/5 {
		t.Error("nothing changed: want hardly any FAIL, and PASS mostly, but by itself in less than half")
	}
	with, without = outcomes(t, runs, 12, shaken, changed, nil), outcomes(t, runs, 12, shaken, changed, unknown)
	t.Logf("7 %% more CPU: %v, by itself %v", with, without)
	if with[Fail] < runs*9/10 || without[Fail] > runs/2 || with[Pass] > 0 {
		t.Error("7 % more CPU: want FAIL in nine of ten, by itself in less than half")
	}
	quiet := shaken
	quiet.machine = 0.001
	for _, n := range []noise{shaken, quiet} {
		// Half of the change in the yardstick makes it look smaller, not larger.
		for _, others := range []float64{1, 1.015} {
			just := outcomes(t, 2*runs, 8, n, planted{cpu: 1.02, others: others}, nil)
			t.Logf("what is just allowed, shared noise %g, others × %g: %v", n.machine, others, just)
			if just[Fail] > 2*runs/20 {
				t.Errorf("what is just allowed, shared noise %g, others × %g: %v, want at most 5 %% FAIL", n.machine, others, just)
			}
		}
		if half := outcomes(t, runs, 8, n, planted{cpu: 1.1, others: 1.05}, nil); half[Pass] > runs/50 {
			t.Errorf("10 %% more CPU, half of it in the yardstick, shared noise %g: %v, want hardly any PASS", n.machine, half)
		}
	}
}

// TestSharedHarmIsSeen: a change that makes storage and generator work harder in the same
// measure, as a connection for each request would, does not hide behind them.
func TestSharedHarmIsSeen(t *testing.T) {
	const runs = 200
	for _, tt := range []struct {
		by     float64
		blocks int
		fail   int // at least, of 200
	}{{1.3, 8, 180}, {1.15, 16, 180}, {1.1, 16, 100}, {1.1, 6, 10}} {
		counts := outcomes(t, runs, tt.blocks, shaken, planted{cpu: tt.by, others: tt.by}, nil)
		t.Logf("%.2f in %d blocks: %v", tt.by, tt.blocks, counts)
		if counts[Pass] > runs/50 || counts[Fail] < tt.fail {
			t.Errorf("%.2f in %d blocks: %v; want hardly any PASS and %d FAIL", tt.by, tt.blocks, counts, tt.fail)
		}
	}
}

// TestYardstickMayBeMissing: where one cell does not tell what a party used, the figure is judged by itself.
func TestYardstickMayBeMissing(t *testing.T) {
	res := paired(1, shaken, 8, planted{})
	res.Cells[3].Parties["generator"] = result.Party{}
	f := finding(t, mustPaired(t, res), "watcher.cpuMicrosPerEvent")
	if strings.Contains(f.Why, "relative") || f.Ratio == nil || f.N != 8 {
		t.Errorf("judged relative to what is not known: %+v", f)
	}
}

// TestCheaperYardstickBlamesNobody: generator and storage that use less CPU beside NEW make its part of the CPU time
// larger, and are no harm by NEW.
func TestCheaperYardstickBlamesNobody(t *testing.T) {
	const runs = 100
	if counts := outcomes(t, runs, 12, shaken, planted{others: 0.8}, nil); counts[Fail] > runs/50 {
		t.Errorf("an unchanged watcher beside a cheaper yardstick: %v", counts)
	}
}

// TestNoisyStageIsNotNamed: a stage whose time is only noisy is not what got slower.
func TestNoisyStageIsNotNamed(t *testing.T) {
	res := paired(3, quiet, 8, planted{fresh: 1.3})
	for i := range res.Cells {
		if c := &res.Cells[i]; c.Params[Axis] == NewSide {
			*c.Handler.GapSeconds *= []float64{2, 2, 1.5, 0.4}[(c.Repetition-1)/2%4]
		}
	}
	f := finding(t, mustPaired(t, res), "freshness.p50")
	if f.Outcome != Fail || f.Why != "slower: waiting in the watcher's queues" {
		t.Errorf("%s: %s", f.Outcome, f.Why)
	}
}
