package gate

import (
	"math"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// quiet is noise with which a pair passes.
var quiet = noise{sigma: 0.005}

// TestKnownBad: two saved runs that PASS, broken in one way each. None may pass.
func TestKnownBad(t *testing.T) {
	base, changed := saved(1, quiet, 6, planted{})
	if v := mustSaved(t, base, changed); v.Outcome != Pass {
		t.Fatalf("the pair itself: %s: %s", v.Outcome, v.Sentence())
	}
	each := func(edit func(c *result.Cell)) func(res *result.Results) {
		return func(res *result.Results) {
			for i := range res.Cells {
				edit(&res.Cells[i])
			}
		}
	}
	for _, tt := range []struct {
		name string
		edit func(changed *result.Results)
		want Outcome
		says string
	}{
		{"another schema", func(r *result.Results) { r.Schema = "watchbench/results/v2" }, Invalid, `NEW has the schema "watchbench/results/v2", not watchbench/results/v1`},
		{"no cells", func(r *result.Results) { r.Cells = nil }, Invalid, "NEW has no cells"},
		{"a cell is gone", func(r *result.Results) { r.Cells = r.Cells[1:] }, Invalid, "NEW is not whole"},
		{"interrupted", func(r *result.Results) { r.Cells, r.Run.Interrupted = r.Cells[:5], true }, Invalid, "not whole (interrupted)"},
		{"cells that nobody planned", func(r *result.Results) { r.Run.Order = r.Run.Order[:5] }, Invalid, "NEW has a cell that it was not to have"},
		{"no order", func(r *result.Results) { r.Run.Order = nil }, Invalid, "NEW does not say which cells it was to have"},
		{"another scenario", func(r *result.Results) { r.Scenario["load"].(map[string]any)["operations"] = 100.0 }, Invalid, "scenario.load.operations is 2000 and 100"},
		{"another name of the scenario", func(r *result.Results) { r.Run.Scenario = "smoke" }, Invalid, "scenario.name is synthetic and smoke"},
		{"no scenario", func(r *result.Results) { r.Scenario = nil }, Invalid, "NEW does not say what scenario it ran"},
		{"another seed", func(r *result.Results) { r.Run.Seed = 7 }, Invalid, "scenario.seed is 42 and 7"},
		{"another CPU", func(r *result.Results) { r.Environment.CPUModel = "Other" }, Invalid, "environment.cpuModel is Made-up Processor 9000 and Other"},
		{"more CPUs", func(r *result.Results) { r.Environment.CPUs = 8 }, Invalid, "environment.cpus is 2 and 8"},
		{"another provider", func(r *result.Results) { r.Environment.Provider = "kind" }, Invalid, "environment.provider is replay and kind"},
		{"another Kubernetes", func(r *result.Results) { r.Environment.Kubernetes = "v1.30.0" }, Invalid, "environment.kubernetes is v1.36.3 and v1.30.0"},
		{"another kernel", func(r *result.Results) { r.Environment.Kernel = "5.4" }, Invalid, "environment.kernel"},
		{"another commit of the tool", func(r *result.Results) { r.Environment.Commit = "fedc" }, Invalid, "environment.commit"},
		{"another build of the tool", func(r *result.Results) { r.Environment.Programs["storagemock"] = "ee" }, Invalid, "environment.programs.storagemock is bb and ee"},
		{"no environment", func(r *result.Results) { r.Environment = result.Environment{} }, Invalid, "NEW does not say where it ran"},
		{"resumed elsewhere", func(r *result.Results) {
			e := r.Environment
			e.CPUs = 64
			r.Run.Resumed = []result.Resumption{{Environment: e}}
		}, Invalid, "NEW, as resumed, differs from BASE in what mayDiffer does not name: environment.cpus is 2 and 64"},
		{"other flags", func(r *result.Results) { r.Environment.Flags = []string{"--v=9"} }, Invalid, "environment.flags is – and [\"--v=9\"]"},
		{"another point", each(func(c *result.Cell) { c.Params["load"] = "dark" }), Invalid, "cells (load=dark): BASE has none at this point"},
		{"all invalid", each(func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"too late"} }), Invalid, "6 of 6 cells of NEW are invalid, 20% may be: too late"},
		{"a third invalid", func(r *result.Results) {
			for i := range 2 {
				r.Cells[i].Valid, r.Cells[i].InvalidReasons = false, []string{"too late"}
			}
		}, Invalid, "2 of 6 cells of NEW are invalid"},
		{"one invalid leaves too few", func(r *result.Results) { r.Cells[0].Valid, r.Cells[0].InvalidReasons = false, []string{"too late"} }, Inconclusive, "5 repetitions of each side, 6 are needed"},
		{"an open loop that lags", each(func(c *result.Cell) { c.Load.Model, c.Load.LagMs = "open", &result.Quantiles{Count: 2000, P99: 900} }), Invalid, "6 of 6 cells of NEW are invalid, 20% may be: behind the plan"},
		{"an open loop whose lag is not known", each(func(c *result.Cell) { c.Load.Model = "open" }), Invalid, "6 of 6 cells of NEW are invalid, 20% may be: behind the plan, or nobody knows by how much"},
		{"no CPU", each(func(c *result.Cell) { c.Watcher.CPUMicrosPerEvent = nil }), Invalid, "watcher.cpuMicrosPerEvent (load=light): missing in 6 of 6 cells of NEW"},
		{"no CPU in one cell", func(r *result.Results) { r.Cells[3].Watcher.CPUMicrosPerEvent = nil }, Invalid, "missing in 1 of 6 cells of NEW"},
		{"CPU zero", each(func(c *result.Cell) { c.Watcher.CPUMicrosPerEvent = new(0.0) }), Invalid, "0 in a cell of NEW, so not measured"},
		{"no requests", each(func(c *result.Cell) { c.Storage.RequestsPerEvent = nil }), Invalid, "storage.requestsPerEvent (load=light): missing"},
		{"requests zero", each(func(c *result.Cell) { c.Storage.RequestsPerEvent = new(0.0) }), Invalid, "0 in a cell of NEW"},
		{"no freshness", each(func(c *result.Cell) { c.Freshness = nil }), Invalid, "freshness.p50 (load=light): missing"},
		{"no drain", each(func(c *result.Cell) { c.Handler.DrainSeconds = nil }), Invalid, "handler.drainSeconds (load=light): missing"},
		{"no LIST calls", each(func(c *result.Cell) { c.Watcher.Lists = nil }), Invalid, "watcher.lists (load=light): missing"},
		{"all cut", each(func(c *result.Cell) { c.Cut, c.Handler.DrainProjected, c.CutFraction = true, true, 0.5 }), Fail, "6 of 6 cells of NEW were not drained within the scenario's limit, 0 of BASE"},
		{"loss was not judged", each(func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.NotJudged, Note: "cut"} }), Invalid, "G1 (load=light): judged in no cell of NEW (cut), in 6 of BASE"},
		{"order had no power", each(func(c *result.Cell) {
			c.Checks["G2"] = result.Check{Verdict: result.NoPower, Power: new(int64(3)), MinPower: 30}
		}), Invalid, "G2 (load=light): judged in no cell of NEW (no power)"},
		{"no checks", each(func(c *result.Cell) { c.Checks = nil }), Invalid, "judged in no cell of NEW"},
		{"a check that judged nothing", each(func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Pass} }), Invalid, "judged in no cell of NEW"},
		{"one check missing in one cell", func(r *result.Results) { delete(r.Cells[0].Checks, "G3") }, Warn, "G3 (load=light): not judged in 1 of 6 cells of NEW"},
		{"no planned writes", each(func(c *result.Cell) { c.Load.Planned = 0 }), Invalid, "no writes were planned in a cell of NEW"},
		{"lost objects", func(r *result.Results) {
			r.Cells[2].Checks["G1"] = result.Check{Verdict: result.Fail, Judged: 2000, Violations: 1, Counterexample: "pod-7 is not in storage"}
		}, Fail, "violated in 1 of 6 cells of NEW, 0 of 6 of BASE: light-r3: pod-7 is not in storage"},
		{"lost objects in an invalid cell", func(r *result.Results) {
			c := &r.Cells[2]
			c.Checks["G1"] = result.Check{Verdict: result.Fail, Judged: 2000, Violations: 1}
			c.Valid, c.InvalidReasons = false, []string{"too late"}
		}, Fail, "violated in 1 of 6 cells of NEW"},
		{"failed writes", each(func(c *result.Cell) { c.Load.Errors = 100 }), Fail, "5 % of the load's writes failed with NEW, 0 % with BASE"},
		{"the watcher crashed", func(r *result.Results) {
			r.Cells = r.Cells[:5]
			r.Run.Crashed = []result.Crash{{ID: "light-r6", Why: "exit code 2"}}
		}, Fail, "the watcher of NEW ended by itself in light-r6: exit code 2"},
		{"every cell twice", func(r *result.Results) { r.Cells = append(r.Cells, r.Cells...) }, Invalid, "NEW has light-r1 twice"},
		{"other repetitions", each(func(c *result.Cell) { c.Repetition += 6 }), Invalid, "BASE and NEW have no repetition in common"},
		{"BASE itself", func(r *result.Results) { *r = *deep(t, base) }, Invalid, "BASE and NEW are the same run"},
		{"too few", func(r *result.Results) { r.Cells, r.Run.Order = r.Cells[:5], r.Run.Order[:5] }, Inconclusive, "5 repetitions of each side, 6 are needed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken := deep(t, changed)
			tt.edit(broken)
			v := mustSaved(t, base, broken)
			var all []string
			for _, f := range v.Problems() {
				all = append(all, v.Says(f))
			}
			text := strings.Join(append(all, v.Sentence()), "\n")
			if v.Outcome != tt.want || !strings.Contains(text, tt.says) {
				t.Errorf("%s, want %s with %q:\n%s", v.Outcome, tt.want, tt.says, text)
			}
			if tt.want == Invalid || tt.want == Inconclusive { // the other way round it is no better
				if v := mustSaved(t, broken, base); v.Outcome == Pass {
					t.Errorf("as BASE: %s: %s", v.Outcome, v.Sentence())
				}
			}
		})
	}
}

