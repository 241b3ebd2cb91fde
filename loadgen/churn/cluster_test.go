package churn_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// memoryLog collects records.
type memoryLog struct {
	mu      sync.Mutex // guards records
	records []oplog.Record
}

func (m *memoryLog) Append(r oplog.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, r)
}

// runID is unique per test run: tests share a control plane.
func runID(t *testing.T) string {
	return fmt.Sprintf("t%d", time.Now().UnixNano()%1e12)
}

// seen is what a watch told of one object's life.
type seen struct {
	kind    watch.EventType
	name    string
	uid     string
	version uint64
	op      string
	// terminating: it has a deletion time; grace is how long it may take.
	terminating bool
	grace       int64
}

// watchPods collects the pod events of a run until stop is called, which waits for all that happened before.
func watchPods(t *testing.T, client kubernetes.Interface, run string) (stop func() []seen) {
	t.Helper()
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + run})
	if err != nil {
		t.Fatal(err)
	}
	last := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "last-", Namespace: metav1.NamespaceDefault, Labels: map[string]string{churn.RunLabel: run}},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}},
	}
	var events []seen
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			p := e.Object.(*corev1.Pod)
			if p.GenerateName == last.GenerateName {
				return
			}
			version, _ := strconv.ParseUint(p.ResourceVersion, 10, 64)
			s := seen{kind: e.Type, name: p.Namespace + "/" + p.Name, uid: string(p.UID), version: version,
				op: p.Annotations[churn.OpAnnotation], terminating: p.DeletionTimestamp != nil}
			if p.DeletionGracePeriodSeconds != nil {
				s.grace = *p.DeletionGracePeriodSeconds
			}
			events = append(events, s)
		}
	}()
	return func() []seen {
		pods := client.CoreV1().Pods(last.Namespace)
		made, err := pods.Create(t.Context(), last, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		<-done
		w.Stop()
		zero := int64(0)
		if err := pods.Delete(t.Context(), made.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			t.Error(err)
		}
		return events
	}
}

// newEngine makes an engine over the shared control plane that cleans up.
func newEngine(t *testing.T, cfg plan.Config) (*churn.Engine, *memoryLog, *rest.Config) {
	t.Helper()
	env := clustertest.Start(t)
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log := &memoryLog{}
	e, err := churn.New(p, churn.Settings{REST: env.Config, Log: log, RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Teardown(ctx); err != nil {
			t.Errorf("teardown: %v", err)
		}
		e.Close()
	})
	return e, log, env.Config
}

func config(t *testing.T) plan.Config {
	cfg := plan.Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Threads, cfg.Operations = 1, runID(t), plan.ModelClosed, 4, 200
	cfg.Namespaces, cfg.Nodes, cfg.Recreate = 2, 2, 0.5
	return cfg
}

