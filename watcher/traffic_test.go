package watcher

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }

// recorder is a storage that takes everything and remembers it.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex // guards seen
	seen []recorded
}

type recorded struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   any    `json:"body,omitempty"`
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		if req.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
			return
		}
		rec := recorded{Method: req.Method, Path: req.URL.EscapedPath()}
		if len(b) > 0 {
			if err := json.Unmarshal(b, &rec.Body); err != nil {
				t.Errorf("%s %s: body is no JSON: %v", rec.Method, rec.Path, err)
			}
		}
		r.mu.Lock()
		r.seen = append(r.seen, rec)
		r.mu.Unlock()
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
	}))
	t.Cleanup(r.Close)
	return r
}

// await blocks until a request of that method has been seen for a path that ends so.
func (r *recorder) await(t *testing.T, method, suffix string) {
	t.Helper()
	r.awaitN(t, method, suffix, 1)
}

// awaitN blocks until n such requests have been seen.
func (r *recorder) awaitN(t *testing.T, method, suffix string, n int) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found := 0
		r.mu.Lock()
		for _, s := range r.seen {
			if s.Method == method && strings.HasSuffix(s.Path, suffix) {
				found++
			}
		}
		r.mu.Unlock()
		if found >= n {
			return
		}
	}
	t.Fatalf("not %d × %s …%s within 15 s", n, method, suffix)
}

// terminating reports a PUT of an object on its way to deletion. Whether that state
// is seen depends on how soon the deletion follows.
func (s recorded) terminating() bool {
	text, _ := json.Marshal(s.Body)
	return strings.Contains(string(text), `"deletionTimestamp"`)
}

// take returns what was seen for objects of this test, ordered by path and then
// by time, and forgets it.
func (r *recorder) take(want ...string) []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []recorded
	for _, s := range r.seen {
		if s.terminating() {
			continue
		}
		text, _ := json.Marshal(s)
		if slices.ContainsFunc(want, func(w string) bool { return strings.Contains(string(text), w) }) {
			s.Body = steady(s.Body)
			out = append(out, s)
		}
	}
	r.seen = nil
	slices.SortStableFunc(out, func(a, b recorded) int { return cmp.Compare(a.Path+a.key(), b.Path+b.key()) })
	return out
}

// key tells Events apart, which share one path.
func (s recorded) key() string {
	m, _ := s.Body.(map[string]any)
	d, _ := m["describe"].(string)
	return d
}

// steady replaces what differs from run to run.
func steady(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			switch k {
			case "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "eventTime":
				if e != nil {
					v[k] = "<" + k + ">"
				}
			default:
				v[k] = steady(e)
			}
		}
	case []any:
		for i, e := range v {
			v[i] = steady(e)
		}
	}
	return v
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// startWatcher runs a watcher until the test ends.
func startWatcher(t *testing.T, kubeconfig, storage string, change func(*config.Config, *config.Filter)) *Watcher {
	t.Helper()
	w, _ := startStoppable(t, kubeconfig, storage, change)
	return w
}

// startStoppable is startWatcher for a watcher that may end before the test does.
func startStoppable(t *testing.T, kubeconfig, storage string, change func(*config.Config, *config.Filter)) (_ *Watcher, stop func()) {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID = "BCS-K8S-90001"
	cfg.BCS.CustomStorageEndpoints = config.List{storage}
	cfg.WatchResource.DisableNetService = true
	cfg.BCS.DrainTimeout = config.Duration(time.Second)
	cfg.K8s.Kubeconfig = kubeconfig
	cfg.Port, cfg.MetricPort = freePort(t), freePort(t)
	filter := config.Filter{K8sResourceWhiteList: []string{"v1", "apps/v1"}}
	if change != nil {
		change(&cfg, &filter)
	}
	w, err := New(cfg, filter, Settings{Logger: NewLogger(t.Output(), 0)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	for deadline := time.Now().Add(30 * time.Second); w.ready() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not ready within 30 s:", w.ready())
		}
	}
	return w, stop
}

// The requests for a scripted history of a real cluster equal the contract's in
// method, URL and body.
func TestTraffic(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	storage := newRecorder(t)
	startWatcher(t, env.Kubeconfig, storage.URL, func(_ *config.Config, f *config.Filter) {
		f.ResourceNamespaceFilters = []string{"kube-system"}
		f.ResourceNameFilters = []string{"kubernetes"}
		f.ResourceMaskers = []config.Masker{
			{Kind: "Secret", Path: []string{"data"}},
			{Kind: "Pod", Namespace: "traffic", Path: []string{"spec", "containers", "0", "env"}},
		}
	})
	s := script{t: t, client: client, ctx: t.Context()}
	s.history(storage)
	storage.equalGolden(t, "traffic.json")
}

// equalGolden compares with the golden file, which -update writes.
func (r *recorder) equalGolden(t *testing.T, name string) {
	got, err := json.MarshalIndent(r.take("traffic"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), string(got)+"\n"); d != "" {
		t.Error(d)
	}
}

