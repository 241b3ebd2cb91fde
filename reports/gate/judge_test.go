package gate

import (
	"math"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

func TestOutcomeOfOneFigure(t *testing.T) {
	for _, tt := range []struct {
		name  string
		noise noise
		p     planted
		of    string
		want  Outcome
		says  string
	}{
		{"true regression of 10 %", usual, planted{cpu: 1.1}, "watcher.cpuMicrosPerEvent", Fail, "(90 % interval +"},
		{"within what is allowed", quiet, planted{cpu: 1.01}, "watcher.cpuMicrosPerEvent", Pass, ""},
		{"at what is allowed", noise{sigma: 0.01}, planted{cpu: 1.033}, "watcher.cpuMicrosPerEvent", Warn, "interval +1.9 % to +3.5 %, +2.0 % allowed"},
		{"improved", quiet, planted{cpu: 0.8}, "watcher.cpuMicrosPerEvent", Pass, ""},
		{"too much noise", noise{sigma: 0.5}, planted{cpu: 1.8}, "watcher.cpuMicrosPerEvent", Inconclusive, "too much noise: an interval of ±"},
		{"slower drain", quiet, planted{drain: 1.3}, "handler.drainSeconds", Fail, "interval +29.4 % to +31.0 %, +10.0 % allowed"},
		{"older in storage", quiet, planted{fresh: 1.3}, "freshness.p50", Fail, "interval +29.1 % to +30.3 %, +10.0 % allowed"},
		{"one request more in a hundred", quiet, planted{requests: 0.01}, "storage.requestsPerEvent", Fail, "+1.0 %, an exact count (+0.1 % allowed)"},
		{"fewer requests", quiet, planted{requests: -0.5}, "storage.requestsPerEvent", Pass, ""},
	} {
		v := mustPaired(t, paired(4, tt.noise, 6, tt.p))
		f := finding(t, v, tt.of)
		if f.Outcome != tt.want || !strings.Contains(v.Says(*f), tt.says) {
			t.Errorf("%s: %s %s, want %s with %q", tt.name, f.Outcome, v.Says(*f), tt.want, tt.says)
		}
		if improved := tt.name == "improved" || tt.name == "fewer requests"; f.Improved != improved {
			t.Errorf("%s: improved is %v", tt.name, f.Improved)
		}
		if tt.want == Fail && v.Outcome != Fail {
			t.Errorf("%s: as a whole %s", tt.name, v.Outcome)
		}
	}
}

// TestHigherIsBetter: direction and limit of a rate.
func TestHigherIsBetter(t *testing.T) {
	rules, err := parse("r.yaml", []byte("metrics: {storage.qps: {kind: noisy, allow: 10%, detect: 50%}}"), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for qps, want := range map[float64]Outcome{0.8: Fail, 0.97: Pass, 1.3: Pass} {
		v, err := Paired(paired(4, quiet, 6, planted{qps: qps}), rules)
		if err != nil {
			t.Fatal(err)
		}
		if f := finding(t, v, "storage.qps"); f.Outcome != want || f.Improved != (qps > 1.1) || v.Outcome != want {
			t.Errorf("%v of the rate: %s, improved %v: %s", qps, f.Outcome, f.Improved, v.Sentence())
		}
	}
}

// TestHolm: the p-values of Holm's own example grow by how many are left, and never shrink.
func TestHolm(t *testing.T) {
	all := []*Finding{{Holm: 0.01}, {Holm: 0.04}, {Holm: 0.03}, {Holm: 0.005}}
	holm(all)
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(all[i].Holm-want) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, all[i].Holm, want)
		}
	}
}

