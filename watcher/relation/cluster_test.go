package relation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }

// served is what the cluster of the tests serves: group, version, plural, kind.
var served = []string{
	"/v1/configmaps/ConfigMap", "/v1/endpoints/Endpoints", "/v1/nodes/Node/cluster", "/v1/persistentvolumeclaims/PersistentVolumeClaim",
	"/v1/persistentvolumes/PersistentVolume/cluster", "/v1/pods/Pod", "/v1/secrets/Secret", "/v1/serviceaccounts/ServiceAccount", "/v1/services/Service",
	"apps/v1/deployments/Deployment", "apps/v1/replicasets/ReplicaSet", "apps/v1/statefulsets/StatefulSet", "apps/v1/daemonsets/DaemonSet",
	"autoscaling/v2/horizontalpodautoscalers/HorizontalPodAutoscaler", "autoscaling/v1/horizontalpodautoscalers/HorizontalPodAutoscaler",
	"batch/v1/cronjobs/CronJob", "batch/v1/jobs/Job", "discovery.k8s.io/v1/endpointslices/EndpointSlice",
	"example.com/v1/fleets/Fleet/cluster", "example.com/v1/games/Game", "networking.k8s.io/v1/ingresses/Ingress",
}

// cluster keeps what is cached of a cluster, in views as a collector fills them.
type cluster struct {
	catalogue *watches.Catalogue
	views     map[watches.GVR]*view.View
	followed  []watches.GVR

	mu      sync.Mutex
	version uint64
	refuse  map[watches.GVR]error
	broken  map[watches.GVR]error
	opened  map[watches.GVR]int
	held    int
}

func newCluster() *cluster {
	c := &cluster{
		catalogue: &watches.Catalogue{}, views: map[watches.GVR]*view.View{}, version: 100,
		refuse: map[watches.GVR]error{}, broken: map[watches.GVR]error{}, opened: map[watches.GVR]int{},
	}
	for _, s := range served {
		p := strings.Split(s, "/")
		k := watches.Kind{Resource: collector.Resource{Group: p[0], Version: p[1], Name: p[2], Kind: p[3], Namespaced: len(p) == 4}}
		c.serve(k)
	}
	return c
}

func (c *cluster) serve(k watches.Kind) {
	g := slices.IndexFunc(c.catalogue.Groups, func(g collector.APIGroup) bool { return g.Name == k.Group })
	if g < 0 {
		g = len(c.catalogue.Groups)
		c.catalogue.Groups = append(c.catalogue.Groups, collector.APIGroup{Name: k.Group})
	}
	group := &c.catalogue.Groups[g]
	v := slices.IndexFunc(group.Versions, func(v collector.APIVersion) bool { return v.Name == k.Version })
	if v < 0 {
		v = len(group.Versions)
		group.Versions = append(group.Versions, collector.APIVersion{Name: k.Version})
	}
	group.Versions[v].Resources = append(group.Versions[v].Resources, k)
	fresh := view.New(view.Config{})
	fresh.Replaced(nil, 100, time.Now())
	c.views[watches.GVR{Group: k.Group, Version: k.Version, Resource: k.Name}] = fresh
}

func (c *cluster) Served() *watches.Catalogue { return c.catalogue }

func (c *cluster) Open(_ context.Context, r watches.GVR, _ watches.Wait) (*watches.Watch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened[r]++
	if err := c.refuse[r]; err != nil {
		return nil, err
	}
	v := c.views[r]
	if v == nil {
		return nil, watches.ErrNotServed
	}
	k, _ := c.catalogue.Find(r)
	c.held++
	var once sync.Once
	broken := c.broken[r]
	return &watches.Watch{
		Kind: k, View: v, Health: func() watches.Health { return watches.Health{Broken: broken} },
		Close: func() {
			once.Do(func() {
				c.mu.Lock()
				c.held--
				c.mu.Unlock()
			})
		},
	}, nil
}

// packed are the kinds whose objects are compressed, as a collector may keep them: what is
// read of one is good only until the buffer's next use.
var packed = map[string]*object.Packer{"Pod": {}, "ReplicaSet": {}, "EndpointSlice": {}, "PersistentVolume": {}, "Ingress": {}}

// read makes an object as a collector does.
func read(t testing.TB, raw string) (watches.GVR, *object.Object) {
	t.Helper()
	m, err := object.Scan([]byte(raw))
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	recipe := object.Recipe{}
	if packed[m.Kind] != nil {
		recipe.Packer = packed[m.Kind]
	}
	o := must(recipe.Build([]byte(raw), &m, m.Kind, nil))
	group, version, grouped := strings.Cut(m.APIVersion, "/")
	if !grouped {
		group, version = "", group
	}
	plural := strings.ToLower(m.Kind) + "s"
	switch m.Kind {
	case "Endpoints":
		plural = "endpoints"
	case "Ingress":
		plural = "ingresses"
	}
	return watches.GVR{Group: group, Version: version, Resource: plural}, o
}

