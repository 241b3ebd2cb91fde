package relation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Indexes is how many there are.
func Indexes(r *Relations) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.indexes)
}

// Words are what answers consist of.
func Words() []string {
	words := slices.Clone(parameters)
	for _, r := range rules {
		words = append(words, string(r.typ))
	}
	for _, r := range []Reason{NotServed, Withheld, NotFollowed, NotLookedInto, Forbidden, AccessUnknown, NotSynced, WatchBroken, Unreadable, LimitReached, Unavailable} {
		words = append(words, string(r))
	}
	return append(words, string(NotFound), string(OtherUID), string(Unconfirmed), string(Down), string(Up), string(Both))
}

type oneView struct{ v *view.View }

func (o oneView) Served() *watches.Catalogue { return &watches.Catalogue{} }
func (o oneView) Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error) {
	return &watches.Watch{View: o.v, Health: func() watches.Health { return watches.Health{} }, Close: func() {}}, nil
}

// TestFindAtTheSnapshot: what an index finds after changes is what a slow look at the
// snapshot of before finds, even if those changes are not all there any more.
func TestFindAtTheSnapshot(t *testing.T) {
	byNode := rules[slices.IndexFunc(rules, func(r *rule) bool { return r.typ == OnNode })]
	lost := false
	defer func() {
		if !lost {
			t.Error("no snapshot fell behind its view's window")
		}
	}()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		v := view.New(view.Config{Window: 20 + int(seed)})
		v.Replaced(nil, 1, time.Now())
		version := uint64(1)
		step := func() {
			version++
			n := view.Name{Namespace: string(rune('a' + random.IntN(3))), Name: fmt.Sprint("p", random.IntN(20))}
			s, err := v.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			old, _ := s.Get(n)
			if random.IntN(4) == 0 {
				v.Changed(old, nil, version, time.Now())
				return
			}
			now := &object.Object{
				Key: object.Key{Kind: "Pod", Namespace: n.Namespace, Name: n.Name}, UID: fmt.Sprint(random.IntN(3)), ResourceVersion: version,
				Raw: fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q},"spec":{"nodeName":"n%d","nodeName":"n%d"}}`, n.Namespace, n.Name, random.IntN(3), random.IntN(3)),
			}
			if random.IntN(8) == 0 {
				v.Replaced([]view.Difference{{Old: old, Now: now}}, version, time.Now())
			} else {
				v.Changed(old, now, version, time.Now())
			}
		}
		r := &Relations{indexes: map[indexName]*index{}}
		for range 10 {
			for range random.IntN(60) {
				step()
			}
			s, err := open(t.Context(), oneView{v}, watches.Kind{}, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			s.rest = func() {}
			for range 5 {
				for range random.IntN(40) {
					step()
				}
				namespace := []string{"", "a"}[random.IntN(2)]
				key := reference{of: nodes, name: fmt.Sprint("n", random.IntN(3))}.key()
				got, err := s.find(t.Context(), r, byNode, key, namespace)
				if err != nil {
					t.Fatal(err)
				}
				var want []*object.Object
				s.state.Ascend(namespace, view.Name{}, func(o *object.Object) bool {
					if s.refers(byNode, o, key) {
						want = append(want, o)
					}
					return true
				})
				lost = lost || s.lost
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: %v; want %v", seed, got, want)
				}
			}
			s.close(r)
		}
		r.sweep(time.Time{})
	}
}
