package measure

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
)

// paced is an open load of ten writes per second for 10 s, one object each, for which one
// sender needs took ms each.
func paced(took float64) *evidence {
	e := calibration(100, 100, took)
	e.cell.Calibrates, e.cell.Planned = false, 100
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

// TestPace: a backlog that grows over the second half of an open load is one that storage
// does not keep up with, whatever the drain makes good later.
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
	for name, e := range map[string]*evidence{"closed": calibration(100, 100, 90), "with a fault": faulty, "too short": short} {
		if p := e.figures(t).Pace; p != nil {
			t.Errorf("%s: %+v", name, *p)
		}
	}
}
