package watcher

import (
	"fmt"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

// Annotations that name the top-level workload of a Pod (contract §2.4).
const (
	workloadKind = "workload.bkbcs.tencent.com/kind"
	workloadName = "workload.bkbcs.tencent.com/name"
)

const (
	kindPod        = "Pod"
	kindReplicaSet = "ReplicaSet"
)

type cache interface {
	Get(object.Key) (*object.Object, bool)
}

// workload writes a Pod's top-level workload into its annotations.
type workload struct{ cache cache }

// Annotate gives a copy of a Pod with its workload as annotations, by the ReplicaSets of a cache, and any
// other object as it is.
func Annotate(c *collector.Collector, o *object.Object) (*object.Object, error) {
	out, _, err := workload{cache: c}.annotate(o)
	return out, err
}

// annotate gives a copy with the annotations for a Pod with an owner, and any
// other object as it is. Via names the Pod's ReplicaSet if that replaces its own owner,
// which is not known.
func (w workload) annotate(o *object.Object) (annotated *object.Object, via string, err error) {
	if o.Key.Kind != kindPod {
		return o, "", nil
	}
	raw := o.JSON()
	added, via, err := w.annotations(o.Key, raw)
	if err != nil || added == nil {
		return o, "", err
	}
	raw, err = object.SetAnnotations(raw, added...)
	if err != nil {
		return nil, "", fmt.Errorf("annotate %s with its workload: %w", o.Key, err)
	}
	return o.With(raw), via, nil
}

// annotations returns those that a Pod with an owner gets, nil for any other.
func (w workload) annotations(k object.Key, pod []byte) (added []object.Pair, via string, err error) {
	owner, found, err := object.ControllerOf(pod)
	if err != nil || !found {
		return nil, "", err
	}
	if owner.Kind == kindReplicaSet {
		via = owner.Name
		if above, found := w.above(k.Namespace, via); found {
			owner, via = above, ""
		}
	}
	return []object.Pair{{Key: workloadKind, Value: owner.Kind}, {Key: workloadName, Value: owner.Name}}, via, nil
}

func (w workload) above(namespace, name string) (object.Owner, bool) {
	rs, cached := w.cache.Get(object.Key{Kind: kindReplicaSet, Namespace: namespace, Name: name})
	if !cached {
		return object.Owner{}, false
	}
	owner, found, err := object.ControllerOf(rs.JSON())
	return owner, found && err == nil
}
