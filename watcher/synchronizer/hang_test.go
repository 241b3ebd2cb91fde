package synchronizer

import (
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// handed is when the first object of each kind was handed over.
func (w *world) handed() map[string]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.firstOf)
}

// hundred has that many kinds with a few objects each, which storage lacks.
func hundred(n int) *world {
	w := newWorld()
	w.firstOf, w.log = map[string]time.Duration{}, slog.DiscardHandler
	for i := range n {
		kind := fmt.Sprintf("Kind%03d", i)
		w.kinds = append(w.kinds, kind)
		for j := range 3 {
			w.cache[object.Key{Kind: kind, Namespace: "n", Name: fmt.Sprint(j)}] = raw(5, "")
		}
	}
	return w
}

// TestHangingReads: storage whose reads hang holds up what all kinds hold for firstPatience, and is not
// read again and again for it.
func TestHangingReads(t *testing.T) {
	const timeout = 5 * time.Second
	for _, kinds := range []int{1, 100, 500} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := hundred(kinds)
				s := w.begun(t, hanging(w, timeout))
				time.Sleep(firstPatience + time.Second)
				at := w.handed()
				if len(at) != kinds {
					t.Errorf("%d of %d kinds had something handed over", len(at), kinds)
				}
				for kind, after := range at {
					if after > firstPatience+time.Second {
						t.Errorf("%s: after %s", kind, after)
					}
				}
				if left := s.Uncompared(); len(left) != kinds {
					t.Errorf("%d of %d kinds are not compared", len(left), kinds)
				}
				time.Sleep(2 * time.Minute)
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.repairs) != 3*kinds {
					t.Errorf("%d objects were handed over, want %d", len(w.repairs), 3*kinds)
				}
				if most := 160; w.lists > most {
					t.Errorf("%d lists of a storage that answers none, want %d at most", w.lists, most)
				}
			})
		})
	}
}

// TestFirstSince: a first list counts as behind until what differs is handed over.
func TestFirstSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hundred(1)
		w.spare = time.Minute
		s := w.begun(t, w)
		began := time.Now()
		for _, tc := range []struct {
			pass time.Duration
			want time.Time
		}{{time.Second / 2, began}, {2 * time.Minute, began}, {2 * time.Minute, time.Time{}}} {
			time.Sleep(tc.pass)
			if at := s.FirstSince("Kind000"); !at.Equal(tc.want) {
				t.Errorf("after %s: since %s, want %s", time.Since(began), at, tc.want)
			}
		}
	})
}

// begun runs a synchronizer to which the first lists of all kinds are given over.
func (w *world) begun(t *testing.T, from Storage) *Synchronizer {
	t.Helper()
	cfg := Default()
	cfg.Period, cfg.Name, cfg.Rules = time.Hour, "x", "r"
	s, err := New(cfg, Settings{Storage: from, Cache: w, Pipeline: w, Logger: slog.New(w.log)})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range w.kinds {
		s.First(kind)
	}
	runs(t, s)
	return s
}
