package relation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestLive: the relations of a small application in a real apiserver, over lazy watches:
// built-in kinds in the form that the apiserver gives them.
func TestLive(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	client := dynamic.NewForConfigOrDie(env.Config)
	uids := map[string]string{}
	create := func(gvr, text string) {
		t.Helper()
		var o unstructured.Unstructured
		if err := json.Unmarshal([]byte(expand(text, ns, uids)), &o.Object); err != nil {
			t.Fatal(err)
		}
		r := must(watches.ParseGVR(gvr))
		var at dynamic.ResourceInterface = client.Resource(schema.GroupVersionResource(r))
		if k := o.GetKind(); k != "Node" && k != "PersistentVolume" {
			at = client.Resource(schema.GroupVersionResource(r)).Namespace(ns)
		} else {
			t.Cleanup(func() { _ = at.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
		}
		made, err := at.Create(t.Context(), &o, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", gvr, err)
		}
		uids[o.GetKind()] = string(made.GetUID())
	}
	const template = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	create("v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"NS-node"}}`)
	create("v1/serviceaccounts", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"}}`)
	create("v1/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}}`)
	create("v1/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"password"},"data":{}}`)
	create("v1/persistentvolumeclaims", `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"volumeName":"NS-v","storageClassName":"","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	create("v1/persistentvolumes", `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"NS-v"},"spec":{"hostPath":{"path":"/x"},"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"claimRef":{"namespace":"NS","name":"data","uid":"$PersistentVolumeClaim"}}}`)
	create("apps/v1/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{`+template+`}}`)
	create("apps/v1/replicasets", `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-1","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"$Deployment","controller":true}]},"spec":{`+template+`}}`)
	create("v1/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1-x","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"$ReplicaSet","controller":true}]},
		"spec":{"nodeName":"NS-node","serviceAccountName":"robot","automountServiceAccountToken":false,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],
		"containers":[{"name":"c","image":"i","envFrom":[{"configMapRef":{"name":"settings"}},{"secretRef":{"name":"password"}}]}]}}`)
	create("v1/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}`)
	create("discovery.k8s.io/v1/endpointslices", `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"web-x","labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"targetRef":{"kind":"Pod","namespace":"NS","name":"web-1-x","uid":"$Pod"}}]}`)
	create("networking.k8s.io/v1/ingresses", `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"front"},"spec":{"rules":[{"http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`)
	create("autoscaling/v2/horizontalpodautoscalers", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"grow"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`)

	lookout := must(collector.NewLookout(env.Config, func(string) bool { return true }))
	followed := must(watches.New(watches.Default(), watches.Settings{Client: env.Config, Lookout: lookout}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		var looking sync.WaitGroup
		looking.Go(func() { _ = lookout.Run(ctx, followed.NotFound()...) })
		err := followed.Run(ctx)
		looking.Wait()
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	r := must(relation.New(relation.Default(), relation.Settings{Kinds: followed, Guard: &guard{}, Followed: func() []watches.GVR { return nil }}))
	get := func(query string) *relation.Answer {
		t.Helper()
		values := must(url.ParseQuery(query))
		q := must(relation.ParseQuery(values))
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			a, err := r.Graph(t.Context(), q, nil)
			if err == nil {
				return a
			}
			if time.Now().After(deadline) { // before the first discovery nothing is served
				t.Fatalf("%s: %v", query, err)
			}
		}
	}
	edges := func(a *relation.Answer) (all []string) {
		for _, l := range lines(a) {
			all = append(all, strings.ReplaceAll(l, ns, "NS"))
		}
		return all
	}
	down := []string{
		"Deployment:NS/web owner ReplicaSet:NS/web-1", "Ingress:NS/front backend Service:NS/web", "PersistentVolumeClaim:NS/data bound PersistentVolume:NS-v",
		"Pod:NS/web-1-x claim PersistentVolumeClaim:NS/data", "Pod:NS/web-1-x configMap ConfigMap:NS/settings", "Pod:NS/web-1-x node Node:NS-node",
		"Pod:NS/web-1-x secret Secret:NS/password?", "Pod:NS/web-1-x serviceAccount ServiceAccount:NS/robot",
	}
	equal(t, "down", edges(get("gvk=apps/v1/Deployment&name=web&depth=4&namespace="+ns)), append(append(down[:1:1], down[2:]...), "ReplicaSet:NS/web-1 owner Pod:NS/web-1-x"))
	equal(t, "up", edges(get("gvk=v1/Pod&name=web-1-x&direction=up&namespace="+ns)), []string{
		"Deployment:NS/web owner ReplicaSet:NS/web-1", "EndpointSlice:NS/web-x target Pod:NS/web-1-x", "HorizontalPodAutoscaler:NS/grow scale Deployment:NS/web",
		"Ingress:NS/front backend Service:NS/web", "ReplicaSet:NS/web-1 owner Pod:NS/web-1-x", "Service:NS/web slice EndpointSlice:NS/web-x",
	})
	for typ, s := range get("gvk=v1/Pod&name=web-1-x&direction=up&namespace=" + ns).Types {
		if !s.Complete {
			t.Errorf("%s: %+v", typ, s.Gaps)
		}
	}
	if err := client.Resource(schema.GroupVersionResource(podsGVR)).Namespace(ns).Delete(t.Context(), "web-1-x", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		got := edges(get("gvk=v1/Service&name=web&namespace=" + ns))
		if fmt.Sprint(got) == "[EndpointSlice:NS/web-x target Pod:NS/web-1-x!NotFound Service:NS/web slice EndpointSlice:NS/web-x]" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the Pod was deleted: %v", got)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, s := range followed.List() {
		if s.Resource == "secrets" || s.Holders > 0 && !s.Pinned {
			t.Errorf("%+v", s)
		}
	}
}

// expand puts the namespace and the uids of what was made into an object.
func expand(text, ns string, uids map[string]string) string {
	text = strings.ReplaceAll(text, "NS", ns)
	for kind, uid := range uids {
		text = strings.ReplaceAll(text, "$"+kind+`"`, uid+`"`)
	}
	return text
}
