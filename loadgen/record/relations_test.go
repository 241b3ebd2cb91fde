package record

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// anonymised decodes what becomes of an object into one of the same type.
func anonymised[T any](t *testing.T, p *masker, gvk schema.GroupVersionKind, o T) T {
	t.Helper()
	before, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.object(gvk, before)
	if err != nil {
		t.Fatal(err)
	}
	var got T
	if err := json.Unmarshal(after, &got); err != nil {
		t.Fatalf("%v: %s", err, after)
	}
	return got
}

// TestRelations: what referred to an object still does.
func TestRelations(t *testing.T) {
	p := newMasker(newSalt(), true)
	tags := map[string]string{"app": "checkout", "example.com/team": "payments-eu", "pod-template-hash": "7d4b9c6f5"}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ip-10-0-3-17.eu-west-1.compute.internal", Labels: map[string]string{"disk": "fast"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.3.17"}}}}
	set := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "checkout-7d4b9c6f5", Namespace: "shop", UID: "0b1c2d3e-4f50-4a6b-8c7d-9e0f1a2b3c4d"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: tags, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "example.com/team", Operator: metav1.LabelSelectorOpIn, Values: []string{"payments-eu", "x"}}}}}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "checkout-7d4b9c6f5-x2x9z", GenerateName: "checkout-7d4b9c6f5-", Namespace: "shop", UID: "11111111-2222-4333-8444-555555555555", Labels: tags,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), ResourceVersion: "123456",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID}}},
		Spec: corev1.PodSpec{NodeName: node.Name, NodeSelector: map[string]string{"disk": "fast"}, RestartPolicy: corev1.RestartPolicyAlways,
			Volumes: []corev1.Volume{{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "checkout-conf"}}}}},
			Containers: []corev1.Container{{Name: "main", Image: "registry.shop.example:5000/team/checkout:v1.4.2", VolumeMounts: []corev1.VolumeMount{{Name: "conf", MountPath: "/conf"}},
				Env: []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "default"}}, Args: []string{"--mode=default"}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.1.7", HostIP: "10.0.3.17", PodIPs: []corev1.PodIP{{IP: "10.244.1.7"}, {IP: "fd00:10:244::7"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}}}
	conf := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "checkout-conf", Namespace: "shop"}}
	slice := discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.1.7"}, NodeName: &node.Name, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod.Name, UID: pod.UID}}}}
	event := corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: pod.Name, UID: pod.UID, ResourceVersion: "123456"}, Reason: "Scheduled",
		Message: "Successfully assigned shop/" + pod.Name + " to " + node.Name}

	node2, set2, pod2 := anonymised(t, p, corev1.SchemeGroupVersion.WithKind("Node"), node), anonymised(t, p, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), set), anonymised(t, p, corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	conf2, slice2, event2 := anonymised(t, p, corev1.SchemeGroupVersion.WithKind("ConfigMap"), conf), anonymised(t, p, discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), slice), anonymised(t, p, corev1.SchemeGroupVersion.WithKind("Event"), event)
	selector, err := metav1.LabelSelectorAsSelector(set2.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	owner, endpoint := pod2.OwnerReferences[0], slice2.Endpoints[0]
	for what, holds := range map[string]bool{
		"the owner's uid":            owner.UID == set2.UID && set2.UID != set.UID,
		"the owner's name":           owner.Name == set2.Name && set2.Name != set.Name,
		"the owner's kind":           owner.Kind == "ReplicaSet" && owner.APIVersion == "apps/v1",
		"the selector":               selector.Matches(labels.Set(pod2.Labels)) && len(pod2.Labels) == 3,
		"another pod's labels":       !selector.Matches(labels.Set{"app": "checkout"}),
		"the node":                   pod2.Spec.NodeName == node2.Name && node2.Name != node.Name,
		"the node's labels":          labels.SelectorFromSet(pod2.Spec.NodeSelector).Matches(labels.Set(node2.Labels)),
		"the node's address":         pod2.Status.HostIP == node2.Status.Addresses[0].Address,
		"the prefix of the name":     strings.HasPrefix(pod2.Name, pod2.GenerateName) && strings.HasPrefix(pod2.Name, set2.Name+"-"),
		"the namespace":              pod2.Namespace == set2.Namespace && pod2.Namespace != "shop",
		"the config":                 pod2.Spec.Volumes[0].ConfigMap.Name == conf2.Name,
		"the mount":                  pod2.Spec.Containers[0].VolumeMounts[0].Name == pod2.Spec.Volumes[0].Name,
		"the endpoint's pod":         endpoint.TargetRef.UID == pod2.UID && endpoint.TargetRef.Name == pod2.Name && *endpoint.NodeName == node2.Name,
		"the endpoint's address":     endpoint.Addresses[0] == pod2.Status.PodIP && pod2.Status.PodIP == pod2.Status.PodIPs[0].IP,
		"the event's pod":            event2.InvolvedObject.UID == pod2.UID && event2.InvolvedObject.Name == pod2.Name,
		"the event's message":        event2.Message == "Successfully assigned "+pod2.Namespace+"/"+pod2.Name+" to "+node2.Name,
		"the reason":                 event2.Reason == "Scheduled",
		"the versions":               pod2.ResourceVersion == "123456" && event2.InvolvedObject.ResourceVersion == "123456",
		"the time":                   pod2.CreationTimestamp.Equal(&pod.CreationTimestamp),
		"the phase and the policy":   pod2.Status.Phase == corev1.PodRunning && pod2.Spec.RestartPolicy == corev1.RestartPolicyAlways,
		"the well-known label":       pod2.Labels["app"] != "" && pod2.Labels["pod-template-hash"] != "",
		"the value of a variable":    pod2.Spec.Containers[0].Env[0].Value != "default",
		"an argument":                !strings.Contains(pod2.Spec.Containers[0].Args[0], "default"),
		"the shape of the image":     regexp.MustCompile(`^[a-z]{8}\.[a-z]{4}\.[a-z]{7}:\d{4}/[a-z]{4}/[a-z]{8}:[a-z]?\w+\.\d\.\d$`).MatchString(pod2.Spec.Containers[0].Image),
		"the shape of the container": regexp.MustCompile(`^containerd://[0-9a-z]{64}$`).MatchString(pod2.Status.ContainerStatuses[0].ContainerID),
		"the shape of the uid":       regexp.MustCompile(`^\d{8}-\d{4}-\d{4}-\d{4}-\d{12}$`).MatchString(string(pod2.UID)),
		"the address":                pod2.Status.PodIP != pod.Status.PodIP && len(pod2.Status.PodIP) == len(pod.Status.PodIP),
	} {
		if !holds {
			t.Errorf("%s: pod %+v, set %+v, event %+v", what, pod2, set2, event2)
		}
	}
}