type script struct {
	t      *testing.T
	client kubernetes.Interface
	ctx    context.Context
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s script) history(storage *recorder) {
	t, ctx, c := s.t, s.ctx, s.client
	meta := func(name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: "traffic", Labels: map[string]string{"app": "web"}, OwnerReferences: owners}
	}
	yes := true
	owner := func(api, kind, name string, uid any) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: api, Kind: kind, Name: name, UID: "11111111-1111-1111-1111-111111111111", Controller: &yes}
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
	must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "traffic"}}, metav1.CreateOptions{}))
	storage.await(t, "PUT", "/Namespace/traffic")

	// A Pod behind a ReplicaSet of a Deployment, one behind a Job, one without owner.
	must[*appsv1.ReplicaSet](t)(c.AppsV1().ReplicaSets("traffic").Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: meta("web-abc", owner("apps/v1", "Deployment", "web", nil)),
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, metav1.CreateOptions{}))
	storage.await(t, "PUT", "/ReplicaSet/web-abc")
	for name, owners := range map[string][]metav1.OwnerReference{
		"web-abc-1": {owner("apps/v1", "ReplicaSet", "web-abc", nil)},
		"job-1":     {owner("batch/v1", "Job", "job", nil)},
		"alone":     nil,
	} {
		spec := *template.Spec.DeepCopy()
		spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "canary-env"}}
		must[*corev1.Pod](t)(c.CoreV1().Pods("traffic").Create(ctx, &corev1.Pod{ObjectMeta: meta(name, owners...), Spec: spec}, metav1.CreateOptions{}))
		storage.await(t, "PUT", "/Pod/"+name)
	}
	must[*corev1.Pod](t)(c.CoreV1().Pods("kube-system").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "traffic-filtered"}, Spec: template.Spec}, metav1.CreateOptions{}))

	// A Secret whose data must not leave, and one object by a filtered name.
	must[*corev1.Secret](t)(c.CoreV1().Secrets("traffic").Create(ctx, &corev1.Secret{ObjectMeta: meta("s"), StringData: map[string]string{"k": "canary-secret"}}, metav1.CreateOptions{}))
	storage.await(t, "PUT", "/Secret/s")
	must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps("traffic").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta("kubernetes")}, metav1.CreateOptions{}))

	// A Node: the heartbeat is skipped, the change of a condition is not.
	at := metav1.NewTime(time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC))
	node := must[*corev1.Node](t)(c.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "traffic-node"}}, metav1.CreateOptions{}))
	beat := func(after time.Duration, status corev1.ConditionStatus) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: at, LastHeartbeatTime: metav1.NewTime(at.Add(after))}}
		node = must[*corev1.Node](t)(c.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}))
	}
	storage.await(t, "PUT", "/Node/traffic-node")
	beat(0, corev1.ConditionTrue)
	storage.awaitN(t, "PUT", "/Node/traffic-node", 2)
	beat(10*time.Second, corev1.ConditionTrue)
	beat(20*time.Second, corev1.ConditionTrue)
	beat(30*time.Second, corev1.ConditionFalse)
	storage.awaitN(t, "PUT", "/Node/traffic-node", 3)

	// Events: one of a Pod, one of kube-system that is kept, one that is not.
	event := func(ns, name, message string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: ns},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "web-abc-1"},
			Reason:         "BackOff", Message: message, Type: "Warning", Source: corev1.EventSource{Component: "kubelet"},
			FirstTimestamp: at, LastTimestamp: at,
		}
	}
	must[*corev1.Event](t)(c.CoreV1().Events("traffic").Create(ctx, event("traffic", "web-abc-1.17", "traffic one"), metav1.CreateOptions{}))
	must[*corev1.Event](t)(c.CoreV1().Events("kube-system").Create(ctx, event("kube-system", "kube-proxy.17", "traffic two"), metav1.CreateOptions{}))
	must[*corev1.Event](t)(c.CoreV1().Events("kube-system").Create(ctx, event("kube-system", "other.17", "traffic three"), metav1.CreateOptions{}))

	storage.awaitN(t, "PUT", "/events", 2)

	// Deletions, of an Event too, which is never told.
	zero := int64(0)
	for _, err := range []error{
		c.CoreV1().Events("traffic").Delete(ctx, "web-abc-1.17", metav1.DeleteOptions{}),
		c.CoreV1().Pods("traffic").Delete(ctx, "web-abc-1", metav1.DeleteOptions{GracePeriodSeconds: &zero}),
		c.CoreV1().Pods("kube-system").Delete(ctx, "traffic-filtered", metav1.DeleteOptions{GracePeriodSeconds: &zero}),
		c.CoreV1().Nodes().Delete(ctx, "traffic-node", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	storage.await(t, "DELETE", "/Pod/web-abc-1")
	storage.await(t, "DELETE", "/Node/traffic-node")
}
