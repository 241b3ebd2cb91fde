package relation_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestEdges has each type of edge, from both its ends.
func TestEdges(t *testing.T) {
	const (
		deployment = "apps/v1/Deployment"
		set        = "apps/v1/ReplicaSet"
		pvc        = "v1/PersistentVolumeClaim"
		pv         = "v1/PersistentVolume"
		slice      = "discovery.k8s.io/v1/EndpointSlice"
		hpa        = "autoscaling/v2/HorizontalPodAutoscaler"
		ingress    = "networking.k8s.io/v1/Ingress"
	)
	claimRef := func(at, uid, namespace, name, claim string) string {
		return with(pv, at, uid, `"spec":{"claimRef":{"kind":"PersistentVolumeClaim","namespace":"`+namespace+`","name":"`+name+`","uid":"`+claim+`"}}`)
	}
	backed := func(volume string) string { return with(pvc, "a/data", "c1", `"spec":{"volumeName":"`+volume+`"}`) }
	serviceSlice := func(endpoint string) string {
		return "{" + meta(slice, "a/web-x", "es", `,"labels":{"kubernetes.io/service-name":"web"}`) + `,"endpoints":[` + endpoint + `]}`
	}
	podTarget := func(uid string) string {
		return `{"addresses":["10.0.0.1"],"targetRef":{"kind":"Pod","namespace":"a","name":"p","uid":"` + uid + `"}}`
	}
	tests := []struct {
		name    string
		objects []string
		ask     string
		want    []string
	}{
		{
			"owners down", []string{
				plain(deployment, "a/web", "d"), owned(set, "a/web-1", "r1", "apps/v1/Deployment web d"), owned(set, "a/web-2", "r2", "apps/v1/Deployment web d"),
				owned("v1/Pod", "a/p1", "p1", "apps/v1/ReplicaSet web-1 r1"), owned("v1/Pod", "a/p2", "p2", "apps/v1/ReplicaSet web-1 r1"), owned("v1/Pod", "a/other", "p3", "apps/v1/ReplicaSet web-9 r9"),
			},
			"apps/v1/Deployment a/web down 2",
			[]string{"Deployment:a/web owner ReplicaSet:a/web-1", "Deployment:a/web owner ReplicaSet:a/web-2", "ReplicaSet:a/web-1 owner Pod:a/p1", "ReplicaSet:a/web-1 owner Pod:a/p2"},
		},
		{
			"owners down, one level", []string{
				plain(deployment, "a/web", "d"), owned(set, "a/web-1", "r1", "apps/v1/Deployment web d"), owned("v1/Pod", "a/p1", "p1", "apps/v1/ReplicaSet web-1 r1"),
			},
			"apps/v1/Deployment a/web down 1", []string{"Deployment:a/web owner ReplicaSet:a/web-1"},
		},
		{
			"owners up", []string{
				plain(deployment, "a/web", "d"), owned(set, "a/web-1", "r1", "apps/v1/Deployment web d"), owned("v1/Pod", "a/p1", "p1", "apps/v1/ReplicaSet web-1 r1"),
				owned("v1/Pod", "a/p2", "p2", "apps/v1/ReplicaSet web-1 r1"),
			},
			"v1/Pod a/p1 up 3", []string{"Deployment:a/web owner ReplicaSet:a/web-1", "ReplicaSet:a/web-1 owner Pod:a/p1"},
		},
		{
			"from the middle, both ways", []string{
				plain(deployment, "a/web", "d"), owned(set, "a/web-1", "r1", "apps/v1/Deployment web d"), owned(set, "a/web-2", "r2", "apps/v1/Deployment web d"),
				owned("v1/Pod", "a/p1", "p1", "apps/v1/ReplicaSet web-1 r1"),
			},
			"apps/v1/ReplicaSet a/web-1 both 3", []string{"Deployment:a/web owner ReplicaSet:a/web-1", "ReplicaSet:a/web-1 owner Pod:a/p1"},
		},
		{
			"a custom resource of the cluster owns one in a namespace", []string{plain("example.com/v1/Fleet", "f", "f1"), owned("v1/Pod", "a/p", "p", "example.com/v1/Fleet f f1"), owned("v1/Pod", "b/p", "q", "example.com/v1/Fleet f f1")},
			"example.com/v1/Fleet f down 1", []string{"Fleet:f owner Pod:a/p", "Fleet:f owner Pod:b/p"},
		},
		{
			"up to a custom resource that nobody asked for before", []string{plain("example.com/v1/Game", "a/g", "g1"), owned("v1/Pod", "a/p", "p", "example.com/v1/Game g g1")},
			"v1/Pod a/p up 1", []string{"Game:a/g owner Pod:a/p"},
		},
		{
			"an owner named in an old version", []string{plain(deployment, "a/web", "d"), owned(set, "a/r", "r", "apps/v1beta2/Deployment web d")},
			"apps/v1/ReplicaSet a/r up 1", []string{"Deployment:a/web owner ReplicaSet:a/r"},
		},
		{
			"two owners", []string{plain("v1/ConfigMap", "a/c", "c"), plain("v1/Service", "a/s", "s"), owned("v1/Pod", "a/p", "p", "v1/ConfigMap c c", "v1/Service s s")},
			"v1/Pod a/p up 1", []string{"ConfigMap:a/c owner Pod:a/p", "Service:a/s owner Pod:a/p"},
		},
		{
			"an owner that is gone", []string{owned("v1/Pod", "a/p", "p", "apps/v1/ReplicaSet r r1")},
			"v1/Pod a/p up 3", []string{"ReplicaSet:a/r!NotFound owner Pod:a/p"},
		},
		{
			"another owner of the name", []string{plain(set, "a/r", "r2"), owned("v1/Pod", "a/p", "p", "apps/v1/ReplicaSet r r1")},
			"v1/Pod a/p up 3", []string{"ReplicaSet:a/r!OtherUID owner Pod:a/p"},
		},
		{
			"what belonged to another owner of the name", []string{plain(set, "a/r", "r2"), owned("v1/Pod", "a/p", "p", "apps/v1/ReplicaSet r r1")},
			"apps/v1/ReplicaSet a/r down 3", nil,
		},
		{
			"an owner's uid under a false name, or in another namespace, is no owner", []string{
				plain(set, "a/r", "r1"), owned("v1/Pod", "a/p", "p", "apps/v1/ReplicaSet s r1"), owned("v1/Pod", "b/q", "q", "apps/v1/ReplicaSet r r1"),
			},
			"apps/v1/ReplicaSet a/r down 3", nil,
		},
		{
			"a cycle ends", []string{owned(set, "a/x", "x", "apps/v1/ReplicaSet y y"), owned(set, "a/y", "y", "apps/v1/ReplicaSet x x")},
			"apps/v1/ReplicaSet a/x both 10", []string{"ReplicaSet:a/x owner ReplicaSet:a/y", "ReplicaSet:a/y owner ReplicaSet:a/x"},
		},
		{
			"owned by a Secret", []string{plain("v1/Secret", "a/s", "s"), owned("v1/Pod", "a/p", "p", "v1/Secret s s")},
			"v1/Pod a/p up 3", []string{"Secret:a/s? owner Pod:a/p"},
		},
		{
			"its own owner", []string{owned(set, "a/x", "x", "apps/v1/ReplicaSet x x")},
			"apps/v1/ReplicaSet a/x both 10", []string{"ReplicaSet:a/x owner ReplicaSet:a/x"},
		},
		{"a claim's volume", []string{backed("v"), claimRef("v", "v1", "a", "data", "c1")}, "v1/PersistentVolumeClaim a/data down 1", []string{"PersistentVolumeClaim:a/data bound PersistentVolume:v"}},
		{"a volume's claim", []string{backed("v"), claimRef("v", "v1", "a", "data", "c1")}, "v1/PersistentVolume v up 1", []string{"PersistentVolumeClaim:a/data bound PersistentVolume:v"}},
		{"a volume of a claim that was there before", []string{backed("v"), claimRef("v", "v1", "a", "data", "c0")}, "v1/PersistentVolumeClaim a/data down 1", []string{"PersistentVolumeClaim:a/data bound PersistentVolume:v!Unconfirmed"}},
		{"a claim that was there before", []string{backed("v"), claimRef("v", "v1", "a", "data", "c0")}, "v1/PersistentVolume v up 1", []string{"PersistentVolumeClaim:a/data!OtherUID bound PersistentVolume:v"}},
		{"a claim that names another volume", []string{backed("w"), claimRef("v", "v1", "a", "data", "c1")}, "v1/PersistentVolume v up 1", []string{"PersistentVolumeClaim:a/data!Unconfirmed bound PersistentVolume:v"}},
		{"a volume of another claim", []string{backed("v"), claimRef("v", "v1", "b", "data", "c1")}, "v1/PersistentVolumeClaim a/data down 1", []string{"PersistentVolumeClaim:a/data bound PersistentVolume:v!Unconfirmed"}},
		{"a volume kept for a claim, not bound yet", []string{backed("v"), claimRef("v", "v1", "a", "data", "")}, "v1/PersistentVolume v up 1", []string{"PersistentVolumeClaim:a/data!Unconfirmed bound PersistentVolume:v"}},
		{"a volume that is gone", []string{backed("v")}, "v1/PersistentVolumeClaim a/data down 1", []string{"PersistentVolumeClaim:a/data bound PersistentVolume:v!NotFound"}},
		{"a claim that is gone", []string{claimRef("v", "v1", "a", "data", "c1")}, "v1/PersistentVolume v up 1", []string{"PersistentVolumeClaim:a/data!NotFound bound PersistentVolume:v"}},
		{"a claim without a volume", []string{plain(pvc, "a/data", "c1")}, "v1/PersistentVolumeClaim a/data both 1", nil},
		{
			"a Service's Pods", []string{plain("v1/Service", "a/web", "s"), serviceSlice(podTarget("p1")), plain("v1/Pod", "a/p", "p1"), plain("v1/Service", "b/web", "s2")},
			"v1/Service a/web down 2", []string{"EndpointSlice:a/web-x target Pod:a/p", "Service:a/web slice EndpointSlice:a/web-x"},
		},
		{
			"a Pod's Service", []string{plain("v1/Service", "a/web", "s"), serviceSlice(podTarget("p1")), plain("v1/Pod", "a/p", "p1")},
			"v1/Pod a/p up 2", []string{"EndpointSlice:a/web-x target Pod:a/p", "Service:a/web slice EndpointSlice:a/web-x"},
		},
		{
			"a slice of what is gone", []string{serviceSlice(podTarget("p1")), plain("v1/Pod", "a/p", "p2")},
			"discovery.k8s.io/v1/EndpointSlice a/web-x both 2", []string{"EndpointSlice:a/web-x target Pod:a/p!OtherUID", "Service:a/web!NotFound slice EndpointSlice:a/web-x"},
		},
		{"another Pod of the name has no Service", []string{serviceSlice(podTarget("p1")), plain("v1/Pod", "a/p", "p2")}, "v1/Pod a/p up 2", nil},
		{
			"a slice written by hand, without uids", []string{serviceSlice(podTarget("")), plain("v1/Pod", "a/p", "p2")},
			"v1/Pod a/p up 1", []string{"EndpointSlice:a/web-x target Pod:a/p"},
		},
		{
			"a slice of nodes, and of a Pod elsewhere", []string{serviceSlice(`{"targetRef":{"kind":"Node","name":"p","uid":"p1"}},{"targetRef":{"kind":"Pod","namespace":"b","name":"p","uid":"p1"}}`), plain("v1/Pod", "b/p", "p1")},
			"discovery.k8s.io/v1/EndpointSlice a/web-x down 1", nil,
		},
		{
			"legacy Endpoints", []string{
				plain("v1/Service", "a/web", "s"), plain("v1/Pod", "a/p", "p"), plain("v1/Pod", "a/q", "q"), plain("v1/Endpoints", "a/other", "e2"),
				with("v1/Endpoints", "a/web", "e", `"subsets":[{"addresses":[{"targetRef":{"kind":"Pod","namespace":"a","name":"p","uid":"p"}}],"notReadyAddresses":[{"targetRef":{"kind":"Pod","name":"q","uid":"q"}}]}]`),
			},
			"v1/Service a/web down 2", []string{"Endpoints:a/web target Pod:a/p", "Endpoints:a/web target Pod:a/q", "Service:a/web endpoints Endpoints:a/web"},
		},
		{
			"legacy Endpoints upwards", []string{
				plain("v1/Service", "a/web", "s"), plain("v1/Pod", "a/p", "p"),
				with("v1/Endpoints", "a/web", "e", `"subsets":[{"addresses":[{"targetRef":{"kind":"Pod","namespace":"a","name":"p","uid":"p"}}]}]`),
			},
			"v1/Pod a/p up 2", []string{"Endpoints:a/web target Pod:a/p", "Service:a/web endpoints Endpoints:a/web"},
		},
		{"Endpoints need no Service", []string{plain("v1/Endpoints", "a/leader", "e")}, "v1/Endpoints a/leader up 1", nil},
		{"a Pod's Node", []string{plain("v1/Node", "n1", "n"), with("v1/Pod", "a/p", "p", `"spec":{"nodeName":"n1"}`)}, "v1/Pod a/p down 1", []string{"Pod:a/p node Node:n1"}},
		{
			"a Node's Pods", []string{plain("v1/Node", "n1", "n"), with("v1/Pod", "a/p", "p", `"spec":{"nodeName":"n1"}`), with("v1/Pod", "b/p", "p2", `"spec":{"nodeName":"n1"}`), with("v1/Pod", "b/q", "p3", `"spec":{"nodeName":"n2"}`)},
			"v1/Node n1 up 1", []string{"Pod:a/p node Node:n1", "Pod:b/p node Node:n1"},
		},
		{"a Node that is gone", []string{with("v1/Pod", "a/p", "p", `"spec":{"nodeName":"n1"}`)}, "v1/Pod a/p down 1", []string{"Pod:a/p node Node:n1!NotFound"}},
		{"what a Pod uses", []string{busyPod, plain("v1/ConfigMap", "a/env-all", "x"), plain("v1/ServiceAccount", "a/robot", "y"), plain("v1/ConfigMap", "b/volume", "z")}, "v1/Pod a/busy down 1", []string{
			"Pod:a/busy claim PersistentVolumeClaim:a/busy-scratch!NotFound", "Pod:a/busy claim PersistentVolumeClaim:a/data!NotFound",
			"Pod:a/busy configMap ConfigMap:a/ephemeral-key!NotFound", "Pod:a/busy configMap ConfigMap:a/env-all", "Pod:a/busy configMap ConfigMap:a/env-key!NotFound",
			"Pod:a/busy configMap ConfigMap:a/init-all!NotFound", "Pod:a/busy configMap ConfigMap:a/projected!NotFound", "Pod:a/busy configMap ConfigMap:a/volume!NotFound",
			"Pod:a/busy secret Secret:a/azure?", "Pod:a/busy secret Secret:a/csi?", "Pod:a/busy secret Secret:a/ephemeral-all?", "Pod:a/busy secret Secret:a/init-key?",
			"Pod:a/busy secret Secret:a/projected?", "Pod:a/busy secret Secret:a/pull?", "Pod:a/busy secret Secret:a/rbd?", "Pod:a/busy secret Secret:a/s-all?", "Pod:a/busy secret Secret:a/s-key?", "Pod:a/busy secret Secret:a/volume?",
			"Pod:a/busy serviceAccount ServiceAccount:a/robot",
		}},
		{"who uses a Secret", []string{busyPod}, "v1/Secret a/csi up 1", []string{"Pod:a/busy secret Secret:a/csi?"}},
		{"who uses a ConfigMap", []string{busyPod, plain("v1/ConfigMap", "a/projected", "x")}, "v1/ConfigMap a/projected up 1", []string{"Pod:a/busy configMap ConfigMap:a/projected"}},
		{"a ConfigMap of that name elsewhere", []string{busyPod, plain("v1/ConfigMap", "b/projected", "x")}, "v1/ConfigMap b/projected up 1", nil},
		{"who uses a ServiceAccount", []string{busyPod, plain("v1/ServiceAccount", "a/robot", "x")}, "v1/ServiceAccount a/robot up 1", []string{"Pod:a/busy serviceAccount ServiceAccount:a/robot"}},
		{"who uses a claim", []string{busyPod, plain(pvc, "a/busy-scratch", "x")}, "v1/PersistentVolumeClaim a/busy-scratch up 1", []string{"Pod:a/busy claim PersistentVolumeClaim:a/busy-scratch"}},
		{
			"what an autoscaler scales", []string{plain(deployment, "a/web", "d"), with(hpa, "a/h", "h", `"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`)},
			"autoscaling/v2/HorizontalPodAutoscaler a/h down 1", []string{"HorizontalPodAutoscaler:a/h scale Deployment:a/web"},
		},
		{
			"what scales a Deployment", []string{plain(deployment, "a/web", "d"), plain("apps/v1/StatefulSet", "a/web", "s"), with(hpa, "a/h", "h", `"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`)},
			"apps/v1/Deployment a/web up 1", []string{"HorizontalPodAutoscaler:a/h scale Deployment:a/web"},
		},
		{
			"an autoscaler of another kind of that name", []string{plain("apps/v1/StatefulSet", "a/web", "s"), with(hpa, "a/h", "h", `"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`)},
			"apps/v1/StatefulSet a/web up 1", nil,
		},
		{
			"an autoscaler of a custom resource that is gone", []string{with(hpa, "a/h", "h", `"spec":{"scaleTargetRef":{"apiVersion":"example.com/v1","kind":"Game","name":"g"}}`)},
			"autoscaling/v2/HorizontalPodAutoscaler a/h down 1", []string{"HorizontalPodAutoscaler:a/h scale Game:a/g!NotFound"},
		},
		{
			"an Ingress's Services", []string{
				plain("v1/Service", "a/one", "s1"), plain("v1/Service", "a/two", "s2"),
				with(ingress, "a/i", "i", `"spec":{"defaultBackend":{"service":{"name":"one"}},"rules":[{"http":{"paths":[{"backend":{"service":{"name":"two"}}},{"backend":{"service":{"name":"three"}}},{"backend":{"resource":{"kind":"X","name":"one"}}}]}},{"host":"h"}]}`),
			},
			"networking.k8s.io/v1/Ingress a/i down 1",
			[]string{"Ingress:a/i backend Service:a/one", "Ingress:a/i backend Service:a/three!NotFound", "Ingress:a/i backend Service:a/two"},
		},
		{
			"a Service's Ingress", []string{plain("v1/Service", "a/two", "s2"), with(ingress, "a/i", "i", `"spec":{"rules":[{"http":{"paths":[{"backend":{"service":{"name":"two"}}}]}}]}`)},
			"v1/Service a/two up 1", []string{"Ingress:a/i backend Service:a/two"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster()
			for _, o := range tt.objects {
				c.put(t, o)
			}
			r := relations(t, c, &guard{}, nil)
			slices.Sort(tt.want)
			for range 2 { // the second time from indexes that are there
				equal(t, "edges", lines(ask(t, r, tt.ask)), tt.want)
			}
			if c.held != 0 {
				t.Errorf("%d watches are still held", c.held)
			}
			for of, n := range c.opened {
				if of.Resource == "secrets" && n > 0 {
					t.Error("Secrets were opened")
				}
			}
		})
	}
}

