package collector

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// told records what a watcher says, in order.
type told struct{ log []string }

func (k *told) Define(changes map[string]*Resource) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		line := name + ": none"
		if r := changes[name]; r != nil {
			line = name + ": " + r.String()
		}
		k.log = append(k.log, line)
	}
}

func (k *told) Undefine(name string) { k.log = append(k.log, name+": gone") }

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
		o    *object.Object
		gone bool
		want string
	}
	for name, steps := range map[string][]step{
		"added, changed and removed": {
			{o: definitionOf("Thing", "x.io", "Namespaced", both(true, false), true), want: "x.io/v1beta1/Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", both(false, true), true), want: "x.io/v1/Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", false, true), true), want: "none"},
			{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true), want: "x.io/v1/Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", "", true), gone: true, want: "gone"},
		},
		"not in the white list": {{o: definitionOf("Thing", "x.io", "Namespaced", version("v2", true, true), true), want: "none"}},
		"not established":       {{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), false), want: "none"}},
		"unreadable":            {{o: &object.Object{Key: object.Key{Name: "things.x.io"}, Raw: []byte(`{"spec":7}`)}, want: "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			var k told
			w := NewFollower(FollowerConfig{WhiteList: []string{"x.io/v1", "x.io/v1beta1"}, Logger: slog.New(slog.DiscardHandler)}, &k)
			for i, s := range steps {
				k.log = nil
				e := pipeline.Event{Action: pipeline.Put, Key: s.o.Key, Object: s.o}
				if s.gone {
					e.Action, e.Object = pipeline.Delete, nil
				}
				if err := w.Enqueue(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]string{"things.x.io: " + s.want}, k.log); d != "" {
					t.Errorf("step %d: %s", i, d)
				}
			}
		})
	}
}

// TestTakesAllAtOnce: what is there at the start is told at the first event.
func TestTakesAllAtOnce(t *testing.T) {
	all := []*object.Object{
		definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true),
		definitionOf("Thing", "y.io", "Namespaced", version("v1", true, true), true),
	}
	var k told
	w := NewFollower(FollowerConfig{WhiteList: []string{"x.io/v1", "y.io/v1"}, Logger: slog.New(slog.DiscardHandler), All: func() []*object.Object { return all }}, &k)
	for i, want := range []int{2, 3} {
		if err := w.Enqueue(t.Context(), pipeline.Event{Action: pipeline.Put, Key: all[1].Key, Object: all[1]}); err != nil || len(k.log) != want {
			t.Errorf("event %d: %v, %v", i, k.log, err)
		}
	}
}

func TestOneNamespaceLeavesClusterScopeOut(t *testing.T) {
	w := NewFollower(FollowerConfig{WhiteList: []string{"x.io/v1"}, Namespaced: true}, nil)
	if r, err := w.wanted(definitionOf("Thing", "x.io", "Cluster", version("v1", true, true), true).Raw); err != nil || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

func FuzzWanted(f *testing.F) {
	f.Add(definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true).Raw)
	w := NewFollower(FollowerConfig{WhiteList: []string{"x.io/v1"}}, nil)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := w.wanted(raw); err == nil && r != nil && r.Validate() != nil {
			t.Errorf("wants an unusable resource: %+v", r)
		}
	})
}