// TestMayDiffer: a rule allows what is not comparable otherwise.
func TestMayDiffer(t *testing.T) {
	base, changed := saved(1, quiet, 6, planted{})
	changed.Environment.Kernel, changed.Environment.Programs["watchbench"] = "6.13.0", "ff"
	base.Environment.Flags, changed.Environment.Flags = []string{"--v=1"}, []string{"--v=2"}
	rules := Defaults()
	for _, tt := range []struct {
		may  []string
		want Outcome
	}{{nil, Invalid}, {[]string{"environment.kernel", "environment.flags"}, Invalid}, {[]string{"environment.kernel", "environment.programs"}, Invalid},
		{[]string{"environment.kernel", "environment.flags", "environment.programs"}, Pass}, {[]string{"environment.kern", "environment.flags", "environment.programs"}, Invalid}} {
		rules.MayDiffer = tt.may
		if v, err := Saved(base, changed, nil, rules); err != nil || v.Outcome != tt.want {
			t.Errorf("%v: %s: %s, %v", tt.may, v.Outcome, v.Sentence(), err)
		}
	}
}

// TestErrorsOfNone: of cells that are all invalid it is not said that nothing was planned.
func TestErrorsOfNone(t *testing.T) {
	res := paired(1, quiet, 6, planted{})
	for i := range res.Cells {
		if c := &res.Cells[i]; c.Params[Axis] == NewSide {
			c.Valid, c.InvalidReasons = false, []string{"too late"}
		}
	}
	if f := finding(t, mustPaired(t, res), "errors"); f.Outcome != NotJudged || f.Why != "no cell of NEW counts" {
		t.Errorf("%s: %s", f.Outcome, f.Why)
	}
}