func TestOpLogAgreesWithAWatch(t *testing.T) {
	for _, model := range []string{plan.ModelClosed, plan.ModelOpen} {
		t.Run(model, func(t *testing.T) {
			cfg := config(t)
			if model == plan.ModelOpen {
				cfg.Model, cfg.Threads, cfg.Operations = model, 0, 0
				cfg.Rate, cfg.Duration = 100, units.Duration(2*time.Second)
			}
			cfg.Bystander = &plan.Bystander{Kind: plan.KindConfigMap, Rate: 20}
			cfg.Warmup.Operations, cfg.Prefill = 20, 10
			cfg.Hotkeys = &plan.Hotkeys{Objects: 3, Zipf: 1, Burst: 8, Share: 0.2}
			engine, log, restConfig := newEngine(t, cfg)
			client := kubernetes.NewForConfigOrDie(restConfig)
			stop := watchPods(t, client, cfg.RunID)
			ctx := t.Context()
			if err := engine.Prepare(ctx); err != nil {
				t.Fatal(err)
			}
			if err := engine.Warmup(ctx); err != nil {
				t.Fatal(err)
			}
			stats, err := engine.Load(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			events := stop()
			if stats.Planned != 200 || stats.Done != 200 || stats.Errors != 0 {
				t.Errorf("planned %d, done %d, errors %d (%s), want 200, 200, 0", stats.Planned, stats.Done, stats.Errors, stats.FirstError)
			}
			compare(t, log.records, events)
			if err := engine.Teardown(ctx); err != nil {
				t.Fatal(err)
			}
			nothingLeft(t, client, cfg.RunID)
		})
	}
}

// compare holds the records of pods against the events of a watch: each acknowledged write made exactly one event, with
// the version and the operation id that the record says.
func compare(t *testing.T, records []oplog.Record, events []seen) {
	t.Helper()
	type key struct {
		uid     string
		version uint64
	}
	states, deletions := map[key]seen{}, map[string]seen{}
	for _, e := range events {
		if e.kind == watch.Deleted {
			deletions[e.uid] = e
		} else {
			states[key{e.uid, e.version}] = e
		}
	}
	ids := map[int64]bool{}
	pods := 0
	for _, r := range records {
		if !r.OK() {
			t.Errorf("operation %d failed: %+v", r.ID, r)
		}
		if ids[r.ID] {
			t.Errorf("operation id %d twice", r.ID)
		}
		ids[r.ID] = true
		if r.Started < r.Intended || r.Finished < r.Started || r.Intended == 0 {
			t.Errorf("operation %d: intended %d, started %d, finished %d do not follow one another", r.ID, r.Intended, r.Started, r.Finished)
		}
		if r.Kind != "Pod" {
			continue
		}
		pods++
		name := r.Namespace + "/" + r.Name
		if r.Type == oplog.TypeDelete {
			e, ok := deletions[r.UID]
			if !ok || e.name != name || (r.DeletedVersion != 0 && r.DeletedVersion != e.version) || r.ResourceVersion >= e.version {
				t.Errorf("delete %d of %s (%s, version %d, deletion %d): the watch has %+v", r.ID, name, r.UID, r.ResourceVersion, r.DeletedVersion, e)
			}
			continue
		}
		e, ok := states[key{r.UID, r.ResourceVersion}]
		// A deletion cannot leave a mark on what it deletes.
		marked := r.Type == oplog.TypeTerminate || e.op == strconv.FormatInt(r.ID, 10)
		if !ok || e.name != name || !marked || e.terminating != slices.Contains([]string{oplog.TypeTerminate, oplog.TypeTerminated}, r.Type) {
			t.Errorf("%s %d of %s (%s, version %d): the watch has %+v", r.Type, r.ID, name, r.UID, r.ResourceVersion, e)
		}
	}
	// A deletion without grace sets the grace period to 0 before the pod goes, also of one
	// that is terminating: an event of its own, as with a kubelet.
	if want := pods + len(deletions); want != len(events) {
		t.Errorf("%d writes and %d deletions of pods made %d events, want %d", pods, len(deletions), len(events), want)
	}
}

// TestDeletionTakesTime: one life makes these events and no others, the deletion with
// grace an event of its own; asked for again, it changes nothing.
func TestDeletionTakesTime(t *testing.T) {
	cfg := config(t)
	cfg.Threads, cfg.Operations, cfg.Survivors, cfg.Recreate = 1, 8, 0, 0 // all but the last
	engine, log, restConfig := newEngine(t, cfg)
	client := kubernetes.NewForConfigOrDie(restConfig)
	stop := watchPods(t, client, cfg.RunID)
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	last := log.records[len(log.records)-1]
	grace, uid := int64(30), types.UID(last.UID)
	pods := client.CoreV1().Pods(last.Namespace)
	if err := pods.Delete(t.Context(), last.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		t.Error(err)
	}
	p, err := pods.Get(t.Context(), last.Name, metav1.GetOptions{})
	if err != nil || p.ResourceVersion != strconv.FormatUint(last.ResourceVersion, 10) || p.Status.Phase != corev1.PodFailed {
		t.Errorf("after a second deletion with grace: version %s, phase %s, %v; want version %d", p.ResourceVersion, p.Status.Phase, err, last.ResourceVersion)
	}
	if err := engine.Teardown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range stop() {
		got = append(got, fmt.Sprintf("%s %t %d", e.kind, e.terminating, e.grace))
	}
	want := []string{"ADDED false 0"}
	for range 5 { // bind, running, ready, patch, patch
		want = append(want, "MODIFIED false 0")
	}
	want = append(want, "MODIFIED true 30", "MODIFIED true 30", "MODIFIED true 0", "DELETED true 0")
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestNoGraceWithoutANode: a deletion with grace of a pod that the apiserver takes for one
// without a node is one without, and its answer says so.
func TestNoGraceWithoutANode(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(clustertest.Start(t).Config).CoreV1()
	pods := client.Pods(metav1.NamespaceDefault)
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "unbound-"},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Nor is another pod of the name patched.
	patch := []byte(`{"metadata":{"uid":"another"},"status":{"message":"x"}}`)
	if _, err := pods.Patch(t.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); !apierrors.IsInvalid(err) {
		t.Errorf("a patch of another uid: %v", err)
	}
	grace := int64(30)
	var gone corev1.Pod
	err = client.RESTClient().Delete().Namespace(p.Namespace).Resource("pods").Name(p.Name).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: &grace}).Do(t.Context()).Into(&gone)
	if err != nil || gone.DeletionGracePeriodSeconds == nil || *gone.DeletionGracePeriodSeconds != 0 {
		t.Errorf("answered with grace %v, %v, want 0", gone.DeletionGracePeriodSeconds, err)
	}
}

