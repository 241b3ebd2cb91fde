package oracle

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestFormerStates gives a cell a record of the states that its PUTs carried, of which some differ
// from what the apiserver served, some are of versions that it did not tell and one was tampered
// with: the judge and the oracle count the same, and nothing of it is lost.
func TestFormerStates(t *testing.T) {
	dir := unpacked(t, "testdata/run")
	cell := filepath.Join(dir, "cells", "keyed")
	r := load(t, cell)
	var sent []history.StateRecord
	for i, q := range r.ledger {
		if q.Kind != "Pod" || q.Method != http.MethodPut || !q.took() {
			continue
		}
		s := history.StateRecord{
			Side: history.SideStorage, Kind: q.Kind, Namespace: q.Namespace, Name: q.Name, UID: q.UID,
			ResourceVersion: q.ResourceVersion, Digest: "as served",
		}
		if i%5 > 0 {
			s.Served = s.Digest
		}
		if i%7 == 0 {
			s.Digest, s.Differs = "another", "status.phase: stored 1, expected 2"
		}
		sent = append(sent, s)
	}
	if err := history.SaveFormer(cell, slices.Values(sent)); err != nil {
		t.Fatal(err)
	}
	marks, err := history.LoadLines[history.Mark](cell, history.FileMarks)
	if err != nil {
		t.Fatal(err)
	}
	tampered := history.Mark{
		Time: r.cell.DrainEnd, What: history.MarkTamperEdit, Kind: "Pod", Namespace: sent[1].Namespace, Name: sent[1].Name,
	}
	if err := history.SaveLines(cell, history.FileMarks, append(marks, tampered)); err != nil {
		t.Fatal(err)
	}
	res, err := assess.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	have := leavesOf(t, res.Cells[slices.IndexFunc(res.Cells, func(c result.Cell) bool { return c.ID == "keyed" })])
	spoiled := load(t, cell)
	want := compute(t, spoiled)
	for _, path := range []string{"checks.G1.verdict", "checks.G1.judged", "checks.G1.violations", "events.lost"} {
		if d := differs(spoiled, want, path, have[path], true); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	if n, _ := have["checks.G1.violations"].(float64); n < 10 || have["events.lost"] != 0.0 {
		t.Errorf("%v violations, %v lost", n, have["events.lost"])
	}
}
