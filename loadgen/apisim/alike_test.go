package apisim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestClientsCannotTell has client-go's informers, typed and dynamic, with and without
// a selector, follow the same objects on a real apiserver and on a simulated one, which
// mirrors what the real one stored, and compares what they are told.
func TestClientsCannotTell(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	s := newServer(t, apisim.Config{Resources: []apisim.Resource{apisim.ConfigMaps, apisim.Pods, apisim.Nodes}})
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer srv.CloseClientConnections()
	m := &mirroring{t: t, ns: ns, s: s, real: kubernetes.NewForConfigOrDie(env.Config)}
	for i := range 5 {
		m.create(fmt.Sprintf("first-%d", i), "web")
	}
	var all [2][]*told
	for i, cfg := range []*rest.Config{env.Config, {Host: srv.URL}} {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		all[i] = inform(t, ctx, &running, cfg, ns)
	}
	for i := range 20 {
		name := fmt.Sprintf("cm-%d", i%4)
		switch {
		case i < 4:
			m.create(name, "web")
		case i%7 == 0:
			m.delete(name)
			m.create(name, "db")
		default:
			m.patch(name, []string{"web", "db"}[i%2], i)
		}
	}
	m.create("last", "web")
	for i, kind := range []string{"typed", "typed, app=web", "dynamic", "dynamic, app=web"} {
		actual, simulated := all[0][i].upTo(t, "last"), all[1][i].upTo(t, "last")
		if len(actual) < 10 {
			t.Fatalf("%s: told only %v", kind, actual)
		}
		if d := cmp.Diff(actual, simulated); d != "" {
			t.Errorf("%s (-real +simulated):\n%s", kind, d)
		}
	}
}

// mirroring writes to a real apiserver and puts what it stored into a simulated one.
type mirroring struct {
	t    *testing.T
	ns   string
	s    *apisim.Server
	real kubernetes.Interface
}

func (m *mirroring) put(o *corev1.ConfigMap, err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.s.Put("configmaps", text); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mirroring) create(name, app string) {
	m.t.Helper()
	m.put(m.real.CoreV1().ConfigMaps(m.ns).Create(m.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}}, metav1.CreateOptions{}))
}

func (m *mirroring) patch(name, app string, n int) {
	m.t.Helper()
	text := fmt.Appendf(nil, `{"metadata":{"labels":{"app":%q}},"data":{"n":"%d"}}`, app, n)
	m.put(m.real.CoreV1().ConfigMaps(m.ns).Patch(m.t.Context(), name, types.MergePatchType, text, metav1.PatchOptions{}))
}

func (m *mirroring) delete(name string) {
	m.t.Helper()
	if err := m.real.CoreV1().ConfigMaps(m.ns).Delete(m.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.s.Remove("configmaps", m.ns, name); err != nil {
		m.t.Fatal(err)
	}
}

// told is what one informer is told, apart from versions, which differ.
type told struct {
	mu    sync.Mutex // guards events
	first []string   // up to the synchronisation, sorted
	later []string
}

func (r *told) note(what string, obj any, initial bool) {
	text, err := json.Marshal(obj)
	if err != nil {
		text = []byte(err.Error())
	}
	u := &unstructured.Unstructured{}
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		text = []byte(d.Key)
	} else if json.Unmarshal(text, &u.Object) == nil {
		u.SetResourceVersion("")
		text, _ = json.Marshal(u.Object)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if initial {
		r.first = append(r.first, what+" "+string(text))
		return
	}
	r.later = append(r.later, what+" "+string(text))
}

// upTo waits for the addition of an object.
func (r *told) upTo(t *testing.T, name string) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		events := slices.Concat(slices.Sorted(slices.Values(r.first)), r.later)
		r.mu.Unlock()
		if len(events) > 0 && strings.Contains(events[len(events)-1], fmt.Sprintf(`"name":%q`, name)) {
			return events
		}
		if time.Now().After(deadline) {
			t.Fatalf("not told of %s: %v", name, events)
		}
	}
}

// inform starts the informers and waits until they are synchronised.
func inform(t *testing.T, ctx context.Context, running *sync.WaitGroup, cfg *rest.Config, ns string) (all []*told) {
	t.Helper()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for _, kind := range []string{"typed", "dynamic"} {
		for _, selector := range []string{"", "app=web"} {
			tweak := func(o *metav1.ListOptions) { o.LabelSelector = selector }
			var informer cache.SharedIndexInformer
			if kind == "typed" {
				f := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(cfg), 0, informers.WithNamespace(ns), informers.WithTweakListOptions(tweak))
				informer = f.Core().V1().ConfigMaps().Informer()
			} else {
				f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(cfg), 0, ns, tweak)
				informer = f.ForResource(configMaps).Informer()
			}
			r := &told{}
			all = append(all, r)
			handle, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
				AddFunc:    func(o any, initial bool) { r.note("add", o, initial) },
				UpdateFunc: func(_, o any) { r.note("update", o, false) },
				DeleteFunc: func(o any) { r.note("delete", o, false) },
			})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() { informer.RunWithContext(ctx) })
			within, cancel := context.WithTimeout(ctx, time.Minute)
			if !cache.WaitForCacheSync(within.Done(), handle.HasSynced) {
				t.Fatalf("the %s informer does not synchronise", kind)
			}
			cancel()
		}
	}
	return all
}
