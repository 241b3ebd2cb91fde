package synchronizer

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAudit: what differs before and after the wait is named, what moves on meanwhile is not, and nothing is changed.
func TestAudit(t *testing.T) {
	for _, tc := range []struct {
		name      string
		setup     func(*world) // before the first look
		meanwhile func(*world) // during the wait
		want      Problem      // of Pod a; "": none
	}{
		{"equal", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(5, "") }, nil, ""},
		{"missing", func(w *world) { w.cache[key("a")] = raw(5, "") }, nil, Missing},
		{"left over", func(w *world) { w.records[key("a")] = raw(5, "") }, nil, Leftover},
		{"left over of what cannot be read", func(w *world) { w.records[key("a")], w.unreadable = raw(5, ""), "a" }, nil, ""},
		{"older", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(4, "") }, nil, Older},
		{"newer", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(6, "") }, nil, Altered},
		{"edited in place", func(w *world) {
			w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(5, `,"spec":{"x":1}`)
		}, nil, Altered},
		{"skipped by pages", func(w *world) {
			w.cache[key("a")], w.records[key("a")], w.skip = raw(5, ""), raw(5, ""), key("a")
		}, nil, ""},
		{"written meanwhile", func(w *world) { w.cache[key("a")] = raw(5, "") },
			func(w *world) { w.records[key("a")] = raw(5, "") }, ""},
		{"deleted meanwhile", func(w *world) { w.records[key("a")] = raw(5, "") },
			func(w *world) { delete(w.records, key("a")) }, ""},
		{"behind, and moving on", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(4, "") },
			func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(9, ""), raw(8, "") }, ""},
		{"behind for good", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(4, "") },
			func(w *world) { w.cache[key("a")] = raw(9, "") }, Older},
		{"made anew meanwhile", func(w *world) { w.cache[key("a")] = raw(5, "") },
			func(w *world) { w.cache[key("a")] = `{"metadata":{"uid":"another","resourceVersion":"9"}}` }, ""},
		{"changed while it is read", func(w *world) {
			w.cache[key("a")] = raw(5, "")
			w.reading = func() { w.cache[key("a")] = raw(6, "") }
		}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				for i := range 5 { // equal ones around it, over several pages
					k := key(fmt.Sprint("same", i, "-----"[:i]))
					w.cache[k], w.records[k] = raw(i, ""), raw(i, "")
				}
				tc.setup(w)
				if tc.meanwhile != nil {
					time.AfterFunc(10*time.Second, func() {
						w.mu.Lock()
						defer w.mu.Unlock()
						tc.meanwhile(w)
					})
				}
				want := []Difference{}
				if tc.want != "" {
					want = append(want, Difference{"Pod", "team-a", "a", tc.want})
				}
				out, err := w.audit(t)
				if d := cmp.Diff(want, out.Differences); err != nil || len(out.Unread) > 0 || d != "" {
					t.Errorf("%v, not read %v\n%s", err, out.Unread, d)
				}
				if len(w.repairs) > 0 {
					t.Errorf("repairs: %v", w.repairs)
				}
			})
		})
	}
}

func (w *world) audit(t *testing.T) (Audited, error) {
	cfg := Default()
	cfg.PageSize = 2
	return Audit(t.Context(), cfg, Settings{Storage: w, Cache: w, Logger: slog.New(slog.DiscardHandler)}, 30*time.Second)
}

// TestAuditOfBrokenStorage: a kind that cannot be read is no equal one.
func TestAuditOfBrokenStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cache[key("a")] = raw(5, "")
		w.failGet = func(int) error { return errors.New("down") }
		if out, err := w.audit(t); err != nil || out.Unread["Pod"] != "down" || out.Kinds != 0 {
			t.Errorf("a record: %+v, %v", out, err)
		}
		w.fail = errors.New("down")
		if out, err := w.audit(t); err != nil || out.Unread["Pod"] != "down" || out.Kinds != 0 {
			t.Errorf("pages: %+v, %v", out, err)
		}
	})
}
