package measure

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

// closed is a closed load of writes of one object each, every gap ms, for which one sender needs took ms each.
func closed(writes int, gap, took float64) *evidence {
	e := backlog(0)
	e.cell.Planned = 0
	e.cell.Scenario.Load.StageGap = spec.Duration((gap - 5) * 1e6)
	e.ops, e.entries = nil, nil
	free := 0.0
	for i := range writes {
		t := float64(i) * gap
		e.ops = append(e.ops, op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), t, t, t+5))
		free = max(free, t+5) + took
		e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), free-took, free))
	}
	e.cell.DrainEnd = at(free)
	return e
}

// paced is an open load of ten writes per second for 10 s, one object each, for which one sender needs took ms each.
func paced(took float64) *evidence {
	e := closed(100, 100, took)
	e.cell.Planned = 100
	e.cell.Scenario.Load.Model = result.ModelOpen
	return e
}

// merged is the same load on 20 objects; each request has the latest of five states.
func merged() *evidence {
	e := paced(50)
	e.entries = nil
	for i := range e.ops {
		e.ops[i].Name = fmt.Sprint(i / 5)
		if i%5 == 4 {
			t := float64(i) * 100
			e.entries = append(e.entries, put(e.ops[i].Name, "u", uint64(i+1), t+10, t+60))
		} else {
			e.ops[i].Type = oplog.TypePatch
		}
	}
	return e
}

// stalled keeps up until everything stands still for the last half second.
func stalled() *evidence {
	e := paced(50)
	for i := range e.entries[95:] {
		e.entries[95+i] = put(fmt.Sprint(95+i), "u", uint64(96+i), 10_000, 10_050)
	}
	return e
}

// TestPace: a backlog that grows over the second half of an open load is one that storage does not keep up with,
// whatever the drain makes good later.
func TestPace(t *testing.T) {
	for _, tc := range []struct {
		name         string
		cell         *evidence
		keeps        bool
		growth, sent float64
	}{
		{"carried", paced(90), true, 0, 1},
		{"twice what is carried", paced(200), false, 5, 1},
		{"a tenth too much", paced(112), false, 1.07, 1},
		{"a stall at the end", stalled(), true, 0.25, 1},
		{"the latest state only", merged(), true, 0, 0.2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := tc.cell.figures(t).Pace
			if p == nil {
				t.Fatal("nothing is said")
			}
			if p.KeepsUp != tc.keeps {
				t.Errorf("keeps up: %v", p.KeepsUp)
			}
			approx(t, "written", &p.WrittenQPS, 10, 0.2)
			approx(t, "growth", &p.GrowthQPS, tc.growth, 0.15)
			approx(t, "sent per event", p.SentPerEvent, tc.sent, 0.001)
		})
	}
	faulty := paced(90)
	faulty.cell.Scenario.Watch.Faults = []string{"close(1s,5s)"}
	short := paced(90)
	short.ops, short.entries = short.ops[:15], short.entries[:15]
	burst, ramp, stalling := paced(200), paced(90), paced(90)
	burst.cell.Scenario.Load.Steps = []plan.RateStep{{Length: 1e9, Rate: 90}, {Length: 1e9}}
	ramp.cell.Scenario.Load.Steps = []plan.RateStep{{Length: 1e9, Rate: 90, From: ptr(1.0)}}
	stalling.cell.Scenario.Storage.Latency = "slow(5ms,x=10,every=5s,for=1s)"
	slow, tail, profile, controllers := paced(200), paced(200), paced(90), paced(90)
	profile.cell.Scenario.Load.Profile = "rollout"
	controllers.cell.Scenario.Cluster.Controllers = true
	slow.cell.Scenario.Storage.Latency, tail.cell.Scenario.Storage.Latency = "360ms", "lognormal(p50=60ms,p99=1010ms)"
	for name, e := range map[string]*evidence{
		"closed": closed(100, 100, 90), "with a fault": faulty, "too short": short, "in bursts": burst, "a ramp": ramp, "slow for whole periods": stalling,
		"short against the mean latency": slow, "short against its tail": tail, "a profile": profile, "writes of controllers": controllers,
	} {
		if p := e.figures(t).Pace; p != nil {
			t.Errorf("%s: %+v", name, *p)
		}
	}
}

