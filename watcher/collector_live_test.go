package watcher

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// mirror is a Sink that does what a storage would: it keeps the last Put of a key
// until a Delete. It also holds the order of versions to account.
type mirror struct {
	mu       sync.Mutex
	objects  map[object.Key]*object.Object
	versions map[string]uint64 // by uid
	gone     map[string]bool   // by uid
	errs     []string
	events   int
}

func newMirror() *mirror {
	return &mirror{objects: map[object.Key]*object.Object{}, versions: map[string]uint64{}, gone: map[string]bool{}}
}

func (m *mirror) Enqueue(_ context.Context, e pipeline.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events++
	if e.UID == "" {
		m.errs = append(m.errs, fmt.Sprintf("%s: event without a uid", e.Key))
	}
	if m.versions[e.UID] > e.ResourceVersion {
		m.errs = append(m.errs, fmt.Sprintf("%s: version %d after %d", e.Key, e.ResourceVersion, m.versions[e.UID]))
	}
	m.versions[e.UID] = e.ResourceVersion
	if e.Action == pipeline.Delete {
		m.gone[e.UID] = true
		delete(m.objects, e.Key)
		return nil
	}
	if m.gone[e.UID] {
		m.errs = append(m.errs, fmt.Sprintf("%s: put of %s after its delete", e.Key, e.UID))
	}
	m.objects[e.Key] = e.Object
	return nil
}

func (m *mirror) snapshot() (map[object.Key]*object.Object, []string, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	objects := map[object.Key]*object.Object{}
	for k, o := range m.objects {
		objects[k] = o
	}
	return objects, m.errs, m.events
}

// fetch reads one object as the apiserver gives it to a GET.
func fetch(t *testing.T, cfg *rest.Config, path string) map[string]any {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(strings.TrimSuffix(cfg.Host, "/") + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v", path, resp.Status, err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestChurnConverges changes objects at random while collectors come and go, and
// compares what they handed over with what the apiserver holds.
func TestChurnConverges(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	cs, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	disc, err := collector.NewDiscovery(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer disc.Close()
	resources, err := disc.Resources(t.Context(), collector.DiscoveryFilter{GroupVersions: []string{"v1", "apps/v1", "storage.k8s.io/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(resources) < 15 {
		t.Fatalf("discovery found only %v", resources)
	}
	for _, variant := range []struct {
		name   string
		config collector.Config
	}{
		{"streaming", collector.Config{}},
		{"lists", collector.Config{PlainList: true}},
		{"packed", collector.Config{Pack: true}},
	} {
		t.Run(variant.name, func(t *testing.T) {
			c := variant.config
			c.Resources = resources
			m := newMirror()
			col, err := collector.New(c, collector.Settings{Client: env.Config, Sink: m})
			if err != nil {
				t.Fatal(err)
			}
			churnObjects(t, cs, ns, rand.New(rand.NewPCG(seed, 1)), 100)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- col.Run(ctx) }()
			churnObjects(t, cs, ns, rand.New(rand.NewPCG(seed, 2)), 300)
			sync, stop := context.WithTimeout(ctx, 20*time.Second)
			defer stop()
			if err := col.WaitForSync(sync); err != nil {
				t.Fatal(err)
			}
			converge(t, env.Config, cs, ns, col, m)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func churnObjects(t *testing.T, cs kubernetes.Interface, ns string, rng *rand.Rand, ops int) {
	t.Helper()
	ctx := t.Context()
	for range ops {
		name := fmt.Sprintf("o%d", rng.IntN(15))
		var err error
		switch rng.IntN(6) {
		case 0, 1:
			_, err = cs.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": "v"}}, Data: map[string]string{"k": `"q" <é>` + "\n"}}, metav1.CreateOptions{})
		case 2, 3:
			patch := fmt.Sprintf(`{"data":{"n":"%d"}}`, rng.IntN(1000))
			_, err = cs.CoreV1().ConfigMaps(ns).Patch(ctx, name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		case 4:
			err = cs.CoreV1().ConfigMaps(ns).Delete(ctx, name, metav1.DeleteOptions{})
		case 5:
			_, err = cs.CoreV1().Secrets(ns).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}, Data: map[string][]byte{"k": []byte("v")}}, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// converge waits until the mirror holds the apiserver's objects of the namespace,
// then compares store, mirror and apiserver in full.
func converge(t *testing.T, cfg *rest.Config, cs kubernetes.Interface, ns string, col *collector.Collector, m *mirror) {
	t.Helper()
	want := map[object.Key]string{}
	maps, err := cs.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range maps.Items {
		want[object.Key{Kind: "ConfigMap", Namespace: ns, Name: o.Name}] = o.ResourceVersion
	}
	secrets, err := cs.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range secrets.Items {
		want[object.Key{Kind: "Secret", Namespace: ns, Name: o.Name}] = o.ResourceVersion
	}
	var got map[object.Key]string
	var objects map[object.Key]*object.Object
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		objects, _, _ = m.snapshot()
		got = map[object.Key]string{}
		for k, o := range objects {
			if k.Namespace == ns && (k.Kind == "ConfigMap" || k.Kind == "Secret") {
				got[k] = fmt.Sprint(o.ResourceVersion)
			}
		}
		if reflect.DeepEqual(got, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("mirror has %d objects, the apiserver %d:\n%v\n%v", len(got), len(want), got, want)
		}
	}
	for k, o := range objects {
		if cached, ok := col.Get(k); !ok || cached != o {
			t.Errorf("%s: the store does not hold what was handed over last", k)
		}
	}
	checked := 0
	for k := range want {
		if checked++; checked > 10 {
			break
		}
		path := "/api/v1/namespaces/" + ns + "/configmaps/" + k.Name
		if k.Kind == "Secret" {
			path = "/api/v1/namespaces/" + ns + "/secrets/" + k.Name
		}
		full := fetch(t, cfg, path)
		delete(full["metadata"].(map[string]any), "managedFields")
		var raw map[string]any
		if err := json.Unmarshal(objects[k].JSON(), &raw); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(raw, full) {
			t.Errorf("%s: handed over\n%s\nthe apiserver has\n%v", k, objects[k].JSON(), full)
		}
	}
	_, errs, events := m.snapshot()
	for _, e := range errs {
		t.Error(e)
	}
	t.Logf("%d objects, %d events", len(want), events)
}
