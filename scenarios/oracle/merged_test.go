package oracle

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestMergedAway takes the requests out of the ledger of a keyed cell that a newer one of their
// Pod follows, and counts them as coalesced: that breaks G6, gives the checks of order no power,
// and the oracle sees the same.
func TestMergedAway(t *testing.T) {
	dir := unpacked(t, "testdata/run")
	cell := filepath.Join(dir, "cells", "keyed")
	before := load(t, cell)
	gone := mergeAway(t, cell)
	if gone < 80 {
		t.Fatalf("only %d requests were taken out", gone)
	}
	res, err := assess.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	r, have := load(t, cell), map[string]any(nil)
	for i := range res.Cells {
		if c := &res.Cells[i]; c.ID == "keyed" {
			if g6 := c.Checks["G6"]; g6.Verdict != "fail" || g6.Violations != int64(gone) || !strings.Contains(g6.Counterexample, "keyed sends every state") {
				t.Errorf("%d requests taken out: G6 %+v", gone, g6)
			}
			have = leavesOf(t, c)
		}
	}
	want := compute(t, r)
	for _, path := range []string{"checks.G2.power", "checks.G3.power", "checks.G4.power", "checks.G5.power", "checks.G6.verdict", "checks.G14.verdict"} {
		if d := differs(r, want, path, have[path], true); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	if was, now := compute(t, before)["checks.G2.power"], have["checks.G2.power"]; now.(float64) >= was.(float64) {
		t.Errorf("G2 had power %v, and without %d requests it has %v", was, gone, now)
	}
}

// mergeAway spoils the record of a cell, and returns of how many requests.
func mergeAway(t *testing.T, dir string) (gone int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made := map[string]bool{} // by the load, so that each is owed
	ops, err := history.Ops(dir)
	for _, o := range collected(t, ops, err) {
		made[fmt.Sprint(o.Kind, o.UID, o.ResourceVersion)] = o.Phase == oplog.PhaseLoad
	}
	requests, err := history.Ledger(dir)
	entries := collected(t, requests, err)
	var left []ledger.Entry
	for i, e := range entries {
		newer := slices.ContainsFunc(entries[i+1:], func(n ledger.Entry) bool { return n.Method == http.MethodPut && n.UID == e.UID })
		if e.Kind == "Pod" && e.Method == http.MethodPut && newer && made[fmt.Sprint(e.Kind, e.UID, e.ResourceVersion)] {
			gone++
			continue
		}
		e.Seq = uint64(len(left) + 1)
		left = append(left, e)
	}
	saveLedger(t, dir, left)

	var meta map[string]any
	must(history.LoadJSON(dir, history.FileMeta, &meta))
	counters := meta["counters"].(map[string]any)
	add := func(to any, key string, n int) {
		m := to.(map[string]any)
		was, _ := m[key].(float64)
		m[key] = was + float64(n)
	}
	for _, e := range []any{counters["total"], counters["kinds"].(map[string]any)["Pod"]} {
		add(e, "sent", -gone)
		add(e, "coalesced", gone)
	}
	add(counters["storageSucceeded"], "Pod", -gone)
	add(counters["freshnessCount"], "Pod", -gone)
	must(history.SaveJSON(dir, history.FileMeta, meta))

	path := filepath.Join(dir, history.FileAfter)
	text, err := os.ReadFile(path)
	must(err)
	for series, n := range map[string]int{
		`k8swatch_events_sent_total\{kind="Pod"\}`:                                                   -gone,
		`k8swatch_events_coalesced_total\{kind="Pod"\}`:                                              gone,
		`k8swatch_freshness_seconds_count\{kind="Pod"\}`:                                             -gone,
		`bkbcs_k8swatch_storage_request_latency_time_count\{.*method="PUT",resource_type="Pod",.*\}`: -gone,
	} {
		text = regexp.MustCompile(`(?m)^`+series+` \d+$`).ReplaceAllFunc(text, func(line []byte) []byte {
			name, value, _ := strings.Cut(string(line), "} ")
			was, err := strconv.Atoi(value)
			must(err)
			return fmt.Appendf(nil, "%s} %d", name, was+n)
		})
	}
	must(os.WriteFile(path, text, 0o644))
	return gone
}

// saveLedger replaces a cell's ledger.
func saveLedger(t *testing.T, dir string, entries []ledger.Entry) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, history.FileLedger))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ledger.WriteZstd(f, slices.Values(entries))
	info, serr := f.Stat()
	if err := errors.Join(err, serr, f.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := history.LoadCell(dir)
	if err == nil {
		c.LedgerBytes = info.Size()
		err = history.SaveJSON(dir, history.FileCell, c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// collected are the values of a record.
func collected[T any](t *testing.T, seq iter.Seq2[T, error], err error) (all []T) {
	t.Helper()
	for v, e := range seq {
		if err = errors.Join(err, e); err != nil {
			break
		}
		all = append(all, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
