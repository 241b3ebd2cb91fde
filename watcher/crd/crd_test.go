package crd

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// collection records what is added and removed, in order.
type collection struct {
	have []collector.Resource
	log  []string
}

func (c *collection) Resources() []collector.Resource { return c.have }

func (c *collection) AddResource(r collector.Resource) error {
	c.have = append(c.have, r)
	c.log = append(c.log, "add "+r.GroupVersion()+" "+r.Key())
	return nil
}

func (c *collection) RemoveResource(key string) error {
	c.have = slices.DeleteFunc(c.have, func(r collector.Resource) bool { return r.Key() == key })
	c.log = append(c.log, "remove "+key)
	return nil
}

func definitionOf(kind, group, scope, versions string, established bool) *object.Object {
	status := "False"
	if established {
		status = "True"
	}
	raw := fmt.Sprintf(`{"spec":{"group":%q,"scope":%q,"names":{"plural":"things","kind":%q},"versions":[%s]},`+
		`"status":{"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":%q}]}}`, group, scope, kind, versions, status)
	return &object.Object{Key: object.Key{Kind: "CustomResourceDefinition", Name: "things." + group}, Raw: []byte(raw)}
}

func version(name string, served, storage bool) string {
	return fmt.Sprintf(`{"name":%q,"served":%v,"storage":%v}`, name, served, storage)
}

func TestFollowsDefinitions(t *testing.T) {
	both := func(v1beta1, v1 bool) string {
		return version("v1beta1", true, v1beta1) + "," + version("v1", true, v1)
	}
	type step struct {
		o      *object.Object
		gone   bool
		want   []string
		remove string
	}
	for name, steps := range map[string][]step{
		"added, changed and removed": {
			{o: definitionOf("Thing", "x.io", "Namespaced", both(true, false), true), want: []string{"add x.io/v1beta1 Thing"}},
			{o: definitionOf("Thing", "x.io", "Namespaced", both(true, false), true)},
			{o: definitionOf("Thing", "x.io", "Namespaced", both(false, true), true), want: []string{"remove Thing", "add x.io/v1 Thing"}},
			{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", false, true), true), want: []string{"remove Thing"}, remove: "Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true), want: []string{"add x.io/v1 Thing"}},
			{o: definitionOf("Thing", "x.io", "Namespaced", "", true), gone: true, want: []string{"remove Thing"}, remove: "Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", "", true), gone: true},
		},
		"not in the white list": {{o: definitionOf("Thing", "x.io", "Namespaced", version("v2", true, true), true)}},
		"not established":       {{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), false)}},
		"unreadable":            {{o: &object.Object{Key: object.Key{Name: "broken"}, Raw: []byte(`{"spec":7}`)}}},
		"a kind of two groups": {
			{o: definitionOf("Pod", "x.io", "Namespaced", version("v1", true, true), true), want: []string{"add x.io/v1 Pod.x.io"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &collection{have: []collector.Resource{{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}}}
			var added, removed []string
			w := New(Config{
				WhiteList: []string{"x.io/v1", "x.io/v1beta1"}, Logger: slog.New(slog.DiscardHandler),
				Added:   func(key string) { added = append(added, "add "+key) },
				Removed: func(key string) { removed = append(removed, key) },
			}, c)
			for i, s := range steps {
				c.log, added, removed = nil, nil, nil
				e := pipeline.Event{Action: pipeline.Put, Key: s.o.Key, Object: s.o}
				if s.gone {
					e.Action, e.Object = pipeline.Delete, nil
				}
				if err := w.Enqueue(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(s.want, c.log); d != "" {
					t.Errorf("step %d: %s", i, d)
				}
				adds := slices.DeleteFunc(slices.Clone(c.log), func(l string) bool { return strings.HasPrefix(l, "remove ") })
				for i, l := range adds {
					adds[i] = "add " + l[strings.LastIndex(l, " ")+1:]
				}
				if d := cmp.Diff(adds, added, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("step %d: told of other additions than were made: %s", i, d)
				}
				if got := append(removed, "")[0]; got != s.remove {
					t.Errorf("step %d: told of the removal of %q, want %q", i, got, s.remove)
				}
			}
		})
	}
}

func TestOneNamespaceLeavesClusterScopeOut(t *testing.T) {
	c := &collection{}
	w := New(Config{WhiteList: []string{"x.io/v1"}, Namespaced: true, Logger: slog.New(slog.DiscardHandler)}, c)
	o := definitionOf("Thing", "x.io", "Cluster", version("v1", true, true), true)
	if err := w.Enqueue(t.Context(), pipeline.Event{Action: pipeline.Put, Key: o.Key, Object: o}); err != nil || c.log != nil {
		t.Errorf("%v, %v", c.log, err)
	}
}

func FuzzWanted(f *testing.F) {
	f.Add(definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true).Raw)
	w := New(Config{WhiteList: []string{"x.io/v1"}}, &collection{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := w.wanted(raw); err == nil && r != nil && r.Validate() != nil {
			t.Errorf("wants an unusable resource: %+v", r)
		}
	})
}