// TestPairedKnownBad: a run that holds both sides, broken.
func TestPairedKnownBad(t *testing.T) {
	whole := paired(1, quiet, 6, planted{})
	if v := mustPaired(t, whole); v.Outcome != Pass {
		t.Fatalf("the pair itself: %s: %s", v.Outcome, v.Sentence())
	}
	for _, tt := range []struct {
		name string
		edit func(r *result.Results)
		want Outcome
		says string
	}{
		{"no axis", func(r *result.Results) {
			for i := range r.Cells {
				delete(r.Cells[i].Params, Axis)
			}
		}, Invalid, "is of neither side: its watcher is not named"},
		{"one side only", func(r *result.Results) {
			r.Cells, r.Run.Order = Side(r, NewSide).Cells, nil
			for i := range r.Cells {
				r.Cells[i].Params[Axis] = NewSide
				r.Run.Order = append(r.Run.Order, r.Cells[i].ID)
			}
		}, Invalid, "BASE has none at this point"},
		{"five blocks", func(r *result.Results) { *r = *paired(1, quiet, 5, planted{}) }, Inconclusive, "5 whole blocks, 6 are needed"},
		{"an invalid cell breaks its block", func(r *result.Results) { r.Cells[4].Valid, r.Cells[4].InvalidReasons = false, []string{"late"} }, Inconclusive, "5 whole blocks, 6 are needed"},
		{"repetitions that are no blocks", func(r *result.Results) {
			for i := range r.Cells {
				r.Cells[i].Repetition = 1
			}
		}, Inconclusive, "0 whole blocks"},
		{"not in a row", func(r *result.Results) { // as without pair: watcher
			var order []string
			for _, side := range []string{NewSide, BaseSide} {
				for i := range r.Cells {
					if r.Cells[i].Params[Axis] == side {
						order = append(order, r.Cells[i].ID)
					}
				}
			}
			r.Run.Order = order
		}, Inconclusive, "0 whole blocks, 6 are needed; 6 more were not run in a row, A B B A, in one session"},
		{"another point's cells between", func(r *result.Results) { *r = *paired(1, quiet, 6, planted{}, "light", "heavy") }, Inconclusive, "0 whole blocks"},
		{"A B A B", func(r *result.Results) {
			for i := 0; i < len(r.Run.Order); i += 4 {
				r.Run.Order[i+2], r.Run.Order[i+3] = r.Run.Order[i+3], r.Run.Order[i+2]
			}
		}, Inconclusive, "0 whole blocks"},
		{"half a block was run by a resumption", func(r *result.Results) {
			r.Run.Resumed = []result.Resumption{{Environment: r.Environment}}
			r.Cells[6].Resumed, r.Cells[7].Resumed = 1, 1
		}, Inconclusive, "5 whole blocks"},
		{"whole blocks were run by a resumption", func(r *result.Results) {
			r.Run.Resumed = []result.Resumption{{Environment: r.Environment}}
			for i := 8; i < len(r.Cells); i++ {
				r.Cells[i].Resumed = 1
			}
		}, Pass, "NEW is not worse"},
		{"NEW makes the machine late", late(NewSide, 12), Fail, "12 of 12 cells of NEW are invalid, 0 of 12 of BASE, though they ran side by side: the generator was late"},
		{"NEW makes the machine late in most of its cells", late(NewSide, 8), Fail, "8 of 12 cells of NEW"},
		{"one cell of NEW lags", func(r *result.Results) {
			for i := range r.Cells {
				r.Cells[i].Load.Model, r.Cells[i].Load.LagMs = "open", &result.Quantiles{Count: 2000, P99: 9}
			}
			r.Cells[4].Load.LagMs.P99 = 900
		}, Inconclusive, "5 whole blocks"},
		{"NEW is late more often, as by chance", late(NewSide, 7), Invalid, "7 of 12 cells of NEW are invalid, 20% may be"},
		{"nothing is valid", func(r *result.Results) {
			for i := range r.Cells {
				c := &r.Cells[i]
				c.Valid, c.InvalidReasons, c.LateReasons = false, []string{"the generator was late"}, []string{"the generator was late"}
				c.Load.Model, c.Load.OfferedQPS = result.ModelOpen, new(3000.0)
			}
			r.Cells, r.Run.Decision = r.Cells[:8], &result.Decision{Blocks: 4, End: result.EndInvalid}
		}, Invalid, "the run: none of its 8 cells is valid: the generator was late. The machine is too slow or too busy for this load: try --set load.rate=500"},
		{"BASE is late", late(BaseSide, 12), Invalid, "12 of 12 cells of BASE are invalid"},
		{"drain and freshness of another watcher are not known", func(r *result.Results) {
			for i := range r.Cells {
				c := &r.Cells[i]
				c.Handler.Strategy, c.Handler.DrainSeconds, c.Freshness = result.External, nil, nil
			}
		}, Invalid, "missing in 12 of 12 cells of BASE"},
		{"base crashed", func(r *result.Results) {
			r.Run.Order = append(r.Run.Order, "light-base-r13")
			r.Run.Crashed = []result.Crash{{ID: "light-base-r13", Why: "exit code 2"}}
		}, Invalid, "the watcher of BASE ended by itself"},
		{"new crashed", func(r *result.Results) {
			r.Run.Order = append(r.Run.Order, "light-new-r13")
			r.Run.Crashed = []result.Crash{{ID: "light-new-r13", Why: "exit code 2"}}
		}, Fail, "the watcher of NEW ended by itself"},
	} {
		broken := deep(t, whole)
		tt.edit(broken)
		v := mustPaired(t, broken)
		if v.Outcome != tt.want || !strings.Contains(v.Sentence(), tt.says) {
			t.Errorf("%s: %s, want %s with %q: %s", tt.name, v.Outcome, tt.want, tt.says, v.Sentence())
		}
	}
	if v := mustPaired(t, nil); v.Outcome != Invalid {
		t.Errorf("no run: %s", v.Outcome)
	}
	if v := Unread(Defaults(), "base: the file is empty"); v.Outcome != Invalid || !strings.Contains(v.Sentence(), "the file is empty") {
		t.Errorf("unread: %s: %s", v.Outcome, v.Sentence())
	}
}

