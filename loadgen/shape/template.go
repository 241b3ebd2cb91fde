package shape

import (
	"math/bits"
	"slices"
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

// templateKey identifies a template: a target as far as the template depends on it, without its names, owner and
// subject. Sizes and lengths are in steps, seeds in families: of 54,000 operations of a profile there are 5,000.
type templateKey struct {
	plan.Target
	owner, subject string // their kinds
	// lengths of the names of the object, its owner, the owner's owner and the subject; 0 for none.
	lengths [4]int
}

const (
	families   = 16
	lengthStep = 8  // of names
	hashLength = 10 // of the last part of a ReplicaSet's name

	streamSpec, streamContent, streamGates = 1, 2, 3
)

// MaxBytes is the largest object: etcd takes 1.5 MiB of protobuf, which the same object's JSON always exceeds.
const MaxBytes = 1 << 20

// Most bytes of kinds with a bound of their own.
var maxBytes = map[string]int{KindEvent: 100 << 10, KindNode: 800 << 10}

func keyOf(t *plan.Target) templateKey {
	k := templateKey{Target: plan.Target{
		Kind: t.Kind, Namespace: min(t.Namespace, 0), Seed: mix(root(t).Seed) % families, Bytes: rounded(wantedBytes(t)),
		Stripped: t.Stripped, Containers: min(max(1, t.Containers), 40), InitContainers: min(max(0, t.InitContainers), 20),
		Bound: t.Bound, Shard: min(t.Shard, 1), Reason: t.Reason,
	}}
	switch t.Kind {
	case KindEndpointSlice, KindLease:
		return templateKey{Target: plan.Target{Kind: t.Kind}}
	case KindConfigMap, KindWidget, KindNode, KindEvent:
		k.Seed = 0
	}
	length := func(name string) int { return (len(name) + lengthStep/2) / lengthStep * lengthStep }
	k.lengths[0] = length(t.Name)
	if o := t.Owner; o != nil {
		k.owner, k.lengths[1] = o.Kind, length(o.Name)
		if o.Owner != nil {
			k.lengths[2] = length(root(o).Name)
		}
	}
	if s := t.Subject; s != nil {
		k.subject, k.lengths[3], k.Seed = s.Kind, length(s.Name), root(s).Seed%families // of which its words are
	}
	return k
}

// sample is a target with the key. What a template is sized by must not depend on which target a process builds first.
func (k templateKey) sample() *plan.Target {
	t := k.Target
	name := func(length int) string {
		return strings.Repeat("n", max(1, length-hashLength-1)) + "-" + strings.Repeat("h", hashLength)
	}
	t.Name = name(k.lengths[0])
	if k.owner != "" {
		t.Owner = &plan.Target{Kind: k.owner, Name: name(k.lengths[1])}
		if n := k.lengths[2]; n > 0 {
			t.Owner.Owner = &plan.Target{Name: name(n)}
		}
	}
	if k.subject != "" {
		t.Subject = &plan.Target{Kind: k.subject, Name: name(k.lengths[3]), Seed: k.Seed}
	}
	return &t
}

func wantedBytes(t *plan.Target) int {
	most := MaxBytes
	if m := maxBytes[t.Kind]; m > 0 {
		most = m
	}
	return min(max(t.Bytes, 0), most)
}

// rounded is a size to its first six bits, within 1.6 %.
func rounded(bytes int) int {
	if bytes < 256 {
		return 0
	}
	step := 1 << (bits.Len(uint(bytes)) - 6)
	return (bytes + step/2) / step * step
}

// template returns a target's template, built under the lock at its first use.
func (m *Maker) template(t *plan.Target, hold bool) *template {
	key := keyOf(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	tp := m.templates[key]
	if tp == nil {
		tp = m.build(key)
		m.templates[key] = tp
	}
	if hold {
		tp.refs++
	}
	return tp
}

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

func (m *Maker) build(key templateKey) *template {
	t, want, seed := key.sample(), key.Bytes, mix(key.Seed)
	withSpec := slices.Contains([]string{KindPod, KindReplicaSet, KindDeployment, KindDaemonSet, KindJob}, key.Kind)
	fill := func(budget, pad int) *template {
		tp := &template{root: &ownership{}}
		if !withSpec {
			tp.text = max(0, budget+pad)
			return tp
		}
		if key.Kind == KindPod {
			tp.gates, tp.farewell = gatesFor(newDraw(seed, streamGates), budget)
			budget -= min(budget/gatePart, maxGates)
		}
		tp.spec, tp.annotations = buildSpec(newDraw(seed, streamSpec), key.Containers, key.InitContainers, budget,
			key.Kind == KindJob || key.owner == KindJob)
		tp.spec.ReadinessGates = gateNames(tp.gates)
		tp.labels = map[string]string{componentLabel: tp.spec.Containers[0].Name}
		switch text := newDraw(seed, streamContent).text(pad); {
		case pad <= 0:
		case key.Kind == KindPod:
			tp.annotations[padding] = text
		default:
			tp.own = map[string]string{padding: text}
		}
		return tp
	}
	if want == 0 {
		return fill(0, 0)
	}
	budget := want - m.measure(fill(0, 0), t)
	if budget <= 0 {
		return fill(0, 0)
	}
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
		op := plan.Op{ID: int64(123456 + i), Type: typ, Target: t, State: &plan.State{Replicas: 1, Ready: 1, Updated: 1,
			Active: 1, Count: 1}}
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
