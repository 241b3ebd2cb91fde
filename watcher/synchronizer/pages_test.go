package synchronizer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

const many = 2 * smallKind

// large is a world with a kind that is not compared whole.
func large() *world {
	w := newWorld()
	for i := range many {
		w.cache[name(i)], w.records[name(i)] = raw(5, ""), raw(5, "")
	}
	return w
}

func name(i int) object.Key { return key(fmt.Sprintf("pod-%04d", i)) }

// TestLargeKindsAreComparedByState: of a large kind the pages show names, uids and versions,
// and what these prove costs no read of its own.
func TestLargeKindsAreComparedByState(t *testing.T) {
	workload := func(name string) []object.Pair { return []object.Pair{{Key: "workload.example.com/name", Value: name}} }
	annotated := func(value string) string {
		return fmt.Sprintf(`{"metadata":{"uid":"u","resourceVersion":"5","annotations":{"workload.example.com/name":%q}}}`, value)
	}
	const turn = many / leastBodies
	for _, tc := range []struct {
		name          string
		change        func(*world)
		repairs, gets int // gets besides those of the records whose turn it is
	}{
		{"equal", func(*world) {}, 0, 0},
		{"one is missing", func(w *world) { delete(w.records, name(7)) }, 1, 1},
		{"half are missing", func(w *world) {
			for i := range many / 2 {
				delete(w.records, name(2*i))
			}
		}, many / 2, 0},
		{"older", func(w *world) { w.records[name(7)] = raw(4, "") }, 1, 0},
		{"newer", func(w *world) { w.records[name(7)] = raw(6, "") }, 1, 1},
		{"of an object before", func(w *world) { w.records[name(7)] = strings.Replace(raw(4, ""), `"u"`, `"v"`, 1) }, 1, 0},
		{"of another object", func(w *world) { w.records[name(7)] = strings.Replace(raw(5, ""), `"u"`, `"v"`, 1) }, 1, 1},
		{"without metadata", func(w *world) { w.records[name(7)] = `{}` }, 1, 1},
		{"a leftover", func(w *world) { w.records[key("left")] = raw(1, "") }, 1, 1},
		{"its workload", func(w *world) {
			w.annotated = map[object.Key][]object.Pair{name(7): workload("web"), name(8): workload("web")}
			w.records[name(7)], w.cache[name(7)] = annotated("web-abc"), annotated("web")
			w.records[name(8)], w.cache[name(8)] = annotated("web"), annotated("web")
		}, 1, 1},
		{"on its way", func(w *world) { w.records[name(7)] = raw(4, ""); w.pending[name(7)] = true }, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := large()
			s := w.synchronizer(t, func(c *Config) { c.PageSize = 500 })
			tc.change(w)
			read := map[object.Key]bool{}
			if n, err := s.Once(t.Context()); err != nil || n != tc.repairs || len(w.repairs) != tc.repairs {
				t.Errorf("%d repairs, want %d, error %v", n, tc.repairs, err)
			}
			for k := range w.cache {
				read[k] = s.isDue(k, many)
			}
			turns := 0
			for _, due := range read {
				if due {
					turns++
				}
			}
			if most := turns + tc.gets; w.gets > most || w.gets < tc.gets || turns > 2*many/turn {
				t.Errorf("%d records read, want %d and those whose turn it is, %d", w.gets, tc.gets, turns)
			}
			if i := slices.IndexFunc(w.fields, func(f string) bool { return f != stateFields+",data.metadata.annotations" }); i >= 0 {
				t.Errorf("a page shows %s", w.fields[i])
			}
		})
	}
}