// TestHolmHoldsBack: a figure that would FAIL alone does not among many.
func TestHolmHoldsBack(t *testing.T) {
	alone, err := parse("r.yaml", []byte("metrics: {handler.drainSeconds: {skip: true}, freshness.p50: {skip: true}, handler.gapSeconds: {skip: true}, watcher.allocsPerEvent: {skip: true}}"), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for effect := 1.03; effect < 1.15; effect += 0.002 {
		res := paired(13, noise{sigma: 0.03}, 6, planted{cpu: effect})
		v, err := Paired(res, alone)
		if err != nil {
			t.Fatal(err)
		}
		one, many := finding(t, v, "watcher.cpuMicrosPerEvent"), finding(t, mustPaired(t, res), "watcher.cpuMicrosPerEvent")
		if one.Outcome == Fail && many.Outcome == Warn && strings.Contains(many.Why, "among 5 figures") {
			return
		}
		if many.Outcome == Fail {
			break
		}
	}
	t.Error("no effect FAILs alone and is a WARN among five figures")
}

// TestControl: a session whose two halves differ by more than would fail a change.
func TestControl(t *testing.T) {
	slow := func(res *result.Results, when func(c *result.Cell) bool) *result.Results {
		for i := range res.Cells {
			if c := &res.Cells[i]; when(c) {
				*c.Watcher.CPUMicrosPerEvent *= 1.5
			}
		}
		return res
	}
	// The first cells of each block of BASE are slow in odd blocks, the second in even ones: a
	// steady drift would fall out, this does not.
	res := slow(paired(2, quiet, 8, planted{requests: 1}), func(c *result.Cell) bool {
		return c.Params[Axis] == BaseSide && (c.Repetition%4 == 1 || c.Repetition%4 == 0)
	})
	v := mustPaired(t, res)
	cpu := finding(t, v, "watcher.cpuMicrosPerEvent")
	if v.Control.Outcome != Invalid || cpu.Outcome != Invalid || !strings.Contains(cpu.Why, "watcher.cpuMicrosPerEvent of BASE differs from itself by") {
		t.Errorf("control %s, CPU %s: %s", v.Control.Outcome, cpu.Outcome, cpu.Why)
	}
	if f := finding(t, v, "handler.drainSeconds"); f.Outcome != Invalid {
		t.Errorf("drain is %s: the whole session is in doubt", f.Outcome)
	}
	if f := finding(t, v, "storage.requestsPerEvent"); f.Outcome != Fail || v.Outcome != Fail {
		t.Errorf("an exact count needs no control: %s", f.Outcome)
	}

	base, changed := saved(1, quiet, 6, planted{})
	odd := slow(deep(t, base), func(c *result.Cell) bool { return c.Repetition%2 == 1 })
	if v := mustSaved(t, odd, changed); v.Control.Outcome != Invalid || v.Outcome != Invalid {
		t.Errorf("odd repetitions are slow: %s: %s", v.Outcome, v.Sentence())
	}
	again := deep(t, base)
	again.Run.ID = "base-again"
	for _, tt := range []struct {
		name    string
		control *result.Results
		want    Outcome
		says    string
	}{
		{"alike", again, Pass, "NEW is not worse"},
		{"slower by itself", slow(deep(t, again), func(*result.Cell) bool { return true }), Invalid, "watcher.cpuMicrosPerEvent of BASE differs from itself by +50.0 %"},
		{"base itself", base, Invalid, "the control is not a second run of BASE"},
		{"NEW itself", changed, Invalid, "the control is not a second run of BASE"},
		{"of another machine", func() *result.Results { r := deep(t, again); r.Environment.CPUs = 64; return r }(), Invalid, "the control differs from BASE in what mayDiffer does not name: environment.cpus is 2 and 64"},
	} {
		v, err := Saved(base, changed, tt.control, Defaults())
		if err != nil || v.Outcome != tt.want || !strings.Contains(v.Sentence(), tt.says) {
			t.Errorf("%s: %s: %s, %v", tt.name, v.Outcome, v.Sentence(), err)
		}
	}
	rules := Defaults()
	rules.Repeats = 3
	base, changed = saved(1, quiet, 4, planted{})
	if v, err := Saved(base, changed, nil, rules); err != nil || v.Outcome != Inconclusive || !strings.Contains(v.Sentence(), "--control takes a second run of BASE") {
		t.Errorf("four repetitions have no halves: %s: %s, %v", v.Outcome, v.Sentence(), err)
	}
}

// TestNotExact: a count that varies by itself is judged by its interval.
func TestNotExact(t *testing.T) {
	res := paired(5, quiet, 6, planted{})
	for i := range res.Cells {
		*res.Cells[i].Storage.RequestsPerEvent = 1 + 0.02*float64(i%5)
	}
	f := finding(t, mustPaired(t, res), "storage.requestsPerEvent")
	if f.Kind != KindNoisy || f.Outcome != Warn || !strings.Contains(f.Why, "not exact here") {
		t.Errorf("%s, %s: %s", f.Kind, f.Outcome, f.Why)
	}
	// Each plan has a count of its own: exact all the same.
	res = paired(5, quiet, 6, planted{})
	for i := range res.Cells {
		*res.Cells[i].Storage.RequestsPerEvent = 1 + 0.1*float64(res.Cells[i].Repetition)
	}
	if f := finding(t, mustPaired(t, res), "storage.requestsPerEvent"); f.Kind != KindExact || f.Outcome != Pass {
		t.Errorf("%s, %s: %s", f.Kind, f.Outcome, f.Why)
	}
}

// TestEventsCountedTwice: NEW does twice the work for each event and counts each twice, so
// that no figure per event shows it. The count itself does.
func TestEventsCountedTwice(t *testing.T) {
	res := paired(3, quiet, 6, planted{requests: 1, cpu: 2})
	for i := range res.Cells {
		c := &res.Cells[i]
		if c.Params[Axis] == NewSide {
			c.Events.Received, c.Events.Filtered = 4000, 2000 // so that G6 holds
			*c.Storage.RequestsPerEvent /= 2
			*c.Storage.BytesPerEvent /= 2
			*c.Watcher.CPUMicrosPerEvent /= 2
			*c.Watcher.AllocsPerEvent /= 2
		}
	}
	v := mustPaired(t, res)
	if f := finding(t, v, "watcher.cpuMicrosPerEvent"); f.Outcome != Pass {
		t.Errorf("CPU per event is %s, so this shows nothing", f.Outcome)
	}
	if want := "NEW is worse than BASE: events.received / load.done (load=light) +100.0 %, an exact count"; v.Outcome != Fail || !strings.Contains(v.Sentence(), want) {
		t.Errorf("%s: %s, want %s", v.Outcome, v.Sentence(), want)
	}
}

// TestNotEverywhere: a count that is worse in a few repetitions says so.
func TestNotEverywhere(t *testing.T) {
	res := paired(5, quiet, 6, planted{})
	for i := range res.Cells {
		if c := &res.Cells[i]; c.Params[Axis] == NewSide && c.Repetition < 3 {
			*c.Watcher.Lists = 3
		}
	}
	if v := mustPaired(t, res); v.Outcome != Warn || !strings.Contains(v.Sentence(), "watcher.lists (load=light) 0 %, an exact count (0 % allowed): worse in 2 of 12 repetitions") {
		t.Errorf("%s: %s", v.Outcome, v.Sentence())
	}
}

// TestStage: the verdict says which stage of a change's path got slower.
func TestStage(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    planted
		says string
	}{
		{"2 ms more for each request", planted{gap: 7, fresh: 1.03}, ": slower: the watcher, from storage's answer to its next request +"},
		{"storage", planted{storage: 1.3, fresh: 1.3}, ": slower: storage's answer +30.0 %"},
		{"a queue", planted{fresh: 1.3}, ": slower: waiting in the watcher's queues"},
	} {
		if v := mustPaired(t, paired(3, quiet, 8, tt.p)); v.Outcome != Fail || !strings.Contains(v.Sentence(), tt.says) {
			t.Errorf("%s: %s: %s", tt.name, v.Outcome, v.Sentence())
		}
	}
}

