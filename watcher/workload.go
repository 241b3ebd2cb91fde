package watcher

import (
	"fmt"

	"github.com/watchbench/watchbench/watcher/object"
)

// Annotations that name the top-level workload of a Pod (contract §2.4).
const (
	workloadKind = "workload.bkbcs.tencent.com/kind"
	workloadName = "workload.bkbcs.tencent.com/name"
)

// cache finds the latest state of an object.
type cache interface {
	Get(object.Key) (*object.Object, bool)
}

// workload writes a Pod's top-level workload into its annotations.
type workload struct{ cache cache }

// annotate gives a copy with the annotations for a Pod with an owner, and any
// other object as it is.
func (w workload) annotate(o *object.Object) (*object.Object, error) {
	if o.Key.Kind != "Pod" {
		return o, nil
	}
	raw := o.JSON()
	added, err := w.annotations(o.Key, raw)
	if err != nil || added == nil {
		return o, err
	}
	raw, err = object.SetAnnotations(raw, added...)
	if err != nil {
		return nil, fmt.Errorf("annotate %s with its workload: %w", o.Key, err)
	}
	return o.With(raw), nil
}

// annotations are those of a Pod with an owner, nil for any other.
func (w workload) annotations(k object.Key, pod []byte) ([]object.Pair, error) {
	owner, found, err := w.top(k.Namespace, pod)
	if err != nil || !found {
		return nil, err
	}
	return []object.Pair{{Key: workloadKind, Value: owner.Kind}, {Key: workloadName, Value: owner.Name}}, nil
}

// top is the Pod's owner or, behind a ReplicaSet that is cached, that one's owner.
func (w workload) top(namespace string, pod []byte) (object.Owner, bool, error) {
	owner, found, err := object.ControllerOf(pod)
	if err != nil || !found || owner.Kind != "ReplicaSet" {
		return owner, found, err
	}
	rs, cached := w.cache.Get(object.Key{Kind: "ReplicaSet", Namespace: namespace, Name: owner.Name})
	if !cached {
		return owner, true, nil
	}
	if above, found, err := object.ControllerOf(rs.JSON()); err == nil && found {
		return above, true, nil
	}
	return owner, true, nil
}
