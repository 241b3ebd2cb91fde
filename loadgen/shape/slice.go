package shape

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// maxEndpoints is how many an apiserver takes in a slice.
const maxEndpoints = 1000

func (m *Maker) slice(refs Refs, f *facts, v view) *discoveryv1.EndpointSlice {
	port, name, protocol := int32(8080), "http", corev1.ProtocolTCP
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: m.meta(f, map[string]string{
			"kubernetes.io/service-name": f.app, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
			appLabel: f.app,
		}, map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": f.now.UTC().Format("2006-01-02T15:04:05Z")}),
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   m.endpoints(refs, f),
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
	if v == viewServed {
		s.Generation, s.CreationTimestamp = f.generation, f.created
	}
	return s
}

var (
	yes, no    = true, false
	serving    = discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no}
	notServing = discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no}
	leaving    = discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}
	zones      = [...]string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
)

const region = "eu-west-1"

func zoneOf(node int) string { return zones[max(0, node)%len(zones)] }

func (m *Maker) endpoints(refs Refs, f *facts) []discoveryv1.Endpoint {
	members := f.state.Endpoints
	if len(members) > maxEndpoints {
		members = members[:maxEndpoints]
	}
	down := make(map[*plan.Target]bool, len(f.state.NotReady))
	for _, t := range f.state.NotReady {
		down[t] = true
	}
	going := make(map[*plan.Target]bool, len(f.state.Leaving))
	for _, t := range f.state.Leaving {
		going[t] = true
	}
	if len(members) == 0 {
		return nil
	}
	all := make([]discoveryv1.Endpoint, 0, len(members))
	for _, t := range members {
		node := m.nodeName(t)
		e := discoveryv1.Endpoint{
			Addresses: []string{podIP(t.Lane)}, Conditions: serving, NodeName: &node, Zone: new(zoneOf(t.Node)),
			TargetRef: &corev1.ObjectReference{Kind: KindPod, Namespace: f.namespace, Name: t.Name, UID: uidOf(refs, t)},
		}
		switch {
		case going[t]:
			e.Conditions = leaving
		case down[t]:
			e.Conditions = notServing
		}
		all = append(all, e)
	}
	return all
}