// TestEveryRecordIsReadInTime: a record of a large kind that was edited in place is found when its turn comes.
func TestEveryRecordIsReadInTime(t *testing.T) {
	w := large()
	for i := range many {
		w.records[name(i)] = raw(5, `,"spec":{"edited":true}`)
	}
	s := w.synchronizer(t, func(c *Config) { c.PageSize = 500 })
	for range many / leastBodies {
		if n, err := s.Once(t.Context()); err != nil || n == 0 || n > 3*leastBodies {
			t.Errorf("%d repairs in one comparison, error %v", n, err)
		}
	}
	if len(w.repairs) != many {
		t.Errorf("%d of %d edited records were repaired", len(w.repairs), many)
	}
}

// TestTooLargePages: pages shrink until they come, and nothing is missed.
func TestTooLargePages(t *testing.T) {
	w := large()
	w.most = 70
	s := w.synchronizer(t, func(c *Config) { c.PageSize, c.QPS = 500, 1e6 })
	delete(w.records, name(3))
	if n, err := s.Once(t.Context()); n != 1 || err != nil {
		t.Errorf("%d repairs, want 1, error %v", n, err)
	}
}

// TestPagesGrowBack: pages that got no answer at first are soon as large as before.
func TestPagesGrowBack(t *testing.T) {
	w := large()
	s := w.synchronizer(t, func(c *Config) { c.PageSize, c.QPS = 500, 1e6 })
	busy := 5
	s.lister.storage = lists(func(limit, offset int) ([]storage.Record, error) {
		if busy--; busy >= 0 {
			return nil, os.ErrDeadlineExceeded
		}
		return w.List(t.Context(), "Pod", "", stateFields, limit, offset)
	})
	if c := s.suspects(t.Context(), "Pod", false, false); c.err != nil || !c.sound || w.lists > 20 {
		t.Errorf("%d pages, want 20 at most; sound %t, error %v", w.lists, c.sound, c.err)
	}
}

// lists is a Storage that is only listed.
type lists func(limit, offset int) ([]storage.Record, error)

func (f lists) List(_ context.Context, _, _, _ string, limit, offset int) ([]storage.Record, error) {
	return f(limit, offset)
}

func (lists) Get(context.Context, object.Key, string) (r storage.Record, found bool, err error) {
	return
}
func (lists) Put(context.Context, *object.Object) error { return nil }

// TestSoundPages: many missing records need no read each, unless another process deletes so
// many that a page does not begin with what the one before it showed.
func TestSoundPages(t *testing.T) {
	for _, tc := range []struct{ deleted, proven int }{{0, 300}, {10, 300}, {200, 0}} {
		w := large()
		for i := range 300 {
			delete(w.records, name(many-1-i))
		}
		s := w.synchronizer(t, func(c *Config) { c.PageSize = 500 })
		w.listed = func() {
			for i := range tc.deleted {
				delete(w.records, name(i))
			}
			w.listed = nil
		}
		c := s.suspects(t.Context(), "Pod", false, false)
		if c.err != nil {
			t.Fatal(c.err)
		}
		proven := 0
		for _, x := range c.suspects {
			if x.proven {
				proven++
			}
		}
		if proven != tc.proven {
			t.Errorf("%d deleted between two pages: %d records proven to be missing, want %d", tc.deleted, proven, tc.proven)
		}
	}
}

// TestQuietNodes: the record of a Node that is the same but for heartbeats is read with its page.
func TestQuietNodes(t *testing.T) {
	w := newWorld()
	w.kinds = []string{"Node"}
	node := func(version int, beat string) string {
		return fmt.Sprintf(`{"metadata":{"uid":"u","resourceVersion":"%d"},"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, version, beat)
	}
	for i := range many {
		k := object.Key{Kind: "Node", Name: fmt.Sprintf("n%04d", i)}
		w.records[k], w.cache[k] = node(1, "a"), node(9, "b")
	}
	s := w.synchronizer(t, func(c *Config) { c.PageSize = 500 })
	if n, err := s.Once(t.Context()); n != 0 || err != nil || w.gets > 0 {
		t.Errorf("%d repairs after %d reads, %v", n, w.gets, err)
	}
}