// TestAnotherWatcher: what a watcher does not tell is judged by what anybody can count, or
// listed as not judged; of our own watcher it is INVALID.
func TestAnotherWatcher(t *testing.T) {
	res := paired(6, quiet, 6, planted{requests: 0.5})
	for i := range res.Cells {
		c := &res.Cells[i]
		c.Storage.RequestsPerEvent, c.Storage.BytesPerEvent, c.Watcher.CPUMicrosPerEvent, c.Watcher.AllocsPerEvent, c.Events = nil, nil, nil, nil, nil
	}
	if f := finding(t, mustPaired(t, res), "storage.requestsPerEvent"); f.Outcome != Invalid {
		t.Errorf("of our own watcher: %s", f.Outcome)
	}
	for i := range res.Cells {
		res.Cells[i].Handler.Strategy = result.External
	}
	v := mustPaired(t, res)
	if f := finding(t, v, "storage.requests / load.done"); f.Outcome != Fail || *f.Base != 1 || *f.New != 1.5 {
		t.Errorf("requests: %s", v.Says(*f))
	}
	if f := finding(t, v, "watcher.cpuSeconds / load.done"); f.Outcome != Pass {
		t.Errorf("CPU: %s: %s", f.Outcome, v.Says(*f))
	}
	if n := len(v.Unjudged()); n != 3 {
		t.Errorf("%d figures are listed as not judged, want events, bytes and allocations", n)
	}
	// One side alone has lost it.
	res.Cells[0].Watcher.AllocsPerEvent = new(100.0)
	if f := finding(t, mustPaired(t, res), "watcher.allocsPerEvent"); f.Outcome != Invalid {
		t.Errorf("known in one cell: %s", f.Outcome)
	}
}

// TestInvariantsOfBoth: a fault that was there before is a fault.
func TestInvariantsOfBoth(t *testing.T) {
	fail := result.Check{Verdict: result.Fail, Judged: 2000, Violations: 3, Counterexample: "pod-1: 7 after 9"}
	res := paired(7, quiet, 6, planted{})
	base := func(i int) bool { return res.Cells[i].Params[Axis] == BaseSide }
	for i := range res.Cells {
		if base(i) {
			res.Cells[i].Checks["G2"] = fail
		}
	}
	if v := mustPaired(t, res); v.Outcome != Warn || !strings.Contains(v.Sentence(), "violated in 12 of 12 cells of BASE, in none of NEW") {
		t.Errorf("fixed: %s: %s", v.Outcome, v.Sentence())
	}
	for i := range res.Cells {
		res.Cells[i].Checks["G2"] = fail
	}
	if v := mustPaired(t, res); v.Outcome != Fail || !strings.Contains(v.Sentence(), "violated in 12 of 12 cells of NEW, 12 of 12 of BASE: ") {
		t.Errorf("on both: %s: %s", v.Outcome, v.Sentence())
	}
	for i := range res.Cells {
		c := fail
		c.Verdict = result.Allowed
		if res.Cells[i].Checks["G2"] = c; base(i) {
			res.Cells[i].Checks["G2"] = result.Check{Verdict: result.Pass, Judged: 2000}
		}
	}
	if v := mustPaired(t, res); v.Outcome != Warn || !strings.Contains(v.Sentence(), "as the scenario allows") {
		t.Errorf("allowed: %s: %s", v.Outcome, v.Sentence())
	}
}
