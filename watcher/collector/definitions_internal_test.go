package collector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// follows is Kinds that follows definitions, and what they have it collect.
func follows(t *testing.T, custom Custom) (*Kinds, func() string) {
	k, err := NewKinds(KindsSettings{
		To: &collection{}, Custom: custom, Logger: discard, Added: func(string) {}, Removed: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k, func() string {
		var all []string
		for _, r := range k.set.To.Resources() {
			all = append(all, r.String())
		}
		return strings.Join(all, " ")
	}
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
		o    *object.Object
		gone bool
		want string
	}
	for name, steps := range map[string][]step{
		"added, changed and removed": {
			{o: definitionOf("Thing", "x.io", "Namespaced", both(true, false), true), want: "x.io/v1beta1/Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", both(false, true), true), want: "x.io/v1/Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", false, true), true), want: ""},
			{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true), want: "x.io/v1/Thing"},
			{o: definitionOf("Thing", "x.io", "Namespaced", "", true), gone: true, want: ""},
		},
		"not in the white list": {{o: definitionOf("Thing", "x.io", "Namespaced", version("v2", true, true), true), want: ""}},
		"not established":       {{o: definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), false), want: ""}},
		"unreadable":            {{o: &object.Object{Key: object.Key{Name: "things.x.io"}, Raw: []byte(`{"spec":7}`)}, want: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			k, collects := follows(t, Custom{WhiteList: []string{"x.io/v1", "x.io/v1beta1"}})
			for i, s := range steps {
				e := pipeline.Event{Action: pipeline.Put, Key: s.o.Key, Object: s.o}
				if s.gone {
					e.Action, e.Object = pipeline.Delete, nil
				}
				if err := k.Enqueue(t.Context(), e); err != nil || collects() != s.want {
					t.Errorf("step %d: collects %q, want %q, %v", i, collects(), s.want, err)
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
	k, collects := follows(t, Custom{WhiteList: []string{"x.io/v1", "y.io/v1"}, All: func() []*object.Object { return all }})
	err := k.Enqueue(t.Context(), pipeline.Event{Action: pipeline.Put, Key: all[1].Key, Object: all[1]})
	if want := "x.io/v1/Thing y.io/v1/Thing"; err != nil || collects() != want {
		t.Errorf("collects %q, want %q, %v", collects(), want, err)
	}
}

func TestOneNamespaceLeavesClusterScopeOut(t *testing.T) {
	c := Custom{WhiteList: []string{"x.io/v1"}, Namespaced: true}
	if r, err := c.wanted(definitionOf("Thing", "x.io", "Cluster", version("v1", true, true), true).Raw); err != nil || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

func FuzzWanted(f *testing.F) {
	f.Add(definitionOf("Thing", "x.io", "Namespaced", version("v1", true, true), true).Raw)
	w := Custom{WhiteList: []string{"x.io/v1"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := w.wanted(raw); err == nil && r != nil && r.Validate() != nil {
			t.Errorf("wants an unusable resource: %+v", r)
		}
	})
}