// late makes so many cells of a side invalid.
func late(side string, cells int) func(r *result.Results) {
	return func(r *result.Results) {
		n := 0
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Params[Axis] == side && n < cells {
				n++
				c.Valid, c.InvalidReasons = false, []string{"the generator was late"}
			}
		}
	}
}

// TestLateInAnotherSession: of two sessions, it may be the machine.
func TestLateInAnotherSession(t *testing.T) {
	base, changed := saved(1, quiet, 12, planted{})
	late("", 12)(changed)
	if v := mustSaved(t, base, changed); v.Outcome != Invalid {
		t.Errorf("%s: %s", v.Outcome, v.Sentence())
	}
}

// TestFisher: the tea that Fisher's lady tasted, and the bounds of what is a chance.
func TestFisher(t *testing.T) {
	for _, tt := range []struct {
		a, n, b, m int
		want       float64
	}{{4, 4, 0, 4, 1. / 70}, {3, 4, 1, 4, 17. / 70}, {0, 4, 4, 4, 1}, {0, 5, 0, 5, 1}, {5, 5, 5, 5, 1}, {12, 12, 0, 12, 1. / 2704156}} {
		if got := fisher(tt.a, tt.n, tt.b, tt.m); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestCrashAtOnceIsTheReason: a run whose watcher ended before its first cell says so first.
func TestCrashAtOnceIsTheReason(t *testing.T) {
	res := paired(1, usual, 6, planted{})
	res.Cells, res.Run.Crashed = nil, []result.Crash{{ID: "light-base-r1", Why: "exit code 2, see watcher.log"}}
	if v := mustPaired(t, res); !strings.Contains(v.Sentence(), "exit code 2, see watcher.log") {
		t.Error(v.Sentence())
	}
}
