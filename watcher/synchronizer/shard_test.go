package synchronizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

// half is one of two shards: what begins with 0 or 1, the name or the uid.
func half(index int, byUID bool) Shard {
	return Shard{Of: 2, ByUID: byUID, Holds: func(_, name, uid string) bool {
		if !byUID {
			uid = name
		}
		return strings.HasPrefix(uid, fmt.Sprint(index))
	}}
}

func withUID(uid string) string {
	return fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":"5"}}`, uid)
}

// TestShardsComparison removes what is of the shard alone.
func TestShardsComparison(t *testing.T) {
	for _, tc := range []struct {
		name  string
		byUID bool
		setup func(*world)
		want  []string
	}{
		{"by name", false, func(w *world) {
			w.records[key("0a")], w.records[key("1a")] = withUID("1"), withUID("0")
			w.records[key("0b")] = `{` // cannot be read
		}, []string{"Pod/team-a/0a", "Pod/team-a/0b"}},
		{"by uid", true, func(w *world) {
			w.records[key("1a")], w.records[key("0a")] = withUID("0"), withUID("1")
			w.records[key("0b")], w.records[key("0c")] = `{`, `{"metadata":{}}` // nobody's
		}, []string{"Pod/team-a/1a"}},
		{"by uid, made again since it was listed", true, func(w *world) {
			w.records[key("1a")] = withUID("0")
			w.reading = func() { w.records[key("1a")] = withUID("1") }
		}, nil},
		{"by uid, another one's is under the name", true, func(w *world) {
			w.cache[key("1a")], w.records[key("1a")] = withUID("0"), withUID("1")
		}, []string{"Pod/team-a/1a"}},
		{"missing", false, func(w *world) { w.cache[key("0a")] = withUID("0") }, []string{"Pod/team-a/0a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld()
			for i := range 20 {
				k := key(fmt.Sprintf("%d-%d", i%2, i))
				if w.records[k] = withUID(fmt.Sprint(i % 2)); i%2 == 0 {
					w.cache[k] = w.records[k]
				}
			}
			rows := len(w.records)
			tc.setup(w)
			s := w.synchronizer(t, func(c *Config) { c.Shard, c.PageSize = half(0, tc.byUID), 4 })
			if _, err := s.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			if slices.Sort(w.repairs); !slices.Equal(w.repairs, tc.want) {
				t.Errorf("repaired %v, want %v", w.repairs, tc.want)
			}
			if left := len(w.records); left < rows {
				t.Errorf("%d rows are left of %d", left, rows)
			}
			if c := s.suspects(t.Context(), "Pod", false, false); !c.sound {
				t.Error("the others' rows make the list look as if some were skipped")
			}
		})
	}
}

// TestShardsKinds: a kind that ended goes shard by shard, though the other one's record still names it; and who divides by
// another number knows what was known.
func TestShardsKinds(t *testing.T) {
	w := newWorld()
	complete := true
	part := func(index, of int, kinds ...string) *Synchronizer {
		w.kinds = kinds
		s := w.synchronizer(t, func(c *Config) {
			c.Name, c.Shard = Member("x", index, of), half(index, false)
		})
		s.set.Complete = func() bool { return complete }
		return s
	}
	w.remembering(t, &complete, "Pod", "TFJob").compare(t.Context()) // without shards
	first, second := job, job
	first.Name, second.Name = "0j", "1j"
	w.records[first], w.records[second] = raw(1, ""), raw(1, "")

	w.cache[second] = w.records[second]
	part(1, 2, "Pod", "TFJob").compare(t.Context()) // knows the kind, and looks no more
	delete(w.cache, second)
	s := part(0, 2, "Pod")
	for range claimRounds + 4 {
		s.compare(t.Context())
	}
	if w.records[first] != "" || w.records[second] == "" {
		t.Errorf("first shard's row %q, second's %q: want the first gone alone", w.records[first], w.records[second])
	}
	s = part(1, 2, "Pod")
	for range claimRounds + 4 {
		s.compare(t.Context())
	}
	if w.records[second] != "" {
		t.Error("the second shard's row is left")
	}
	for _, name := range []string{"x-shard-0-of-2", "x-shard-1-of-2"} {
		var st state
		if err := json.Unmarshal([]byte(w.records[object.Key{Kind: StateKind, Name: name}]), &st); err != nil || !slices.Equal(st.Kinds, []string{"Pod"}) || len(st.Leaving) > 0 {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
}