// put creates or changes an object.
func (c *cluster) put(t testing.TB, raw string) {
	t.Helper()
	r, o := read(t, raw)
	v := c.views[r]
	if v == nil {
		t.Fatalf("%v is not served", r)
	}
	c.mu.Lock()
	c.version++
	o.ResourceVersion = c.version
	c.mu.Unlock()
	v.Changed(c.get(t, v, view.NameOf(o)), o, o.ResourceVersion, time.Now())
}

func (c *cluster) get(t testing.TB, v *view.View, n view.Name) *object.Object {
	s := must(v.Snapshot())
	o, _ := s.Get(n)
	return o
}

// drop deletes one.
func (c *cluster) drop(t testing.TB, r watches.GVR, n view.Name) {
	c.mu.Lock()
	c.version++
	version := c.version
	c.mu.Unlock()
	v := c.views[r]
	v.Changed(c.get(t, v, n), nil, version, time.Now())
}

// guard lets a user do what its function does not refuse. The zero one refuses nothing.
type guard struct {
	refuse func(access.Attributes) error
	user   error
}

func (g *guard) Authenticate(*http.Request) (access.User, error) {
	return access.User{Name: "ann"}, g.user
}

func (g *guard) Authorize(_ context.Context, u access.User, a access.Attributes) error {
	if g.refuse == nil {
		return nil
	}
	err := g.refuse(a)
	var f *access.ForbiddenError
	if errors.As(err, &f) {
		f.User, f.Attributes = u, a
	}
	return err
}

func relations(t testing.TB, c *cluster, g *guard, change func(*relation.Config)) *relation.Relations {
	t.Helper()
	cfg := relation.Default()
	if change != nil {
		change(&cfg)
	}
	r, err := relation.New(cfg, relation.Settings{
		Kinds: c, Followed: func() []watches.GVR { return c.followed }, Guard: g,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask parses "gvk namespace/name direction depth", the namespace may be missing.
func ask(t testing.TB, r *relation.Relations, text string) *relation.Answer {
	t.Helper()
	a, err := r.Graph(t.Context(), question(t, text), nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

func question(t testing.TB, text string) relation.Query {
	t.Helper()
	f := strings.Fields(text)
	namespace, name, namespaced := strings.Cut(f[1], "/")
	if !namespaced {
		namespace, name = "", namespace
	}
	q := must(relation.ParseQuery(url.Values{"gvk": {f[0]}, "namespace": {namespace}, "name": {name}, "direction": {f[2]}, "depth": {f[3]}}))
	return q
}

// lines are the edges of an answer in order of text. A node that is only named has a ?, one that dangles why.
func lines(a *relation.Answer) []string {
	all := []string{}
	for _, e := range a.Edges {
		all = append(all, fmt.Sprintf("%s %s %s", label(a.Nodes[e.From]), e.Type, label(a.Nodes[e.To])))
	}
	slices.Sort(all)
	return all
}

func label(n relation.Node) string {
	text := n.GVK[strings.LastIndex(n.GVK, "/")+1:] + ":"
	if n.Namespace != "" {
		text += n.Namespace + "/"
	}
	text += n.Name
	switch {
	case n.Exists == nil:
		text += "?"
	case !*n.Exists:
		text += "!" + string(n.Dangling)
	}
	return text
}

// incomplete are the gaps of an answer: type, reason, kinds.
func incomplete(a *relation.Answer) []string {
	all := []string{}
	for t, s := range a.Types {
		if s.Complete != (len(s.Gaps) == 0) {
			all = append(all, fmt.Sprintf("%s is complete: %t, with %v", t, s.Complete, s.Gaps))
		}
		for _, g := range s.Gaps {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", t, g.Reason, strings.Join(g.Kinds, ","))))
		}
	}
	slices.Sort(all)
	return all
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Objects as JSON.

func meta(kind, at, uid, more string) string {
	namespace, name, namespaced := strings.Cut(at, "/")
	if !namespaced {
		namespace, name = "", namespace
	}
	text := fmt.Sprintf(`"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"uid":%q`, kind[:strings.LastIndex(kind, "/")], kind[strings.LastIndex(kind, "/")+1:], name, uid)
	if namespaced {
		text += fmt.Sprintf(`,"namespace":%q`, namespace)
	}
	return text + more + "}"
}

func plain(kind, at, uid string) string { return "{" + meta(kind, at, uid, "") + "}" }

func with(kind, at, uid, body string) string { return "{" + meta(kind, at, uid, "") + "," + body + "}" }

// owned names its owners, each as "apps/v1/Kind name uid".
func owned(kind, at, uid string, owners ...string) string {
	refs := []string{}
	for _, o := range owners {
		f := strings.Fields(o)
		i := strings.LastIndex(f[0], "/")
		refs = append(refs, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q}`, f[0][:i], f[0][i+1:], f[1], f[2]))
	}
	return "{" + meta(kind, at, uid, `,"ownerReferences":[`+strings.Join(refs, ",")+"]") + "}"
}

// must is the value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
