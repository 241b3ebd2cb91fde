package relation_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// thing is an object of the model, and what it was made to refer to.
type thing struct {
	kind, namespace, name, uid string // group/version/Kind
	links                      []link
}

type link struct {
	typ                        relation.Type
	kind, namespace, name, uid string
}

func (t *thing) at() string { return t.kind + " " + t.namespace + "/" + t.name }

// model is a cluster, kept the slow way.
type model struct {
	*rand.Rand
	things map[string]*thing // by at()
	uids   int
}

// scopes of the kinds of the model.
var modelKinds = map[string]bool{
	"apps/v1/Deployment": true, "apps/v1/ReplicaSet": true, "v1/Pod": true, "v1/Service": true, "v1/Endpoints": true, "v1/ConfigMap": true,
	"v1/ServiceAccount": true, "v1/PersistentVolumeClaim": true, "v1/PersistentVolume": false, "v1/Node": false, "example.com/v1/Fleet": false,
	"discovery.k8s.io/v1/EndpointSlice": true, "autoscaling/v2/HorizontalPodAutoscaler": true, "networking.k8s.io/v1/Ingress": true,
}

func (m *model) kind() string {
	return pick(m, slices.Sorted(maps.Keys(modelKinds)))
}

func pick[T any](m *model, all []T) T { return all[m.IntN(len(all))] }

func (m *model) name() string { return pick(m, []string{"x", "y", "z"}) }

func (m *model) spot(kind, namespace string) (string, string) {
	if !modelKinds[kind] {
		namespace = ""
	}
	return namespace, m.name()
}

// uidAt is mostly that of what is there.
func (m *model) uidAt(kind, namespace, name string) string {
	if t := m.things[(&thing{kind: kind, namespace: namespace, name: name}).at()]; t != nil && m.IntN(5) > 0 {
		return t.uid
	}
	return fmt.Sprint("u", m.IntN(m.uids+1))
}

