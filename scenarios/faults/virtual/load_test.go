package virtual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// The kinds of the load.
var (
	replicaSets = apisim.Resource{Group: "apps", Versions: []string{"v1"}, Name: "replicasets", Kind: "ReplicaSet", Namespaced: true}
	things      = apisim.Resource{Group: "example.com", Versions: []string{"v1"}, Name: "things", Kind: "Thing", Namespaced: true, Custom: true}
	definitions = apisim.Resource{Group: "apiextensions.k8s.io", Versions: []string{"v1"}, Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
)

func served() []apisim.Resource {
	return []apisim.Resource{apisim.Pods, apisim.ConfigMaps, apisim.Secrets, apisim.Nodes, apisim.Events, apisim.Namespaces, replicaSets, things, definitions}
}

// ignored is a namespace that the filter keeps out.
const ignored = "ignored"

// op is one planned operation.
type op struct {
	at       time.Duration // from the start of the load
	id       int64
	typ      string
	resource apisim.Resource
	ns, name string
	size     int // of padding
}

// share of the operations, in hundredths.
var shares = []struct {
	resource apisim.Resource
	share    int
}{
	{apisim.Pods, 50}, {apisim.ConfigMaps, 15}, {apisim.Secrets, 8}, {apisim.Nodes, 7}, {apisim.Events, 8}, {replicaSets, 6}, {things, 6},
}

// planner draws operations that are possible in their order.
type planner struct {
	rng   *rand.Rand
	alive map[string]bool
	id    int64
	ops   []op
	again int // hundredths of changes that end or renew the object
}

// plan draws n operations over a time, in bursts of several at one instant, after some that prepare the state.
func plan(s setup) (prepare, load []op) {
	n, span := s.ops, s.span
	p := &planner{rng: rand.New(rand.NewPCG(s.seed, 0x6f7073)), alive: map[string]bool{}, again: 22}
	if s.recreate {
		p.again = 75
	}
	for range max(8, n/20) {
		p.draw(0)
	}
	prepare, p.ops = p.ops, nil
	var at time.Duration
	mean := span * 10 / time.Duration(n*7) // a third of the operations come in bursts
	for len(p.ops) < n {
		burst := 1
		if p.rng.IntN(10) == 0 {
			burst = 2 + p.rng.IntN(7)
		}
		for range burst {
			p.draw(at)
		}
		at += min(time.Duration(p.rng.ExpFloat64()*float64(mean)), span/10)
	}
	// Spread them over exactly the span.
	last := p.ops[len(p.ops)-1].at
	for i := range p.ops {
		p.ops[i].at = time.Duration(float64(p.ops[i].at) / float64(max(last, 1)) * float64(span))
	}
	return prepare, p.ops[:n]
}

func (p *planner) draw(at time.Duration) {
	r := shares[0].resource
	for n, i := p.rng.IntN(100), 0; n >= 0; i++ {
		r = shares[i].resource
		n -= shares[i].share
	}
	ns, names := "", 3
	if r.Namespaced {
		ns = []string{"a", "b"}[p.rng.IntN(2)]
		if p.rng.IntN(25) == 0 && r.Kind != things.Kind {
			ns = ignored
		}
		names = 4
	}
	name := fmt.Sprintf("%c%d", r.Name[0], p.rng.IntN(names))
	key := r.Name + "/" + ns + "/" + name
	add := func(typ string) {
		p.id++
		size := 0
		if p.rng.IntN(20) == 0 {
			size = p.rng.IntN(20_000)
		}
		p.ops = append(p.ops, op{at, p.id, typ, r, ns, name, size})
	}
	if !p.alive[key] {
		p.alive[key] = true
		add(oplog.TypeCreate)
		return
	}
	switch n := p.rng.IntN(100); {
	case n < 12:
		p.alive[key] = false
		add(oplog.TypeDelete)
	case n < p.again: // made again at once
		add(oplog.TypeDelete)
		add(oplog.TypeCreate)
	case r.Kind == apisim.Nodes.Kind && n < 60:
		add(oplog.TypeHeartbeat)
	default:
		add(oplog.TypePatch)
	}
}

// object renders the state an operation makes.
func (o op) object(was []byte, secret string) ([]byte, error) {
	if o.typ == oplog.TypeHeartbeat && was != nil {
		return beat(was, o.id)
	}
	meta := map[string]any{
		"name": o.name, "labels": map[string]any{"app": o.name},
		"annotations":   map[string]any{"watchbench.dev/op": fmt.Sprint(o.id)},
		"managedFields": []any{map[string]any{"manager": "kubelet", "time": "2026-01-01T00:00:00Z", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}},
	}
	if o.ns != "" {
		meta["namespace"] = o.ns
	}
	obj := map[string]any{"metadata": meta, "spec": map[string]any{"revision": o.id, "padding": string(bytes.Repeat([]byte{'x'}, o.size))}}
	switch o.resource.Kind {
	case apisim.Pods.Kind:
		if o.id%2 == 0 {
			meta["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "x", "controller": true}}
		}
	case replicaSets.Kind:
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "y", "controller": true}}
	case apisim.Secrets.Kind:
		obj["data"] = map[string]any{"token": secret}
	case apisim.Nodes.Kind:
		obj["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}}}
	case apisim.Events.Kind:
		obj["involvedObject"] = map[string]any{"kind": "Pod", "namespace": o.ns, "name": "p1"}
		obj["reason"], obj["message"], obj["type"] = "BackOff", fmt.Sprint("attempt ", o.id), "Warning"
		obj["lastTimestamp"] = time.Unix(1767225600+o.id, 0).UTC().Format(time.RFC3339)
	}
	return json.Marshal(obj)
}

// beat changes a Node's heartbeat and nothing else.
func beat(was []byte, id int64) ([]byte, error) {
	var obj map[string]any
	if err := json.Unmarshal(was, &obj); err != nil {
		return nil, err
	}
	status, _ := obj["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		c.(map[string]any)["lastHeartbeatTime"] = time.Unix(1767225600+id, 0).UTC().Format(time.RFC3339)
	}
	return json.Marshal(obj)
}
