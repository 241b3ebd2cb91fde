package shape

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// facts are the properties of one object beside its template: the slots of a text.
type facts struct {
	name, namespace, node      string
	uid, ownerUID, subjectUID  types.UID
	ownerName, ownerKind       string
	app                        string // name of the workload, as a label's value
	hash                       string // distinguishes the pods of a ReplicaSet or Job
	subjectName                string
	ip, hostIP, zone           string // of a Pod; the last two of a Node too
	container                  string // 62 hexadecimal digits of the container's id
	tag                        string // of the image
	op, intended               string
	created, now, deleted, was metav1.Time // was: before now, for what an earlier operation wrote
	started                    metav1.Time // of a Job
	nowMicro                   metav1.MicroTime
	state                      plan.State
	generation                 int64
	seed                       uint64
	observed                   int64  // generation that the status is about
	wanted                     int32  // pods, of a workload
	backOff                    string // delay of a crash loop
	resourceVersion            string
	placed                     place // of a Pod
}

// tagLength is the same for every image tag, so that tags do not change the size.
const tagLength = 12

func (m *Maker) facts(op plan.Op, refs Refs, intended time.Time) facts {
	t := op.Target
	at := metav1.NewTime(intended.UTC().Truncate(time.Second))
	f := facts{
		name: t.Name, seed: t.Seed, op: strconv.FormatInt(op.ID, 10), intended: strconv.FormatInt(intended.UnixNano(), 10),
		created: at, now: at, deleted: metav1.NewTime(at.Add(gracePeriodSeconds * time.Second)),
		// The kubelet's time of PodScheduled always differs from the apiserver's: no write comes so late after a binding.
		was:        metav1.NewTime(at.Add(-scheduledBefore)),
		nowMicro:   metav1.NewMicroTime(intended.UTC().Truncate(time.Microsecond)),
		generation: 1,
	}
	f.wanted = int32(t.Spec)
	if op.State != nil {
		f.state = *op.State
		if t.Kind != KindJob || t.Spec == 0 {
			f.wanted = int32(op.State.Replicas)
		}
	}
	f.started = f.was
	f.generation += int64(f.state.Template)
	f.observed = f.generation
	f.backOff = backOff(f.state.Restarts)
	switch t.Namespace {
	case plan.ClusterScoped:
	case plan.NodeLeases:
		f.namespace = "kube-node-lease"
	default:
		f.namespace = m.cfg.Namespaces(t.Namespace)
	}
	f.uid = uidOf(refs, t)
	f.app = labelValue(root(t).Name)
	tagged := t
	if o := t.Owner; o != nil {
		f.ownerName, f.ownerKind, f.ownerUID = o.Name, o.Kind, uidOf(refs, o)
		f.hash = o.Name[strings.LastIndexByte(o.Name, '-')+1:]
		if t.Kind == KindPod {
			tagged = o
		}
	}
	switch t.Kind {
	case KindReplicaSet:
		f.hash = t.Name[strings.LastIndexByte(t.Name, '-')+1:]
	case KindPod:
		f.node, f.ip, f.hostIP = m.nodeName(t), podIP(t.Lane), hostIP(t.Node)
		f.zone = zoneOf(t.Node)
		f.container = digits(t.Seed)
	case KindNode:
		f.node, f.hostIP, f.zone = t.Name, hostIP(t.Node), zoneOf(t.Node)
	case KindEvent:
		if s := t.Subject; s != nil {
			f.subjectName, f.subjectUID = s.Name, uidOf(refs, s)
			if s.Kind == KindPod || s.Kind == KindNode {
				f.node = m.nodeName(s)
			}
		}
	}
	f.hash = labelValue(f.hash)
	version := 0
	if t.Kind == KindDeployment || t.Kind == KindDaemonSet {
		version = f.state.Template
	}
	f.tag = imageTag(tagged.Seed, version)
	return f
}

func (m *Maker) nodeName(t *plan.Target) string {
	if t.Node < 0 {
		return ""
	}
	return m.cfg.Nodes(t.Node)
}

// scheduledBefore is how long ago a kubelet says that a pod was scheduled.
const scheduledBefore = 30 * time.Second

func uidOf(refs Refs, t *plan.Target) types.UID {
	if refs == nil {
		return ""
	}
	return refs.UID(t)
}

func root(t *plan.Target) *plan.Target {
	for t.Owner != nil {
		t = t.Owner
	}
	return t
}

func digits(seed uint64) string {
	var raw [32]byte
	for i := range uint64(4) {
		binary.BigEndian.PutUint64(raw[8*i:], mix(seed+i))
	}
	var text [64]byte
	hex.Encode(text[:], raw[:])
	return string(text[:62])
}

func imageTag(seed uint64, version int) string {
	x := mix(seed + uint64(version)<<32)
	var random [4]byte
	binary.BigEndian.PutUint32(random[:], uint32(x>>32))
	tag := append(make([]byte, 0, 16), '1'+byte(x%9), '.', '0'+byte(x>>8%10), '.', '0'+byte(x>>16%10), '-')
	return string(hex.AppendEncode(tag, random[:])[:tagLength])
}

// podIP is an address in 10.64.0.0/10 that follows from the lane.
func podIP(lane int64) string {
	n := uint32(mix(uint64(lane))) & 0x3fffff
	return address(64+n>>16, n)
}

func hostIP(node int) string {
	n := uint32(node) + 2
	return address(n>>16&0x3f, n)
}

func address(b, n uint32) string {
	return netip.AddrFrom4([4]byte{10, byte(b), byte(n >> 8), byte(n)}).String()
}

// meta is the metadata of every object. f.ownerUID may be empty before the owner is known.
func (m *Maker) meta(f *facts, labels, annotations map[string]string) metav1.ObjectMeta {
	labels[RunLabel] = m.cfg.RunID
	annotations[OpAnnotation], annotations[IntendedAnnotation] = f.op, f.intended
	meta := metav1.ObjectMeta{Name: f.name, Namespace: f.namespace, UID: f.uid, Labels: labels, Annotations: annotations}
	if f.ownerName != "" {
		yes := true
		meta.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: kinds[f.ownerKind].gvk().GroupVersion().String(), Kind: f.ownerKind,
			Name: f.ownerName, UID: f.ownerUID, Controller: &yes, BlockOwnerDeletion: &yes,
		}}
	}
	return meta
}
