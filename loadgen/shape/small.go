package shape

import (
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/watchbench/watchbench/loadgen/plan"
)

func (m *Maker) lease(f *facts, v view) *coordinationv1.Lease {
	l := &coordinationv1.Lease{
		ObjectMeta: m.meta(f, map[string]string{}, map[string]string{}),
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &f.name, LeaseDurationSeconds: new(int32(40)),
			RenewTime: &f.nowMicro},
	}
	if v == viewServed {
		l.CreationTimestamp = f.created
	}
	return l
}

var configFiles = [...]string{"application.properties", "logging.properties", "routes.properties", "limits.properties",
	"features.properties", "clients.properties"}

// fileBytes is about how long a file of a config map is.
const fileBytes = 2 << 10

// configMap has text bytes of settings in as many files as that takes; key files beyond the list's get a number.
func (m *Maker) configMap(op plan.Op, f *facts, v view, text int) *corev1.ConfigMap {
	d := newDraw(op.Target.Seed, streamContent)
	cm := &corev1.ConfigMap{
		ObjectMeta: m.meta(f, map[string]string{appLabel: f.app}, map[string]string{}),
		Data:       map[string]string{"version": strconv.Itoa(10000 + f.state.Count)},
	}
	n := configFileCount(text)
	for i := range n {
		cm.Data[configFiles[i]] = d.text(text / n)
	}
	if v == viewServed {
		cm.CreationTimestamp = f.created
	}
	return cm
}

func configFileCount(text int) int { return max(1, min(len(configFiles), text/fileBytes)) }

// widget is an object of the custom resource: a report about something, as operators write them.
func (m *Maker) widget(op plan.Op, f *facts, v view, text int) *unstructured.Unstructured {
	d := newDraw(op.Target.Seed, streamContent)
	meta := m.meta(f, map[string]string{appLabel: f.app}, map[string]string{})
	metadata := map[string]any{"name": meta.Name, "namespace": meta.Namespace, "labels": stringMap(meta.Labels),
		"annotations": stringMap(meta.Annotations)}
	if meta.UID != "" && v != viewSent {
		metadata["uid"] = string(meta.UID)
	}
	if v == viewServed {
		metadata["generation"], metadata["creationTimestamp"] = f.generation, f.created.UTC().Format("2006-01-02T15:04:05Z")
	}
	w := map[string]any{"apiVersion": WidgetGroup + "/v1", "kind": KindWidget, "metadata": metadata,
		"spec": map[string]any{"owner": pick(d, teams), "tier": pick(d, roles), "revision": int64(10000 + f.state.Count),
			"report": d.text(text)}}
	if f.placed.counted {
		w["status"] = map[string]any{"phase": "Ready", "observedGeneration": f.observed}
	}
	return &unstructured.Unstructured{Object: w}
}

func stringMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}
