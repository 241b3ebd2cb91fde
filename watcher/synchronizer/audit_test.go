package synchronizer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// Objects implements Source.
func (w *world) Objects(_ context.Context, kind string, each func(object.Key, State)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, text := range w.cache {
		if m, err := object.Scan([]byte(text)); err == nil && k.Kind == kind {
			each(k, State{UID: m.UID, Version: m.Version(), Sum: Sum(kind, []byte(text))})
		}
	}
	return nil
}

// audited is what an audit of w finds of Pods.
func (w *world) audited(t *testing.T) (reports []KindReport, found []string) {
	t.Helper()
	cfg := Default()
	cfg.Concurrency, cfg.Name = 1, "x"
	a := NewAudit(AuditConfig{Config: cfg, Kinds: []string{"Pod"}, Complete: true, Wait: time.Minute},
		Settings{Storage: w, Logger: slog.New(slog.DiscardHandler)}, w)
	reports, all, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		found = append(found, fmt.Sprint(f.Problem, " ", f.Name))
	}
	return reports, found
}

// TestAuditOfMovingPages: rows that slide past a page are looked for once more, and if that
// cannot be had, the kind was not read whole.
func TestAuditOfMovingPages(t *testing.T) {
	for _, tc := range []struct {
		name        string
		rows        int
		times       int
		found, fail bool
	}{
		{"never", 1200, 0, true, false},
		{"once", 1200, 1, true, false},
		{"at each read", 1200, 100, false, true},
		{"and no page is left", 505, 1, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				left := name(min(505, tc.rows-1))
				for i := range tc.rows {
					w.records[name(i)] = raw(5, "")
					if name(i) != left {
						w.cache[name(i)] = raw(5, "")
					}
				}
				next := 0
				w.listed = func() {
					audits := strings.HasSuffix(w.fields[len(w.fields)-1], "updateTime")
					if audits && next < 60*tc.times && next < 480 {
						for range 60 {
							delete(w.records, name(next))
							delete(w.cache, name(next))
							next++
						}
					}
				}
				reports, found := w.audited(t)
				failed := reports[0].Error != ""
				if want := fmt.Sprint(LeftOver, " ", left.Name); failed != tc.fail || tc.found != slices.Equal(found, []string{want}) {
					t.Errorf("found %v, error %q", found, reports[0].Error)
				}
			})
		})
	}
}

// TestAuditOfBrokenRecords: whether kinds are gone cannot be said where a watcher's record of
// them cannot be read.
func TestAuditOfBrokenRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.records[object.Key{Kind: StateKind, Name: "x"}] = `{"kinds":"TFJob"}`
		w.records[job] = raw(1, "")
		reports, found := w.audited(t)
		i := slices.IndexFunc(reports, func(r KindReport) bool { return r.Kind == StateKind && strings.Contains(r.Error, "x") })
		if i < 0 || len(found) > 0 {
			t.Errorf("%+v, found %v", reports, found)
		}
	})
}

// TestSettle: what two looks at a row and its object say.
func TestSettle(t *testing.T) {
	at := func(version uint64, uid string) State { return State{UID: uid, Version: version} }
	of := func(version uint64, uid string) row { return row{found: true, uid: uid, version: version} }
	for _, tc := range []struct {
		name     string
		row, now row
		was, is  State
		want     Problem
	}{
		{"the same", of(5, "u"), of(5, "u"), at(7, "u"), at(7, "u"), Stale},
		{"older, and the object changes", of(5, "u"), of(5, "u"), at(7, "u"), at(9, "u"), Stale},
		{"it was behind", of(7, "u"), of(7, "u"), at(7, "u"), at(9, "u"), ""},
		{"it came between the looks", of(8, "u"), of(8, "u"), at(7, "u"), at(9, "u"), ""},
		{"it was written", of(5, "u"), of(6, "u"), at(7, "u"), at(9, "u"), ""},
		{"of a restored cluster, and the object changes", of(900, "u"), of(900, "u"), at(100, "u"), at(101, "u"), Altered},
		{"the same, made again", of(900, "u"), of(900, "u"), at(100, "u"), at(101, "v"), Altered},
		{"without a version", of(0, "u"), of(0, "u"), at(100, "u"), at(101, "u"), Altered},
		{"without a version, made again", of(0, ""), of(0, ""), at(100, "u"), at(101, "v"), Altered},
		{"older than the object that was", of(5, "u"), of(5, "u"), at(100, "u"), at(101, "v"), Stale},
		{"made again", of(100, "u"), of(100, "u"), at(100, "u"), at(101, "v"), ""},
		{"missing", row{}, row{}, at(100, "u"), at(101, "u"), Missing},
		{"missing, made again", row{}, row{}, at(100, "u"), at(101, "v"), ""},
		{"opaque versions", of(0, "u"), of(0, "u"), State{UID: "u", Sum: 1}, State{UID: "u", Sum: 2}, ""},
		{"opaque versions, at rest", of(0, "u"), of(0, "u"), State{UID: "u", Sum: 1}, State{UID: "u", Sum: 1}, Altered},
	} {
		t.Run(tc.name, func(t *testing.T) {
			was, now := doubt{row: tc.row, object: tc.was, exists: true}, doubt{row: tc.now, object: tc.is, exists: true}
			if got := was.settle(now); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
