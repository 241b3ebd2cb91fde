package synchronizer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// hanging is storage whose reads are given up after so long without an answer, until then.
type hanging struct {
	*world
	after time.Duration
	until time.Time
}

func (h hanging) hang(ctx context.Context) error {
	if time.Now().Before(h.until) {
		_ = lifecycle.Pause(ctx, h.after)
		return &storage.TransientError{Err: os.ErrDeadlineExceeded}
	}
	return nil
}

func (h hanging) List(ctx context.Context, kind, namespace, fields string, limit, offset int) ([]storage.Record, error) {
	if err := h.hang(ctx); err != nil {
		h.mu.Lock()
		h.lists++
		h.mu.Unlock()
		return nil, err
	}
	return h.world.List(ctx, kind, namespace, fields, limit, offset)
}

func (h hanging) Get(ctx context.Context, k object.Key, uid string) (storage.Record, bool, error) {
	if err := h.hang(ctx); err != nil {
		return storage.Record{}, false, err
	}
	return h.world.Get(ctx, k, uid)
}

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

// TestHangingReads: storage whose reads hang is found out once for all kinds, and what they
// hold leaves after seconds, without being read again and again for it.
func TestHangingReads(t *testing.T) {
	const timeout = 5 * time.Second
	for _, kinds := range []int{1, 100, 500} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := hundred(kinds)
				s := w.begun(t, hanging{w, timeout, time.Now().Add(time.Hour)})
				time.Sleep(2 * timeout)
				at := w.handed()
				if len(at) != kinds {
					t.Errorf("%d of %d kinds had something handed over", len(at), kinds)
				}
				for kind, after := range at {
					if after > 2*timeout {
						t.Errorf("%s: after %s", kind, after)
					}
				}
				if left := s.Uncompared(); len(left) > 0 {
					t.Errorf("not ready because of %d kinds", len(left))
				}
				time.Sleep(2 * time.Minute)
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.repairs) != 3*kinds {
					t.Errorf("%d objects were handed over, want %d", len(w.repairs), 3*kinds)
				}
				if most := 60; w.lists > most {
					t.Errorf("%d lists of a storage that answers none, want %d at most", w.lists, most)
				}
			})
		})
	}
}

// TestReadableAfterAll: as soon as storage can be read, what it has is not sent any more,
// also of kinds that were waiting.
func TestReadableAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hundred(40)
		for k, o := range w.cache {
			w.records[k] = o
		}
		w.spare = 20 * time.Second
		s := w.begun(t, hanging{w, 5 * time.Second, time.Now().Add(18 * time.Second)})
		time.Sleep(30 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.repairs) > 0 {
			t.Errorf("%d objects were sent that storage has", len(w.repairs))
		}
		for _, kind := range w.kinds {
			if !s.FirstSince(kind).IsZero() {
				t.Errorf("%s is not compared", kind)
			}
		}
	})
}

// TestFirstSince: a first list counts as behind until it is compared and handed over.
func TestFirstSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hundred(1)
		w.spare = time.Minute
		s := w.begun(t, hanging{w, time.Second, time.Now().Add(time.Hour)})
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

// TestHangingServer: the same with servers whose reads hang, and the client.
func TestHangingServer(t *testing.T) {
	for name, hang := range map[string]func(http.ResponseWriter){
		"no answer": func(http.ResponseWriter) {},
		"headers only": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const timeout = time.Second / 2
			end := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					hang(w)
					<-end
					return
				}
				_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
			}))
			defer server.Close()
			defer close(end)
			c := storage.Default()
			c.ClusterID, c.Endpoints, c.Timeout = "c", []string{server.URL}, timeout
			client, err := storage.New(c, storage.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			const kinds = 100
			w := hundred(kinds)
			w.begun(t, client)
			var at map[string]time.Duration
			for began := time.Now(); len(at) < kinds; time.Sleep(20 * time.Millisecond) {
				// A kind by itself would wait for 6 pages; 100, four at a time, for 75 s.
				if at = w.handed(); time.Since(began) > 20*timeout {
					t.Fatalf("%d of %d kinds after %s", len(at), kinds, time.Since(began))
				}
			}
			times := slices.Sorted(maps.Values(at))
			t.Logf("the first kind after %s, the last one after %s", times[0], times[kinds-1])
		})
	}
}
