package shape

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// ownership maps managers to their fields after the operations so far, which are the edges of a tree of nodes. It
// depends on the structure alone, so that objects of one template share it.
type ownership struct {
	fields []metav1.ManagedFieldsEntry // as computed, of the sample
	texts  []managed
	next   map[step]*ownership
	object text // of the whole object; empty where it is not kept
}

type managed struct {
	manager, subresource, apiVersion string
	fields                           text
}

// step is an operation as far as it decides about fields.
type step struct {
	op   string
	bits uint32 // which counters are not 0, and what else decides
}

func stepOf(op plan.Op, f *facts) step {
	s := step{op: op.Type}
	for i, n := range [...]int{f.state.Replicas, f.state.Ready, f.state.Updated, f.state.Active, f.state.Succeeded,
		f.state.Failed,
		f.state.Replicas - f.state.Ready, len(f.state.Endpoints)} {
		if n > 0 {
			s.bits |= 1 << i
		}
	}
	if op.Target.Kind == KindPod {
		s.bits = uint32(min(f.state.Restarts, 7)) | uint32(op.Target.Shard)<<3
	}
	return s
}

// fieldManagers are the apiserver's own code for managedFields, by kind and subresource.
var fieldManagers = struct {
	sync.Mutex
	made  map[[2]string]*managedfields.FieldManager
	types managedfields.TypeConverter
}{made: map[[2]string]*managedfields.FieldManager{}}

// resets lists the fields that a write to a subresource cannot change, as in the apiserver's strategies.
func resets(kind, subresource string) *fieldpath.Set {
	if subresource == "" {
		switch kind {
		case KindPod, KindReplicaSet, KindDeployment, KindDaemonSet, KindJob, KindNode:
			return fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
		}
		return fieldpath.NewSet()
	}
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	switch kind {
	case KindPod:
		set.Insert(fieldpath.MakePathOrDie("metadata", "deletionTimestamp"))
		set.Insert(fieldpath.MakePathOrDie("metadata", "ownerReferences"))
	case KindDeployment:
		set.Insert(fieldpath.MakePathOrDie("metadata", "labels"))
	}
	return set
}

func fieldManager(kind, subresource string) (*managedfields.FieldManager, error) {
	fieldManagers.Lock()
	defer fieldManagers.Unlock()
	key := [2]string{kind, subresource}
	if m := fieldManagers.made[key]; m != nil {
		return m, nil
	}
	gvk := kinds[kind].gvk()
	filter := map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(resets(kind, subresource)),
	}
	var m *managedfields.FieldManager
	var err error
	if kind == KindWidget {
		m, err = managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), sameVersion{},
			noDefaults{}, unstructuredMaker{}, gvk, gvk.GroupVersion(), subresource, filter)
	} else {
		if fieldManagers.types == nil {
			fieldManagers.types = applyconfigurations.NewTypeConverter(scheme.Scheme)
		}
		m, err = managedfields.NewDefaultFieldManager(fieldManagers.types, sameVersion{}, noDefaults{}, scheme.Scheme, gvk,
			gvk.GroupVersion(), subresource, filter)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing managedFields of %s: %w", kind, err)
	}
	fieldManagers.made[key] = m
	return m, nil
}

// write computes the ownership after a manager has turned former into sent. former is nil for a creation.
func (o *ownership) write(kind, manager, subresource string, former, sent Object) (*ownership, error) {
	fm, err := fieldManager(kind, subresource)
	if err != nil {
		return nil, err
	}
	gvk := kinds[kind].gvk()
	if former == nil {
		if former, err = empty(kind); err != nil {
			return nil, err
		}
	}
	former.GetObjectKind().SetGroupVersionKind(gvk)
	sent.GetObjectKind().SetGroupVersionKind(gvk)
	former.SetManagedFields(o.fields)
	sent.SetManagedFields(nil)
	after, err := fm.Update(former, sent, manager)
	if err != nil {
		return nil, fmt.Errorf("computing managedFields of %s: %w", kind, err)
	}
	n := &ownership{fields: after.(metav1.Object).GetManagedFields()}
	for _, e := range n.fields {
		fields, err := json.Marshal(e.FieldsV1)
		if err != nil {
			return nil, fmt.Errorf("computing managedFields of %s: %w", kind, err)
		}
		n.texts = append(n.texts, managed{manager: e.Manager, subresource: e.Subresource, apiVersion: e.APIVersion,
			fields: cut(fields)})
	}
	return n, nil
}

func empty(kind string) (Object, error) {
	gvk := kinds[kind].gvk()
	if kind == KindWidget {
		return unstructuredMaker{}.make(gvk), nil
	}
	obj, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("computing managedFields of %s: %w", kind, err)
	}
	return obj.(Object), nil
}