func nothingLeft(t *testing.T, client kubernetes.Interface, run string) {
	t.Helper()
	ctx, opts := t.Context(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + run}
	var left []string
	note := func(kind string, n int, err error) {
		if err != nil {
			t.Error(err)
		}
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, kind))
		}
	}
	pods, err := client.CoreV1().Pods("").List(ctx, opts)
	note("pods", len(pods.Items), err)
	namespaces, err := client.CoreV1().Namespaces().List(ctx, opts)
	note("namespaces", len(namespaces.Items), err)
	nodes, err := client.CoreV1().Nodes().List(ctx, opts)
	note("nodes", len(nodes.Items), err)
	configMaps, err := client.CoreV1().ConfigMaps("").List(ctx, opts)
	note("config maps", len(configMaps.Items), err)
	leases, err := client.CoordinationV1().Leases("").List(ctx, opts)
	note("leases", len(leases.Items), err)
	jobs, err := client.BatchV1().Jobs("").List(ctx, opts)
	note("jobs", len(jobs.Items), err)
	accounts, err := client.CoreV1().ServiceAccounts("").List(ctx, opts)
	note("service accounts", len(accounts.Items), err)
	if len(left) > 0 {
		t.Errorf("left behind: %s", strings.Join(left, ", "))
	}
}

func TestTeardownLeavesForeignObjects(t *testing.T) {
	cfg := config(t)
	engine, _, restConfig := newEngine(t, cfg)
	client := kubernetes.NewForConfigOrDie(restConfig)
	ctx := t.Context()
	if err := engine.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	// Somebody replaces a node by their own of the same name, and takes over a namespace.
	node, namespace := cfg.NodeName(0), cfg.NamespaceName(0)
	if err := client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	relabel := func(value string) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, churn.RunLabel, value)
		if _, err := client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	relabel("theirs")
	err := engine.Teardown(ctx)
	if err == nil || !strings.Contains(err.Error(), node) || !strings.Contains(err.Error(), namespace) {
		t.Errorf("got %v, want an error that names the node and the namespace", err)
	}
	if _, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err != nil {
		t.Errorf("the foreign node: %v", err)
	}
	if ns, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil || ns.DeletionTimestamp != nil {
		t.Errorf("the foreign namespace: %v, %v", ns.DeletionTimestamp, err)
	}
	// Handed back, they go.
	relabel(cfg.RunID)
	if err := client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := engine.Teardown(ctx); err != nil {
		t.Error(err)
	}
	nothingLeft(t, client, cfg.RunID)
}

func TestHeartbeatKeepsNodesReady(t *testing.T) {
	cfg := config(t)
	cfg.Nodes = 5 // whose heartbeats come every ten seconds
	engine, log, restConfig := newEngine(t, cfg)
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(restConfig)
	before, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), cfg.NodeName(0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	defer cancel()
	engine.Heartbeat(ctx)
	after, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), cfg.NodeName(0), metav1.GetOptions{})
	if err != nil || !after.Spec.RenewTime.After(before.Spec.RenewTime.Time) {
		t.Errorf("lease renewed at %v, made at %v, %v", after.Spec.RenewTime, before.Spec.RenewTime, err)
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), cfg.NodeName(0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := false
	for _, c := range node.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !ready || len(node.Status.Conditions) != 4 {
		t.Errorf("conditions %+v", node.Status.Conditions)
	}
	beats, last := 0, int64(0)
	var gaps []int64
	for _, r := range log.records {
		if r.Type == oplog.TypeHeartbeat {
			beats++
			if last > 0 {
				gaps = append(gaps, r.Started-last)
			}
			last = r.Finished
			if !r.OK() || r.ResourceVersion == 0 {
				t.Errorf("heartbeat %+v", r)
			}
		}
	}
	// One round, one node right after the other: what follows it is quiet, in which a
	// watcher can be seen to have caught up.
	slices.Sort(gaps)
	if beats != 2*cfg.Nodes || time.Duration(gaps[len(gaps)/2]) > time.Second {
		t.Errorf("%d heartbeats with pauses of %v ns, want the lease and the status of each node", beats, gaps)
	}
}