// make makes a thing with links, and its JSON.
func (m *model) make(kind, namespace, name, uid string) (*thing, string) {
	t := &thing{kind: kind, namespace: namespace, name: name, uid: uid}
	add := func(typ relation.Type, kind, namespace, name, uid string) {
		t.links = append(t.links, link{typ, kind, namespace, name, uid})
	}
	more, spec := "", `"spec":{}`
	var owners []string
	for range m.IntN(3) {
		owner := pick(m, []string{"apps/v1/Deployment", "apps/v1/ReplicaSet", "v1/Pod", "example.com/v1/Fleet", "v1/Service"})
		if namespace == "" {
			owner = "example.com/v1/Fleet"
		}
		at, ownerName := m.spot(owner, namespace)
		ownerUID := m.uidAt(owner, at, ownerName)
		i := strings.LastIndex(owner, "/")
		owners = append(owners, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q}`, owner[:i], owner[i+1:], ownerName, ownerUID))
		add(relation.Owner, owner, at, ownerName, ownerUID)
	}
	more += `,"ownerReferences":[` + strings.Join(owners, ",") + `]`
	target := func() string {
		podName := m.name()
		podUID := m.uidAt("v1/Pod", namespace, podName)
		add(relation.Target, "v1/Pod", namespace, podName, podUID)
		return fmt.Sprintf(`{"targetRef":{"kind":"Pod","namespace":%q,"name":%q,"uid":%q}}`, namespace, podName, podUID)
	}
	switch kind {
	case "v1/Pod":
		node, config, account, claim := m.name(), m.name(), m.name(), m.name()
		add(relation.OnNode, "v1/Node", "", node, "")
		add(relation.ConfigMap, "v1/ConfigMap", namespace, config, "")
		add(relation.ServiceAccount, "v1/ServiceAccount", namespace, account, "")
		add(relation.Claim, "v1/PersistentVolumeClaim", namespace, claim, "")
		spec = fmt.Sprintf(`"spec":{"nodeName":%q,"serviceAccountName":%q,"volumes":[{"persistentVolumeClaim":{"claimName":%q}}],"containers":[{"envFrom":[{"configMapRef":{"name":%q}}]}]}`, node, account, claim, config)
	case "v1/PersistentVolumeClaim":
		volume := m.name()
		add(relation.Bound, "v1/PersistentVolume", "", volume, "")
		spec = fmt.Sprintf(`"spec":{"volumeName":%q}`, volume)
	case "v1/PersistentVolume":
		at, claim := pick(m, []string{"a", "b"}), m.name()
		claimUID := m.uidAt("v1/PersistentVolumeClaim", at, claim)
		add(relation.Bound, "v1/PersistentVolumeClaim", at, claim, claimUID)
		spec = fmt.Sprintf(`"spec":{"claimRef":{"namespace":%q,"name":%q,"uid":%q}}`, at, claim, claimUID)
	case "discovery.k8s.io/v1/EndpointSlice":
		service := m.name()
		add(relation.Slice, "v1/Service", namespace, service, "")
		more += fmt.Sprintf(`,"labels":{"kubernetes.io/service-name":%q}`, service)
		spec = `"endpoints":[` + target() + "," + target() + "]"
	case "v1/Endpoints":
		add(relation.EndpointsOf, "v1/Service", namespace, name, "")
		spec = `"subsets":[{"addresses":[` + target() + `]}]`
	case "autoscaling/v2/HorizontalPodAutoscaler":
		scaled := pick(m, []string{"apps/v1/Deployment", "apps/v1/ReplicaSet"})
		scaledName := m.name()
		add(relation.Scale, scaled, namespace, scaledName, "")
		spec = fmt.Sprintf(`"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":%q,"name":%q}}`, scaled[len("apps/v1/"):], scaledName)
	case "networking.k8s.io/v1/Ingress":
		service := m.name()
		add(relation.Backend, "v1/Service", namespace, service, "")
		spec = fmt.Sprintf(`"spec":{"defaultBackend":{"service":{"name":%q}}}`, service)
	}
	at := name
	if namespace != "" {
		at = namespace + "/" + name
	}
	return t, "{" + meta(kind, at, uid, more) + "," + spec + "}"
}

// arrow is an edge by what stands at its ends.
type arrow struct {
	from, to string
	typ      relation.Type
}

func spell(kind, namespace, name, uid, dangling string) string {
	return strings.Join([]string{kind, namespace, name, uid, dangling}, "|")
}

// arrows are all edges that there are.
func (m *model) arrows() (all []arrow) {
	for _, h := range m.things {
		self := spell(h.kind, h.namespace, h.name, h.uid, "")
		for _, l := range h.links {
			other := m.things[(&thing{kind: l.kind, namespace: l.namespace, name: l.name}).at()]
			var end string
			switch {
			case other == nil && l.typ == relation.EndpointsOf:
				continue
			case other == nil:
				end = spell(l.kind, l.namespace, l.name, l.uid, "NotFound")
			case l.uid != "" && l.uid != other.uid:
				end = spell(l.kind, l.namespace, l.name, l.uid, "OtherUID")
			case l.typ == relation.Bound && !slices.ContainsFunc(other.links, func(back link) bool {
				return back.typ == relation.Bound && back.namespace == h.namespace && back.name == h.name && (back.uid == h.uid || back.uid == "" && back.kind == "v1/PersistentVolume")
			}):
				end = spell(l.kind, l.namespace, l.name, l.uid, "Unconfirmed")
			default:
				end = spell(other.kind, other.namespace, other.name, other.uid, "")
			}
			switch {
			case l.typ == relation.Owner, l.typ == relation.Slice, l.typ == relation.EndpointsOf, l.typ == relation.Bound && h.kind == "v1/PersistentVolume":
				all = append(all, arrow{end, self, l.typ})
			default:
				all = append(all, arrow{self, end, l.typ})
			}
		}
	}
	return all
}

// answer is what a query must show, by following arrows.
func (m *model) answer(q relation.Query, start *thing) []string {
	shown := map[string]bool{}
	all := m.arrows()
	for _, d := range []relation.Direction{relation.Down, relation.Up} {
		if q.Direction != d && q.Direction != relation.Both {
			continue
		}
		seen := map[string]bool{spell(start.kind, start.namespace, start.name, start.uid, ""): true}
		for range q.Depth {
			reached := maps.Clone(seen)
			for _, a := range all {
				near, far := a.from, a.to
				if d == relation.Up {
					near, far = far, near
				}
				if seen[near] {
					shown[fmt.Sprint(a)] = true
					reached[far] = reached[far] || strings.HasSuffix(far, "|") // what dangles leads nowhere
				}
			}
			maps.DeleteFunc(reached, func(_ string, is bool) bool { return !is })
			seen = reached
		}
	}
	return slices.Sorted(maps.Keys(shown))
}

// TestModel: answers about random clusters that change are those of a slow look at all of
// it.
func TestModel(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 5
	}
	dangling, edges := 0, 0
	for seed := range seeds {
		m := &model{Rand: rand.New(rand.NewPCG(uint64(seed), 7)), things: map[string]*thing{}}
		c := newCluster()
		c.followed = []watches.GVR{{Group: "example.com", Version: "v1", Resource: "fleets"}}
		r := relations(t, c, &guard{}, nil)
		for step := range 300 {
			kind := m.kind()
			namespace, name := m.spot(kind, pick(m, []string{"a", "a", "b"}))
			old := m.things[(&thing{kind: kind, namespace: namespace, name: name}).at()]
			switch {
			case old != nil && m.IntN(4) == 0:
				delete(m.things, old.at())
				gvr, _ := read(t, plain(kind, "a/x", ""))
				c.drop(t, gvr, view.Name{Namespace: namespace, Name: name})
			default:
				m.uids++
				uid := fmt.Sprint("u", m.uids)
				if old != nil && m.IntN(4) > 0 {
					uid = old.uid
				}
				now, text := m.make(kind, namespace, name, uid)
				m.things[now.at()] = now
				c.put(t, text)
			}
			if step < 60 || step%3 > 0 || len(m.things) == 0 {
				continue
			}
			start := m.things[pick(m, slices.Sorted(maps.Keys(m.things)))]
			q := relation.Query{
				Kind: start.kind[strings.LastIndex(start.kind, "/")+1:], Version: "v1", Namespace: start.namespace, Name: start.name,
				Depth: 1 + m.IntN(4), Direction: pick(m, []relation.Direction{relation.Down, relation.Up, relation.Both}),
			}
			if parts := strings.Split(start.kind, "/"); len(parts) == 3 {
				q.Group, q.Version = parts[0], parts[1]
			}
			a, err := r.Graph(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			end := func(i int) string {
				n := a.Nodes[i]
				if n.Exists == nil || *n.Exists != (n.Dangling == "") {
					t.Fatalf("%+v", n)
				}
				if n.Dangling != "" {
					dangling++
				}
				return spell(n.GVK, n.Namespace, n.Name, n.UID, string(n.Dangling))
			}
			for _, e := range a.Edges {
				got = append(got, fmt.Sprint(arrow{end(e.From), end(e.To), e.Type}))
				edges++
			}
			slices.Sort(got)
			if want := m.answer(q, start); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: %+v\n%s\nwant\n%s", seed, step, q, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	if edges < 1000 || dangling < 100 {
		t.Errorf("only %d edges, %d of them dangling: the model tests little", edges, dangling)
	}
}
