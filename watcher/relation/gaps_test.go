package relation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

var (
	podsGVR  = watches.GVR{Version: "v1", Resource: "pods"}
	nodesGVR = watches.GVR{Version: "v1", Resource: "nodes"}
	setsGVR  = watches.GVR{Group: "apps", Version: "v1", Resource: "replicasets"}
)

// TestGaps: what was not looked into is named, by type.
func TestGaps(t *testing.T) {
	const custom = "example.com/v1/Game"
	tests := []struct {
		name   string
		change func(*cluster)
		ask    string
		edges  []string
		gaps   []string
	}{
		{"kinds that nobody asked for", nil, "apps/v1/ReplicaSet a/r down 1", []string{"ReplicaSet:a/r owner Pod:a/p"}, []string{"owner NotLookedInto " + custom}},
		{
			"the cluster's too, below an owner of the cluster", nil, "v1/Node n down 1", nil,
			[]string{"owner NotLookedInto example.com/v1/Fleet," + custom},
		},
		{
			"kinds that are followed anyway", func(c *cluster) {
				c.followed = []watches.GVR{{Group: "example.com", Version: "v1", Resource: "games"}}
			},
			"apps/v1/ReplicaSet a/r down 1", []string{"ReplicaSet:a/r owner Game:a/g", "ReplicaSet:a/r owner Pod:a/p"}, nil,
		},
		{"of a Secret only the name is known", nil, "v1/Secret a/s both 1", []string{"Pod:a/p secret Secret:a/s?"}, []string{"owner NotLookedInto v1/Secret"}},
		{"upwards all is known", nil, "v1/Pod a/p up 1", []string{"ReplicaSet:a/r owner Pod:a/p"}, nil},
		{
			"not synced", func(c *cluster) { c.refuse[podsGVR] = &watches.UnsyncedError{Waited: time.Second} }, "apps/v1/ReplicaSet a/r down 1", nil,
			[]string{"owner NotLookedInto " + custom, "owner NotSynced v1/Pod"},
		},
		{
			"not synced, by the view", func(c *cluster) { c.views[podsGVR] = view.New(view.Config{}) }, "apps/v1/ReplicaSet a/r down 1", nil,
			[]string{"owner NotLookedInto " + custom, "owner NotSynced v1/Pod"},
		},
		{
			"no room for another watch", func(c *cluster) { c.refuse[nodesGVR] = &watches.LimitError{Limit: "maxWatches", Most: 3} }, "v1/Pod a/p down 1", []string{"Pod:a/p node Node:n?", "Pod:a/p secret Secret:a/s?"},
			[]string{"node LimitReached v1/Node", "owner NotLookedInto " + custom},
		},
		{
			"not followed", func(c *cluster) { c.refuse[setsGVR] = watches.ErrNotFollowed }, "v1/Pod a/p up 3", []string{"ReplicaSet:a/r? owner Pod:a/p"},
			[]string{"owner NotFollowed apps/v1/ReplicaSet"},
		},
		{
			"withheld", func(c *cluster) { c.refuse[setsGVR] = watches.ErrDenied }, "v1/Pod a/p up 3", []string{"ReplicaSet:a/r? owner Pod:a/p"},
			[]string{"owner Withheld apps/v1/ReplicaSet"},
		},
		{
			"gone from the cluster since", func(c *cluster) { c.refuse[setsGVR] = watches.ErrNotServed }, "v1/Pod a/p up 3", []string{"ReplicaSet:a/r? owner Pod:a/p"},
			[]string{"owner NotServed apps/v1/ReplicaSet"},
		},
		{
			"an error of another sort", func(c *cluster) { c.refuse[setsGVR] = errors.New("boom") }, "v1/Pod a/p up 3", []string{"ReplicaSet:a/r? owner Pod:a/p"},
			[]string{"owner Unavailable apps/v1/ReplicaSet"},
		},
		{
			"a broken watch", func(c *cluster) { c.broken[setsGVR] = errors.New("no route") }, "v1/Pod a/p up 3", []string{"ReplicaSet:a/r owner Pod:a/p"},
			[]string{"owner WatchBroken apps/v1/ReplicaSet"},
		},
		{
			"the start's watch is broken", func(c *cluster) { c.broken[podsGVR] = errors.New("no route") }, "v1/Pod a/p up 1", []string{"ReplicaSet:a/r owner Pod:a/p"},
			[]string{"owner WatchBroken v1/Pod"},
		},
		{
			"an owner of a kind that is not served", nil, "v1/Pod a/x up 3", []string{"Thing:t? owner Pod:a/x"},
			[]string{"owner NotServed gone.io/v2/Thing"},
		},
		{"a holder that is not served", func(c *cluster) { c.unserve("autoscaling") }, "v1/Pod a/p up 1", []string{"ReplicaSet:a/r owner Pod:a/p"}, []string{"scale NotServed HorizontalPodAutoscaler.autoscaling"}},
		{"a target that is not served", func(c *cluster) { c.unserve("") }, "autoscaling/v2/HorizontalPodAutoscaler a/h down 1", []string{"HorizontalPodAutoscaler:a/h scale Pod:a/q?"}, []string{"owner NotLookedInto " + custom, "scale NotServed v1/Pod"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster()
			c.put(t, plain("v1/Node", "n", "n"))
			c.put(t, plain("apps/v1/ReplicaSet", "a/r", "r"))
			c.put(t, strings.Replace(owned("v1/Pod", "a/p", "p", "apps/v1/ReplicaSet r r"), `}]}`, `}]},"spec":{"nodeName":"n","imagePullSecrets":[{"name":"s"}]}`, 1))
			c.put(t, owned("example.com/v1/Game", "a/g", "g", "apps/v1/ReplicaSet r r"))
			c.put(t, with("autoscaling/v2/HorizontalPodAutoscaler", "a/h", "h", `"spec":{"scaleTargetRef":{"apiVersion":"v1","kind":"Pod","name":"q"}}`))
			c.put(t, owned("v1/Pod", "a/x", "x", "gone.io/v2/Thing t t1"))
			if tt.change != nil {
				tt.change(c)
			}
			a := ask(t, relations(t, c, &guard{}, nil), tt.ask)
			equal(t, "edges", lines(a), tt.edges)
			equal(t, "gaps", incomplete(a), tt.gaps)
			if c.held != 0 {
				t.Errorf("%d watches are still held", c.held)
			}
		})
	}
}