// TestOwedIsNeverLess: what storage had before the apiserver's answer came is not owed, and does not make up for what
// is.
func TestOwedIsNeverLess(t *testing.T) {
	e := paced(200)
	for i := range e.ops {
		if i%2 == 0 { // answered 5 s late, long after storage had it
			e.ops[i].Finished = e.ops[i].Started + 5e9
			t := float64(i) * 100
			e.entries[i] = put(e.ops[i].Name, "u", e.ops[i].ResourceVersion, t+1, t+2)
		}
	}
	var p pace
	for range p.watch(check.Changes(&check.Meta{}, e.ops, e.entries), at(1e6)) {
		continue
	}
	slices.Sort(p.written)
	slices.Sort(p.settled)
	for ms := 0.0; ms < 10_000; ms += 100 {
		want := 0
		for i, o := range e.ops {
			if i%2 == 1 && o.Finished < at(ms) && e.entries[i].Responded >= at(ms) {
				want++
			}
		}
		if got := p.owed(at(ms)); got != want {
			t.Fatalf("after %v ms %d writes are owed, want %d", ms, got, want)
		}
	}
}

// TestPaceOfSlowStorage: of a load that is just long enough against the latency, all but a few are said to keep up
// where storage has room for everything; a shorter one says nothing.
func TestPaceOfSlowStorage(t *testing.T) {
	for _, text := range []string{"1s", "lognormal(p50=1500ms,p99=2500ms)", "lognormal(p50=1s,p99=2800ms)", "lognormal(p50=60ms,p99=400ms)"} {
		var f Figures
		f.cell = &history.Cell{Scenario: spec.Default()}
		f.cell.Scenario.Storage.Latency = text
		least, wrong := f.leastLoad(), 0
		const seeds = 20
		for seed := range uint64(seeds) {
			p, w := roomy(t, text, 200, least, seed)
			if k := p.kept(w, least, 1, 1); k == nil {
				t.Fatalf("%s over %v: nothing is said", text, least)
			} else if !k.KeepsUp {
				wrong++
			}
		}
		if wrong > seeds/5 {
			t.Errorf("%s over %v: %d of %d fall behind a storage with room for everything", text, least, wrong, seeds)
		}
		p, w := roomy(t, text, 200, least/3, 1)
		if k := p.kept(w, 0, 1, 1); text == "1s" && (k == nil || k.KeepsUp) {
			t.Error("a third of the load is long enough: the limit is not put to the test")
		}
		if p.kept(w, least, 1, 1) != nil {
			t.Errorf("%s: something is said of a third of the load", text)
		}
	}
}

// roomy is the pace of a watcher that sends the writes of each Pod one after the other, and those of all Pods at once,
// to a storage without limits.
func roomy(t *testing.T, text string, rate float64, length time.Duration, seed uint64) (p pace, w LoadWindow) {
	t.Helper()
	m, err := behavior.ParseModel(text, seed+7)
	if err != nil {
		t.Fatal(err)
	}
	c := plan.Default()
	c.RunID, c.Seed, c.Model, c.Rate, c.Duration, c.Arrival = "sim", seed, plan.ModelOpen, rate, units.Duration(length+length/20), plan.ArrivalPoisson
	load, err := plan.New(c)
	if err != nil {
		t.Fatal(err)
	}
	free := map[string]int64{} // when the Pod's last write is done
	for op := range load.Timed() {
		sent := base + int64(op.At)
		answered := sent + 5e6
		if w.First == 0 {
			w.First = sent
		}
		w.Last = answered
		free[op.Target.Name] = max(answered, free[op.Target.Name]) + int64(m.Sample("PUT", podKind, "", time.Time{}))
		p.written, p.settled = append(p.written, answered), append(p.settled, free[op.Target.Name])
	}
	return p, w
}
