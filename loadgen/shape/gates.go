package shape

import (
	corev1 "k8s.io/api/core/v1"
)

// gate is a readiness gate. The spec has its name only, so that a pod grows over its life as real ones do.
type gate struct {
	kind    corev1.PodConditionType
	message string
}

var gateKinds = [...]corev1.PodConditionType{
	"target-health.loadbalancing.example.com/k8s-http", "mesh.example.com/sidecar-in-sync",
	"networking.example.com/policies-applied",
	"secrets.example.com/injected", "cloud.example.com/endpoint-group-attached", "storage.example.com/volumes-healthy",
}

const (
	// gatePart of what a pod has beyond its least goes into gates: a ready pod of 12 KB is created with 57 % of it.
	gatePart  = 3
	maxGates  = 6000
	gateBytes = 800
	costGate  = 480 // in spec, status and managedFields, without the message
	// farewellPart of what gates take is the message of a killed container.
	farewellPart = 6
)

// gatesFor are gates and the last words of a killed container, of a pod that has budget bytes beyond its least.
func gatesFor(d draw, budget int) (gates []gate, farewell string) {
	room := min(budget/gatePart, maxGates)
	if room < costGate {
		return nil, ""
	}
	farewell = d.text(room / farewellPart)
	n := min(len(gateKinds), max(1, room/gateBytes))
	for _, kind := range gateKinds[:n] {
		gates = append(gates, gate{kind, d.text(room/n - costGate)})
	}
	return gates, farewell
}

func gateNames(gates []gate) (all []corev1.PodReadinessGate) {
	for _, g := range gates {
		all = append(all, corev1.PodReadinessGate{ConditionType: g.kind})
	}
	return all
}

func gateConditions(gates []gate, s stage, f *facts, to []corev1.PodCondition) []corev1.PodCondition {
	for _, g := range gates {
		c := corev1.PodCondition{Type: g.kind, ObservedGeneration: s.generation, Status: corev1.ConditionTrue,
			LastTransitionTime: f.now, Reason: "Reconciled", Message: g.message}
		if !s.running {
			c.Status, c.Reason = corev1.ConditionFalse, "InProgress"
		}
		to = append(to, c)
	}
	return to
}