func (c *cluster) unserve(group string) {
	c.catalogue.Groups = slices.DeleteFunc(c.catalogue.Groups, func(g collector.APIGroup) bool { return g.Name == group })
}

// TestManyKinds: a gap names so many kinds, and counts the rest; none of them is opened.
func TestManyKinds(t *testing.T) {
	c := newCluster()
	for i := range 300 {
		name := "k" + strings.Repeat("x", i)
		c.serve(watches.Kind{Resource: collector.Resource{Group: "many.io", Version: "v1", Name: name, Kind: strings.ToUpper(name), Namespaced: true}})
	}
	c.put(t, plain("apps/v1/ReplicaSet", "a/r", "r"))
	gaps := ask(t, relations(t, c, &guard{}, nil), "apps/v1/ReplicaSet a/r down 1").Types[relation.Owner].Gaps
	if len(gaps) != 1 || len(gaps[0].Kinds) != relation.MaxGapKinds || gaps[0].More != 301-relation.MaxGapKinds {
		t.Errorf("%+v", gaps)
	}
	if len(c.opened) > len(relation.Default().Kinds) {
		t.Errorf("%d kinds were opened", len(c.opened))
	}
}

// TestBounds: an answer is cut where it is too large, and says so of every type.
func TestBounds(t *testing.T) {
	c := newCluster()
	c.put(t, plain("v1/Node", "n", "n"))
	for _, name := range strings.Split("abcdefgh", "") {
		c.put(t, with("v1/Pod", "a/"+name, name, `"spec":{"nodeName":"n"}`))
	}
	small := func(most int) func(*relation.Config) { return func(c *relation.Config) { c.MaxNodes = most } }
	a := ask(t, relations(t, c, &guard{}, small(5)), "v1/Node n up 1")
	if a.Truncated == nil || *a.Truncated != (relation.Limit{Limit: "maxNodes", Most: 5}) || len(a.Nodes) != 5 || len(a.Edges) != 4 {
		t.Errorf("%+v: %d nodes, %d edges", a.Truncated, len(a.Nodes), len(a.Edges))
	}
	for _, typ := range []relation.Type{relation.OnNode, relation.Owner} {
		if s := a.Types[typ]; s == nil || s.Complete || s.Gaps[len(s.Gaps)-1].Reason != relation.LimitReached && s.Gaps[0].Reason != relation.LimitReached {
			t.Errorf("%s: %+v", typ, s)
		}
	}
	if a := ask(t, relations(t, c, &guard{}, small(9)), "v1/Node n up 1"); a.Truncated != nil || len(a.Nodes) != 9 {
		t.Errorf("%+v: %d nodes", a.Truncated, len(a.Nodes))
	}
	var refs []string
	for i := range 40 {
		refs = append(refs, `{"kind":"Pod","name":"p`+strings.Repeat("x", i)+`"}`)
	}
	c.put(t, with("discovery.k8s.io/v1/EndpointSlice", "a/e", "e", `"endpoints":[{"targetRef":`+strings.Join(refs, `},{"targetRef":`)+`}]`))
	a = ask(t, relations(t, c, &guard{}, small(1)), "discovery.k8s.io/v1/EndpointSlice a/e down 1")
	if a.Truncated == nil || a.Truncated.Limit != "edges" {
		t.Errorf("%+v", a.Truncated)
	}
}

