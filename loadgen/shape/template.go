package shape

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// template holds the common content of the objects of a workload, and their ownership.
type template struct {
	spec        corev1.PodSpec // images without tag
	labels      map[string]string
	annotations map[string]string // of the pods
	own         map[string]string // annotations of a workload itself
	gates       []gate            // of a Pod
	farewell    string            // of a Pod: what a container says that is killed
	text        int               // bytes of content, of kinds without pods
	refs        int               // live targets; guarded by Maker.mu
	root        *ownership
}

// templateKey identifies a template. Sizes and lengths are in steps, seeds in families: a run has some hundreds.
type templateKey struct {
	kind, ownerKind   string
	family            uint64
	size, names       int
	containers, inits int
	variant           string // Event: its reason
	subject           string // Event: kind of its subject
	bound             bool   // Pod: at its fullest when it is created
}

const (
	families = 16
	// sizeStep is the relative step of sizes: templates are within half of it.
	sizeStep = 0.02
	nameStep = 24

	streamSpec, streamContent, streamGates = 1, 2, 3
)

// MaxBytes is the largest object: etcd takes 1.5 MiB of protobuf, which the same object's JSON always exceeds.
const MaxBytes = 1 << 20

// Most bytes of kinds with a bound of their own.
var maxBytes = map[string]int{KindEvent: 100 << 10, KindNode: 800 << 10}

func keyOf(t *plan.Target) templateKey {
	k := templateKey{kind: t.Kind, bound: t.Bound, family: mix(root(t).Seed) % families,
		containers: min(max(1, t.Containers), 40), inits: min(max(0, t.InitContainers), 20)}
	names := len(t.Name)
	if t.Owner != nil {
		k.ownerKind = t.Owner.Kind
		names += len(t.Owner.Name) + len(root(t).Name)
	}
	if t.Kind == KindEvent {
		k.variant, k.family = t.Reason, 0
		if t.Subject != nil {
			k.subject, k.family = t.Subject.Kind, mix(root(t.Subject).Seed)%families
			names += 2 * len(t.Subject.Name)
		}
	}
	k.names = names / nameStep
	k.size = bucket(wantedBytes(t))
	switch t.Kind {
	case KindEndpointSlice, KindLease:
		k.size, k.names, k.family = 0, 0, 0
	case KindConfigMap, KindWidget, KindNode:
		k.family = 0
	}
	return k
}

func wantedBytes(t *plan.Target) int {
	most := MaxBytes
	if m := maxBytes[t.Kind]; m > 0 {
		most = m
	}
	return min(max(t.Bytes, 0), most)
}

func bucket(bytes int) int {
	if bytes < 256 {
		return 0
	}
	return int(math.Round(math.Log(float64(bytes)) / sizeStep))
}

// template returns a target's template, built under the lock at its first use.
func (m *Maker) template(t *plan.Target, hold bool) *template {
	key := keyOf(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	tp := m.templates[key]
	if tp == nil {
		tp = m.build(key, t)
		m.templates[key] = tp
	}
	if hold {
		tp.refs++
	}
	return tp
}

// fullest are the operations after which an object is at its fullest.
func fullest(t *plan.Target) []string {
	switch t.Kind {
	case KindPod:
		if t.Bound {
			return []string{oplog.TypeCreate}
		}
		return []string{oplog.TypeCreate, oplog.TypeReady}
	case KindReplicaSet, KindDeployment, KindDaemonSet, KindJob, KindNode:
		return []string{oplog.TypeCreate, oplog.TypeStatus}
	default:
		return []string{oplog.TypeCreate}
	}
}

func (m *Maker) build(key templateKey, t *plan.Target) *template {
	want := wantedBytes(t)
	seed := mix(key.family)
	fill := func(budget, pad int) *template {
		tp := &template{root: &ownership{}}
		switch key.kind {
		case KindPod, KindReplicaSet, KindDeployment, KindDaemonSet, KindJob:
			d := newDraw(seed, streamSpec)
			job := key.kind == KindJob || key.ownerKind == KindJob
			if key.kind == KindPod {
				tp.gates, tp.farewell = gatesFor(newDraw(seed, streamGates), budget)
				budget -= min(budget/gatePart, maxGates)
			}
			tp.spec, tp.annotations = buildSpec(d, key.containers, key.inits, budget, job)
			tp.spec.ReadinessGates = gateNames(tp.gates)
			tp.labels = map[string]string{componentLabel: tp.spec.Containers[0].Name}
			if pad > 0 {
				text := newDraw(seed, streamContent).text(pad)
				if key.kind == KindPod {
					tp.annotations[padding] = text
				} else {
					tp.own = map[string]string{padding: text}
				}
			}
		default:
			tp.text = max(0, budget+pad)
		}
		return tp
	}
	if key.size == 0 {
		return fill(0, 0)
	}
	base := m.measure(fill(0, 0), t)
	budget := want - base
	if budget <= 0 {
		return fill(0, 0)
	}
	withSpec := key.kind == KindPod || key.kind == KindReplicaSet || key.kind == KindDeployment ||
		key.kind == KindDaemonSet || key.kind == KindJob
	left := 0
	for range 6 {
		left = want - m.measure(fill(budget, 0), t)
		if left >= 0 || !withSpec {
			break
		}
		budget = max(0, budget+left-64)
	}
	const padCost = 3*len(padding) + 24 // its name in the object and in managedFields
	pad := left
	if withSpec {
		pad = min(left-padCost, 128<<10)
	}
	if pad <= 0 && withSpec {
		return fill(budget, 0)
	}
	tp := fill(budget, pad)
	if over := m.measure(tp, t) - want; over != 0 && (!withSpec || pad > over) {
		tp = fill(budget, pad-over)
	}
	return tp
}

// measure is the size of a target like t at its fullest with a template that is not in use.
func (m *Maker) measure(tp *template, t *plan.Target) int {
	l := &life{template: tp, own: tp.root}
	size := 0
	for i, typ := range fullest(t) {
		n := max(1, t.Spec)
		op := plan.Op{ID: int64(123456 + i), Type: typ, Target: t, State: &plan.State{Replicas: n, Ready: n, Updated: n,
			Active: n, Count: 1}}
		size = len(m.serve(l, op, sampleRefs{}, 12345678, sampleTime))
		if t.Stripped {
			f := m.facts(op, sampleRefs{}, sampleTime)
			size -= len(`,"managedFields":`) + len(l.managed(nil, &f))
		}
	}
	tp.root = &ownership{}
	return size
}

func (m *Maker) object(op plan.Op, tp *template, refs Refs, f *facts, v view) Object {
	switch op.Target.Kind {
	case KindPod:
		return m.pod(op, tp, f, v)
	case KindReplicaSet:
		return m.replicaSet(op, tp, f, v)
	case KindDeployment:
		return m.deployment(tp, f, v)
	case KindDaemonSet:
		return m.daemonSet(tp, f, v)
	case KindJob:
		return m.job(tp, f, v)
	case KindEndpointSlice:
		return m.slice(refs, f, v)
	case KindEvent:
		return m.event(op, f, v, filler(op.Target.Seed, tp.text))
	case KindNode:
		return m.node(op, f, v, tp.text)
	case KindLease:
		return m.lease(f, v)
	case KindConfigMap:
		return m.configMap(op, f, v, tp.text)
	default:
		return m.widget(op, f, v, tp.text)
	}
}

func filler(seed uint64, n int) string {
	if n <= 2 {
		return strings.Repeat(".", max(0, n))
	}
	return ": " + newDraw(seed, streamContent).text(n-2)
}
