package view_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// model is what a view must say, kept the slow way: every state of every version.
type model struct {
	states  map[uint64]map[view.Name]*object.Object // by version
	changes []view.Change
	now     map[view.Name]*object.Object
	version uint64
	uids    int
}

func (m *model) object(n view.Name) *object.Object {
	old := m.now[n]
	o := &object.Object{Key: object.Key{Kind: "Pod", Namespace: n.Namespace, Name: n.Name}, ResourceVersion: m.version}
	if old != nil {
		o.UID = old.UID
	} else {
		m.uids++
		o.UID = fmt.Sprint("uid-", m.uids)
	}
	o.Raw = fmt.Appendf(nil, `{"uid":%q,"v":%d,"node":"n%d"}`, o.UID, m.version, m.version%5)
	return o
}

func (m *model) keep() {
	m.states[m.version] = maps.Clone(m.now)
}

func (m *model) name(r *rand.Rand) view.Name {
	return view.Name{Namespace: []string{"a", "a-b", "a0", "b"}[r.IntN(4)], Name: fmt.Sprint("p", r.IntN(6))}
}

// step changes one object and tells v.
func (m *model) step(r *rand.Rand, v *view.View) {
	m.version += 1 + r.Uint64N(3)
	n := m.name(r)
	old := m.now[n]
	if old != nil && r.IntN(3) == 0 {
		delete(m.now, n)
		v.Changed(old, nil, m.version, time.Now())
		m.changes = append(m.changes, view.Change{Type: view.Deleted, Object: old, Version: m.version})
	} else {
		o := m.object(n)
		m.now[n] = o
		v.Changed(old, o, m.version, time.Now())
		c := view.Change{Type: view.Added, Object: o, Version: m.version}
		if old != nil {
			c.Type = view.Modified
		}
		m.changes = append(m.changes, c)
	}
	m.keep()
}

// relist makes changes that v learns from a list only.
func (m *model) relist(r *rand.Rand, v *view.View) {
	before := maps.Clone(m.now)
	for range r.IntN(4) {
		m.version += 1 + r.Uint64N(3)
		n := m.name(r)
		switch r.IntN(3) {
		case 0:
			delete(m.now, n)
		case 1:
			delete(m.now, n) // and made anew
			fallthrough
		default:
			m.now[n] = m.object(n)
		}
	}
	m.version++
	var all []view.Difference
	for n, o := range before {
		if m.now[n] == nil {
			all = append(all, view.Difference{Old: o})
		}
	}
	for n, o := range m.now {
		if before[n] != o {
			all = append(all, view.Difference{Old: before[n], Now: o})
		}
	}
	v.Replaced(all, m.version, time.Now())
	if len(all) > 0 {
		m.states, m.changes = map[uint64]map[view.Name]*object.Object{}, nil
	}
	m.keep()
}

func content(s *view.Snapshot, namespace string) map[view.Name]*object.Object {
	all := map[view.Name]*object.Object{}
	s.Ascend(namespace, view.Name{}, func(o *object.Object) bool { all[view.NameOf(o)] = o; return true })
	return all
}

func same(a, b view.Change) bool {
	return a.Type == b.Type && a.Version == b.Version && a.Object == b.Object
}

