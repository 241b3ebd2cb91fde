package collector

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// collection records what is done to it, in order.
type collection struct {
	have      []Resource
	log       []string
	notServed bool
}

func (c *collection) Resources() []Resource { return slices.Clone(c.have) }

func (c *collection) AddResource(r Resource) error {
	c.have = append(c.have, r)
	c.log = append(c.log, "add "+r.String()+" as "+r.Key())
	return nil
}

func (c *collection) MoveResource(r Resource) error {
	i := slices.IndexFunc(c.have, func(h Resource) bool { return h.Key() == r.Key() })
	c.have[i] = r
	c.log = append(c.log, "move "+r.String()+" as "+r.Key())
	return nil
}

func (c *collection) RemoveResource(key string) error {
	c.have = slices.DeleteFunc(c.have, func(r Resource) bool { return r.Key() == key })
	c.log = append(c.log, "remove "+key)
	return nil
}

func (c *collection) NotServed(string) bool { return c.notServed }

func resource(group, version, kind string) Resource {
	return Resource{Group: group, Version: version, Name: strings.ToLower(kind) + "s", Kind: kind, Namespaced: true}
}

func newKinds(t *testing.T, have ...Resource) (*Kinds, *collection) {
	t.Helper()
	c := &collection{have: have}
	k, err := NewKinds(KindsSettings{
		To: c, WhiteList: []string{"v1", "x.io/v1", "x.io/v2"}, Logger: slog.New(slog.DiscardHandler),
		Added:   func(key string) { c.log = append(c.log, "added "+key) },
		Removed: func(key string) { c.log = append(c.log, "removed "+key) },
	})
	if err != nil {
		t.Fatal(err)
	}
	k.Begin()
	return k, c
}

func (c *collection) did(t *testing.T, what string, want ...string) {
	t.Helper()
	if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(c.log, "\n")); d != "" {
		t.Errorf("%s: %s", what, d)
	}
	c.log = nil
}

func intact(string) bool { return false }

// TestGone: a kind is given up only if its group could be read, its watch is answered with 404, and both for a while.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, thing := resource("", "v1", "Pod"), resource("x.io", "v1", "Thing")
		k, c := newKinds(t, pods, thing)
		look := func(what string, found []Resource, broken func(string) bool, want ...string) {
			t.Helper()
			for range 4 {
				k.Discovered(found, broken)
				time.Sleep(certainAfter / 2)
			}
			c.did(t, what, want...)
		}
		without := []Resource{pods}
		look("nothing happened", []Resource{pods, thing}, intact)
		look("its watch goes on", without, intact)
		c.notServed = true
		look("its group is broken", without, func(group string) bool { return group == "x.io" })
		k.Discovered(without, intact)
		time.Sleep(certainAfter / 2)
		look("it is there again", []Resource{pods, thing}, intact)
		k.Discovered(without, intact)
		c.did(t, "not certain yet")
		look("gone", without, intact, "remove Thing", "removed Thing")
		look("back", []Resource{pods, thing}, intact, "add x.io/v1/Thing as Thing", "added Thing")
		k.undefine("things.x.io")
		c.did(t, "its definition is gone", "remove Thing", "removed Thing")
	})
}

// TestVersions: a kind moves at once when its version is answered with 404, and after a while
// when another is preferred; a definition knows better than discovery.
func TestVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v1, v2 := resource("x.io", "v1", "Thing"), resource("x.io", "v2", "Thing")
		k, c := newKinds(t, v1)
		if !k.Discovered([]Resource{v2}, intact) {
			t.Error("it does not want to look again")
		}
		c.did(t, "an apiserver of several prefers another")
		k.Discovered([]Resource{v1}, intact)
		time.Sleep(certainAfter)
		k.Discovered([]Resource{v2}, intact)
		c.did(t, "they do not agree")
		time.Sleep(certainAfter)
		if k.Discovered([]Resource{v2}, intact) {
			t.Error("it wants to look again")
		}
		c.did(t, "they agree", "move x.io/v2/Thing as Thing", "added Thing")
		c.notServed = true
		k.Discovered([]Resource{v1}, intact)
		c.did(t, "404", "move x.io/v1/Thing as Thing", "added Thing")
		k.define(map[string]*Resource{"things.x.io": &v2})
		k.define(map[string]*Resource{"things.x.io": &v2})
		c.did(t, "as its definition says", "move x.io/v2/Thing as Thing", "added Thing")
		k.Discovered([]Resource{v1}, intact)
		c.did(t, "discovery says otherwise")
	})
}

// TestKeyKinds: who comes later may take a name over.
func TestKeyKinds(t *testing.T) {
	a, b, x := resource("a.io", "v1", "Pod"), resource("b.io", "v1", "Pod"), resource("x.io", "v1", "Pod")
	k, c := newKinds(t)
	k.define(map[string]*Resource{"pods.b.io": &b})
	c.did(t, "alone", "add b.io/v1/Pod as Pod", "added Pod")
	k.define(map[string]*Resource{"pods.a.io": &a})
	c.did(t, "by name", "remove Pod", "add a.io/v1/Pod as Pod", "added Pod", "add b.io/v1/Pod as Pod.b.io", "added Pod.b.io")
	k.Discovered([]Resource{x}, intact)
	c.did(t, "white list first", "remove Pod", "add x.io/v1/Pod as Pod", "added Pod", "add a.io/v1/Pod as Pod.a.io", "added Pod.a.io")
	k.undefine("pods.a.io")
	c.did(t, "gone", "remove Pod.a.io", "removed Pod.a.io")
	k.undefine("pods.x.io")
	c.did(t, "alone again", "remove Pod.b.io", "remove Pod", "removed Pod.b.io", "add b.io/v1/Pod as Pod", "added Pod")
	scoped := b
	scoped.Namespaced = false
	k.define(map[string]*Resource{"pods.b.io": &scoped})
	c.did(t, "another scope", "remove Pod", "add b.io/v1/Pod as Pod", "added Pod")
}