// TestMesh: where everything owns everything, each object is looked at once.
func TestMesh(t *testing.T) {
	const number = 20
	c := newCluster()
	var owners []string
	for i := range number {
		owners = append(owners, fmt.Sprintf("apps/v1/ReplicaSet r%d u%d", i, i))
	}
	for i := range number {
		c.put(t, owned("apps/v1/ReplicaSet", fmt.Sprintf("a/r%d", i), fmt.Sprintf("u%d", i), owners...))
	}
	a := ask(t, relations(t, c, &guard{}, nil), "apps/v1/ReplicaSet a/r0 both 10")
	if len(a.Nodes) != number || len(a.Edges) != number*number || a.Truncated != nil {
		t.Errorf("%d nodes, %d edges, cut: %v", len(a.Nodes), len(a.Edges), a.Truncated)
	}
}

// busyPod names something in each place where a Pod can.
var busyPod = with("v1/Pod", "a/busy", "b", `"spec":{"serviceAccountName":"robot","imagePullSecrets":[{"name":"pull"}],
"volumes":[{"name":"v1","configMap":{"name":"volume"}},{"name":"v2","secret":{"secretName":"volume"}},{"name":"v3","persistentVolumeClaim":{"claimName":"data"}},
{"name":"v4","projected":{"sources":[{"configMap":{"name":"projected"}},{"secret":{"name":"projected"}},{"serviceAccountToken":{"path":"t"}}]}},
{"name":"scratch","ephemeral":{"volumeClaimTemplate":{"spec":{}}}},{"name":"v5","csi":{"driver":"d","nodePublishSecretRef":{"name":"csi"}}},
{"name":"v6","azureFile":{"secretName":"azure"}},{"name":"v7","rbd":{"secretRef":{"name":"rbd"}}},{"name":"v8","emptyDir":{}}],
"containers":[{"name":"c","envFrom":[{"configMapRef":{"name":"env-all"}},{"secretRef":{"name":"s-all"}}],"env":[{"name":"A","value":"plain"},{"name":"B","valueFrom":{"configMapKeyRef":{"name":"env-key","key":"k"}}},{"name":"C","valueFrom":{"secretKeyRef":{"name":"s-key","key":"k"}}}]}],
"initContainers":[{"name":"i","envFrom":[{"configMapRef":{"name":"init-all"}}],"env":[{"name":"D","valueFrom":{"secretKeyRef":{"name":"init-key"}}}]}],
"ephemeralContainers":[{"name":"e","envFrom":[{"secretRef":{"name":"ephemeral-all"}}],"env":[{"name":"E","valueFrom":{"configMapKeyRef":{"name":"ephemeral-key"}}}]}]}`)
