package churn

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// What the generator writes on objects.
const (
	RunLabel           = shape.RunLabel
	OpAnnotation       = shape.OpAnnotation
	IntendedAnnotation = shape.IntendedAnnotation
)

// Marks are the annotations by which checks know the operation that wrote an object.
func Marks(id, intended int64) map[string]string {
	return map[string]string{
		OpAnnotation:       strconv.FormatInt(id, 10),
		IntendedAnnotation: strconv.FormatInt(intended, 10),
	}
}

// runLabels is a fresh map each time: objects must not share one.
func runLabels(cfg *plan.Config) map[string]string { return map[string]string{RunLabel: cfg.RunID} }

func namespace(cfg *plan.Config, i int) *corev1.Namespace {
	labels := runLabels(cfg)
	// The pods never run, but a cluster's default policy could refuse them.
	labels["pod-security.kubernetes.io/enforce"] = "privileged"
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cfg.NamespaceName(i), Labels: labels}}
}

// Ground are the objects that a run makes besides those of its operations, for a simulated apiserver.
func Ground(cfg *plan.Config) (all []shape.Object) {
	for i := range cfg.Namespaces {
		ns := namespace(cfg, i)
		ns.TypeMeta = metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}
		ns.Status.Phase = corev1.NamespaceActive
		all = append(all, ns)
	}
	if cfg.HasWidgets() {
		all = append(all, definition(runLabels(cfg)))
	}
	return all
}
