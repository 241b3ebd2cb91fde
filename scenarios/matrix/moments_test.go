package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestMoments: what was done to the parties, in seconds from the start of the load, in order
// of time; faults with a window have an end, marks of one kind in a row are one.
func TestMoments(t *testing.T) {
	at := func(s float64) int64 { return 1_000_000_000_000 + int64(s*1e9) }
	c := &Case{Cell: &history.Cell{
		LoadStarted: at(0), LoadFinished: at(10), FaultsSet: at(0.25), DrainEnd: at(14.5),
		Scenario: spec.Scenario{Storage: spec.Storage{Faults: []string{"refuse(from=2s,for=3s)", "503:10%"}}},
	}, Marks: []history.Mark{
		{Time: at(-3), What: history.MarkStarted},
		{Time: at(4), What: history.MarkTamperEdit, Name: "a"}, {Time: at(4.5), What: history.MarkTamperEdit, Name: "b"},
		{Time: at(9), What: history.MarkDiverged, Note: "3 objects behind"},
	}, Deeds: []history.Deed{{What: "tamper", Began: at(4), Ended: at(5), Keys: 2}}}
	want := []result.Moment{
		{T: -3, What: "started"},
		{T: 0.25, What: "503:10%", Until: new(10.0)},
		{T: 2.25, What: "refuse(from=2s,for=3s)", Until: new(5.25)},
		{T: 4, What: "tamper", Until: new(5.0), Count: 2},
		{T: 4, What: "tamper-edit", Until: new(4.5), Count: 2},
		{T: 9, What: "diverged", Note: "3 objects behind"},
		{T: 10, What: "load ends"},
		{T: 14.5, What: "drained"},
	}
	if d := cmp.Diff(want, Moments(c)); d != "" {
		t.Errorf("moments (-want +got):\n%s", d)
	}
	c.Cell.Cut = true
	if all := Moments(c); all[len(all)-1].What != "drain cut" {
		t.Errorf("a cut drain is called %q", all[len(all)-1].What)
	}
	if all := Moments(&Case{Cell: &history.Cell{}, Marks: c.Marks}); all != nil {
		t.Errorf("without a load there is no time to count from: %v", all)
	}
	for range 3 * mostMoments {
		c.Marks = append(c.Marks, history.Mark{Time: at(20), What: history.MarkKilled}, history.Mark{Time: at(20), What: history.MarkStarted})
	}
	if n := len(Moments(c)); n != mostMoments {
		t.Errorf("%d moments, at most %d", n, mostMoments)
	}
}