func TestAgainstAModel(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		window := 1 + r.IntN(40)
		v := view.New(view.Config{Window: window})
		if _, err := v.Snapshot(); !errors.Is(err, view.ErrNotSynced) {
			t.Fatalf("before the first list: %v", err)
		}
		m := &model{states: map[uint64]map[view.Name]*object.Object{}, now: map[view.Name]*object.Object{}, version: 10}
		m.relist(r, v)
		nodes := v.IndexBy("node", func(o *object.Object) []string { return []string{string(o.Raw[len(o.Raw)-4 : len(o.Raw)-2])} })
		follow := must(v.Follow(m.version))
		var followed []view.Change
		began, late := len(m.changes), false
		mirror := map[view.Name]*object.Object{}
		s, _ := v.Snapshot()
		maps.Copy(mirror, content(s, ""))
		all := v.FollowAll(s)
		for range 60 {
			if r.IntN(25) == 0 {
				m.relist(r, v)
				if len(m.changes) == 0 {
					late = true
				}
			} else {
				m.step(r, v)
			}
			if r.IntN(3) > 0 { // readers that read often
				changes, _, err := follow.Poll(make([]view.Change, 1+r.IntN(3))[:0])
				switch {
				case errors.Is(err, view.ErrExpired):
					late = true
				case err != nil:
					t.Fatal(err)
				case !late:
					followed = append(followed, changes...)
				}
			}
			for all != nil {
				changes, version, err := all.Poll(make([]view.Change, 0, 4))
				if errors.Is(err, view.ErrExpired) {
					all = nil
					break
				}
				if len(changes) == 0 {
					if version != m.version || !maps.Equal(mirror, m.now) {
						t.Fatalf("seed %d: following all at %d: %v, want %v", seed, version, mirror, m.now)
					}
					break
				}
				for _, c := range changes {
					if c.Type == view.Deleted {
						delete(mirror, view.NameOf(c.Object))
					} else {
						mirror[view.NameOf(c.Object)] = c.Object
					}
				}
			}
			check(t, seed, v, m, window)
			if r.IntN(16) == 0 {
				now, _ := v.Snapshot()
				snaps := []*view.Snapshot{s, now}
				for version := range m.states {
					if old, err := v.At(version); err == nil {
						snaps = append(snaps, old)
					}
				}
				checkIndex(t, seed, nodes, snaps)
			}
		}
		if !late && !slices.EqualFunc(followed, m.changes[began:][:min(len(followed), len(m.changes[began:]))], same) {
			t.Fatalf("seed %d: followed %v\nwant %v", seed, followed, m.changes[began:])
		}
	}
}

// check compares every version that there was with what the view says of it.
func check(t *testing.T, seed uint64, v *view.View, m *model, window int) {
	t.Helper()
	expired := 0
	for version, want := range m.states {
		s, err := v.At(version)
		if errors.Is(err, view.ErrExpired) {
			expired++
			if _, err := v.Follow(version); !errors.Is(err, view.ErrExpired) {
				t.Fatalf("seed %d: version %d has expired for a snapshot but not to follow: %v", seed, version, err)
			}
			continue
		}
		if err != nil || !maps.Equal(content(s, ""), want) {
			t.Fatalf("seed %d: at %d: %v, %v\nwant %v", seed, version, content(s, ""), err, want)
		}
		for n := range want {
			for other := range content(s, n.Namespace) {
				if other.Namespace != n.Namespace {
					t.Fatalf("seed %d: %v in the list of %s", seed, other, n.Namespace)
				}
			}
		}
		c, err := v.Follow(version)
		if err != nil {
			t.Fatalf("seed %d: follow %d: %v", seed, version, err)
		}
		later := slices.DeleteFunc(slices.Clone(m.changes), func(c view.Change) bool { return c.Version <= version })
		got, _, err := c.Poll(make([]view.Change, 0, 1000))
		if err != nil || !slices.EqualFunc(got, later, same) {
			t.Fatalf("seed %d: follow %d: %v, %v\nwant %v", seed, version, got, err, later)
		}
	}
	if kept := len(m.states) - expired; kept < min(len(m.states), window) {
		t.Fatalf("seed %d: of %d versions only %d can be read with a window of %d", seed, len(m.states), kept, window)
	}
}

// checkIndex compares what the index finds in the snapshots of all versions that can be read, and in one that
// is kept though it has expired, with their content.
func checkIndex(t *testing.T, seed uint64, i *view.Index, snaps []*view.Snapshot) {
	t.Helper()
	for _, s := range snaps {
		for node := range 5 {
			want := slices.DeleteFunc(slices.SortedFunc(maps.Values(content(s, "")), byName),
				func(o *object.Object) bool { return o.ResourceVersion%5 != uint64(node) })
			got, err := i.Find(t.Context(), s, fmt.Sprint("n", node), func() {})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: n%d at %d: %v, %v\nwant %v", seed, node, s.Version, got, err, want)
			}
		}
	}
}

func byName(a, b *object.Object) int { return view.NameOf(a).Compare(view.NameOf(b)) }

// TestOrderIsThatOfKeys: namespaces sort as part of a path.
func TestOrderIsThatOfKeys(t *testing.T) {
	parts := []string{"", "a", "a-", "a-b", "a.b", "a0", "ab", "b"}
	for _, ns1 := range parts {
		for _, ns2 := range parts {
			for _, n1 := range parts {
				for _, n2 := range parts {
					got := view.Name{Namespace: ns1, Name: n1}.Compare(view.Name{Namespace: ns2, Name: n2})
					a, b := ns1+"/"+n1, ns2+"/"+n2
					if (got < 0) != (a < b) || (got > 0) != (a > b) {
						t.Errorf("%s and %s: %d", a, b, got)
					}
				}
			}
		}
	}
}
