package shape_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

var allKinds = []string{shape.KindPod, shape.KindReplicaSet, shape.KindDeployment, shape.KindDaemonSet, shape.KindJob, shape.KindEndpointSlice,
	shape.KindEvent, shape.KindNode, shape.KindLease, shape.KindConfigMap, shape.KindWidget}

// FuzzTarget holds that whatever a target is, its requests and what is served of them are
// well-formed: metadata that an apiserver takes, and no more than it takes.
func FuzzTarget(f *testing.F) {
	for kind := range allKinds {
		f.Add(uint8(kind), 12000, 20, 1, 0, uint64(1), uint8(0), "Pulled", 3)
		f.Add(uint8(kind), 6000, 253, 3, 2, uint64(2), uint8(1), "BackOff", 40)
		f.Add(uint8(kind), 0, 1, 0, 0, uint64(3), uint8(2), "", -1)
	}
	f.Add(uint8(0), 1_500_000, 253, 3, 2, uint64(2), uint8(1), "", 40)
	f.Add(uint8(9), 1_500_000, 253, 0, 0, uint64(2), uint8(1), "", 40)
	f.Fuzz(func(t *testing.T, kind uint8, bytes, name, containers, inits int, seed uint64, owner uint8, reason string, n int) {
		if len(reason) > 100 {
			return
		}
		named := func(first string) string { return first + strings.Repeat("x", min(max(0, name-1), 252)) }
		target := &plan.Target{Kind: allKinds[int(kind)%len(allKinds)], Name: named("a"), Seed: seed, Bytes: bytes, Containers: containers,
			InitContainers: inits, Node: int(seed % 5), Lane: int64(seed), Spec: n}
		pod := podOf(12000, 1)
		switch target.Kind {
		case shape.KindNode:
			target.Namespace = plan.ClusterScoped
		case shape.KindLease:
			target.Namespace = plan.NodeLeases
		case shape.KindEvent:
			target.Subject, target.Reason = pod, reason
		case shape.KindPod:
			owned := []string{shape.KindReplicaSet, shape.KindJob, shape.KindDaemonSet}[int(owner)%3]
			target.Owner = &plan.Target{Kind: owned, Name: named("o"), Seed: seed + 1, Bytes: bytes, Lane: 9}
		}
		state := &plan.State{Replicas: n, Ready: n / 2, Updated: n / 3, Restarts: n, Count: n, Endpoints: []*plan.Target{pod}}
		types := []string{oplog.TypeCreate, oplog.TypeStatus, oplog.TypeUpdate, oplog.TypeDelete}
		if target.Kind == shape.KindPod {
			types = podStages
		}
		m := newMaker()
		for i, typ := range types {
			op := plan.Op{ID: int64(i + 1), Type: typ, Target: target, State: state, Last: typ == oplog.TypeDelete}
			at := start.Add(time.Duration(i) * time.Second)
			m.Request(op, uids{}, at)
			object := m.Object(op, uids{}, at)
			for _, err := range validation.ValidateObjectMetaAccessor(object, object.GetNamespace() != "", validation.NameIsDNSSubdomain, field.NewPath("metadata")) {
				if !strings.HasPrefix(err.Field, "metadata.managedFields") {
					t.Errorf("%s %s: %v", target.Kind, typ, err)
				}
			}
			b := m.Served(op, uids{}, uint64(i+1), at)
			if !json.Valid(b) {
				t.Fatalf("%s %s: no JSON", target.Kind, typ)
			}
			if most := shape.MaxBytes * 5 / 4; len(b) > most {
				t.Errorf("%s %s: %d bytes, most are %d", target.Kind, typ, len(b), most)
			}
		}
		if targets, templates := m.Live(); targets+templates != 0 {
			t.Errorf("%s: %d targets and %d templates are kept", target.Kind, targets, templates)
		}
	})
}