// TestAccess: nobody learns of what he may not list.
func TestAccess(t *testing.T) {
	deny := func(rules ...string) func(access.Attributes) error {
		return func(a access.Attributes) error {
			for _, rule := range rules {
				f := strings.Split(rule, " ") // verb resource namespace
				if f[0] == a.Verb && f[1] == a.Resource && (f[2] == "*" || f[2] == a.Namespace) {
					return &access.ForbiddenError{}
				}
			}
			return nil
		}
	}
	tests := []struct {
		name   string
		refuse func(access.Attributes) error
		ask    string
		edges  []string
		gaps   []string
	}{
		{"Pods are left out", deny("list pods *"), "apps/v1/ReplicaSet a/r down 1", nil, []string{"owner Forbidden v1/Pod", "owner NotLookedInto example.com/v1/Game"}},
		{"get alone does not list", deny("get pods *"), "apps/v1/ReplicaSet a/r down 1", []string{"ReplicaSet:a/r owner Pod:a/p"}, []string{"owner NotLookedInto example.com/v1/Game"}},
		{
			"a start that may not be listed", deny("list pods *"), "v1/Pod a/p down 1", []string{"Pod:a/p configMap ConfigMap:a/c", "Pod:a/p node Node:n"},
			[]string{"owner Forbidden v1/Pod", "owner NotLookedInto example.com/v1/Game"},
		},
		{
			"and is its own owner", deny("list replicasets *"), "apps/v1/ReplicaSet a/self up 1", []string{"ReplicaSet:a/self owner ReplicaSet:a/self"},
			[]string{"owner Forbidden apps/v1/ReplicaSet"},
		},
		{
			"an owner is only named", deny("list replicasets *"), "v1/Pod a/p up 3", []string{"ReplicaSet:a/r? owner Pod:a/p"},
			[]string{"owner Forbidden apps/v1/ReplicaSet"},
		},
		{
			"a ConfigMap is only named", deny("list configmaps a"), "v1/Pod a/p down 1", []string{"Pod:a/p configMap ConfigMap:a/c?", "Pod:a/p node Node:n"},
			[]string{"configMap Forbidden v1/ConfigMap", "owner Forbidden v1/ConfigMap", "owner NotLookedInto example.com/v1/Game"},
		},
		{"Pods of one namespace do not count", deny("list pods b", "list pods "), "v1/Node n up 1", nil, []string{"node Forbidden v1/Pod"}},
		{"not in any namespace", deny("list pods *"), "v1/Node n up 1", nil, []string{"node Forbidden v1/Pod"}},
		{
			"nobody can say", func(a access.Attributes) error {
				if a.Resource == "pods" {
					return &access.UnavailableError{Err: errors.New("no route")}
				}
				return nil
			}, "v1/Node n up 1", nil, []string{"node AccessUnknown v1/Pod"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster()
			c.followed = []watches.GVR{podsGVR}
			c.put(t, plain("v1/Node", "n", "n"))
			c.put(t, plain("v1/ConfigMap", "a/c", "c"))
			c.put(t, plain("apps/v1/ReplicaSet", "a/r", "r"))
			c.put(t, owned("apps/v1/ReplicaSet", "a/self", "s", "apps/v1/ReplicaSet self s"))
			c.put(t, strings.Replace(owned("v1/Pod", "a/p", "p", "apps/v1/ReplicaSet r r"), `}]}`, `}]},"spec":{"nodeName":"n","volumes":[{"configMap":{"name":"c"}}]}`, 1))
			c.put(t, with("v1/Pod", "b/q", "q", `"spec":{"nodeName":"n"}`))
			want := slices.DeleteFunc(slices.Clone(tt.edges), func(s string) bool { return s == "" })
			a := ask(t, relations(t, c, &guard{refuse: tt.refuse}, nil), tt.ask)
			got := slices.DeleteFunc(lines(a), func(s string) bool {
				return strings.Contains(s, "owner ReplicaSet:a/self") && !strings.HasPrefix(s, "ReplicaSet:a/self")
			})
			equal(t, "edges", got, want)
			equal(t, "gaps", incomplete(a), tt.gaps)
		})
	}
}

// TestUnopenedUnlessAllowed: a kind that the user may not list is not even opened.
func TestUnopenedUnlessAllowed(t *testing.T) {
	c := newCluster()
	c.put(t, plain("apps/v1/ReplicaSet", "a/r", "r"))
	g := &guard{refuse: func(a access.Attributes) error {
		if a.Verb == "list" {
			return &access.ForbiddenError{}
		}
		return nil
	}}
	ask(t, relations(t, c, g, nil), "apps/v1/ReplicaSet a/r both 3")
	if len(c.opened) != 1 || c.opened[setsGVR] != 1 {
		t.Errorf("opened: %v", c.opened)
	}
}
