package oracle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestSpoiledClock sets 1 % of the times of recorded op logs ahead by 2 s, as a clock that was
// set does: such a cell is not believed, says why, and holds nothing against the watcher.
func TestSpoiledClock(t *testing.T) {
	if *folders != "" {
		t.Skip("the folders that were asked for are not spoiled")
	}
	const step = 2e9
	before, err := assess.Run(t.Context(), unpacked(t, "testdata/open"))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*oplog.Record){
		"intended": func(r *oplog.Record) { r.Intended += step },
		"started":  func(r *oplog.Record) { r.Started += step },
		"both":     func(r *oplog.Record) { r.Intended += step; r.Started += step },
		"all":      func(r *oplog.Record) { r.Intended += step; r.Started += step; r.Finished += step },
	} {
		dir := unpacked(t, "testdata/open")
		logs, err := filepath.Glob(filepath.Join(dir, "cells", "*", history.FileOps))
		if err != nil || len(logs) == 0 {
			t.Fatal(logs, err)
		}
		for _, log := range logs {
			n := 0
			spoilOps(t, log, func(r *oplog.Record) bool {
				if r.Phase != oplog.PhaseLoad || r.Type == oplog.TypeHeartbeat || r.Type == oplog.TypeDelete {
					return false
				}
				if n++; n%100 != 50 {
					return false
				}
				spoil(r)
				return true
			})
		}
		res, err := assess.Run(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range res.Cells {
			if c.Valid || !strings.Contains(strings.Join(c.InvalidReasons, "\n"), "the clock was set") {
				t.Errorf("%s: %s: valid %v: %q", name, c.ID, c.Valid, c.InvalidReasons)
			}
			if !load(t, filepath.Join(dir, "cells", c.ID)).contradicts() {
				t.Errorf("%s: %s: the oracle sees nothing", name, c.ID)
			}
			for g, have := range c.Checks {
				if was := before.Cells[i].Checks[g].Verdict; have.Verdict == result.Fail && was != result.Fail {
					t.Errorf("%s: %s: %s was %s: %+v", name, c.ID, g, was, have)
				}
			}
		}
	}
}

// spoilOps writes an op log anew, at least one of whose records is to be changed.
func spoilOps(t *testing.T, path string, spoil func(*oplog.Record) bool) {
	t.Helper()
	all := collected(t, oplog.ReadFile(path), nil)
	changed := 0
	for i := range all {
		if spoil(&all[i]) {
			changed++
		}
	}
	if changed == 0 {
		t.Fatalf("%s: nothing was changed in %d records", path, len(all))
	}
	saveOps(t, path, all)
}

// saveOps replaces an op log.
func saveOps(t *testing.T, path string, all []oplog.Record) {
	t.Helper()
	w, err := oplog.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		w.Append(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
