package churn_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/replay"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// profileKinds are all that a profile writes.
var profileKinds = []string{"Pod", "ReplicaSet", "Deployment", "DaemonSet", "Job", "EndpointSlice", "Event", "Node", "Lease", "ConfigMap", "Widget"}

// shortLives is a profile with all its parts whose pods go through every stage within seconds.
func shortLives(t *testing.T) plan.Config {
	half, some, few := 0.4, 0.1, 2.0
	cfg := plan.Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Profile = 3, runID(t), plan.ModelOpen, plan.ProfileMixedProduction
	cfg.Rate, cfg.Duration, cfg.Namespaces, cfg.Nodes, cfg.Prefill = 5.5, units.Duration(8*time.Second), 3, 4, 10
	short := dist.Must[dist.Duration]("uniform(10ms,60ms)")
	cfg.Tuning = &plan.Tuning{
		TimeScale: 1000,
		Stages: plan.StageTuning{
			Bind: short, Creating: short, Sandbox: short, Pull: short, Init: short, Running: short, Probe: short, Seen: short, Stop: short, Final: short,
		},
		Services: plan.ServiceTuning{Deployments: 3, Step: dist.Must[dist.Number]("mix(50=1,50=3)")},
		Rollouts: plan.RolloutTuning{Deployments: 1, Size: dist.Must[dist.Number]("4")},
		Jobs:     plan.JobTuning{Pods: dist.Must[dist.Number]("mix(50=1,50=3)")},
		Mix:      plan.MixTuning{Services: &half, Rollouts: &some, Jobs: &half, Daemons: &some},
		Crashes:  plan.CrashTuning{Share: &some},
		Cluster:  plan.ClusterTuning{LeasePeriod: new(units.Duration(2 * time.Second)), NodeStatusPeriod: new(units.Duration(3 * time.Second)), Widgets: new(3), WidgetRate: &few, ConfigMaps: new(3), ConfigMapRate: &few},
	}
	return cfg
}

// watched is what a watch told of all kinds.
type watched struct {
	mu     sync.Mutex // guards what follows
	events map[string][]seen
}

func (w *watched) count() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, events := range w.events {
		n += len(events)
	}
	return n
}

// watchKinds collects the events of a run from now on; what exists by now is not among them.
func watchKinds(ctx context.Context, t *testing.T, cfg *rest.Config, run string) (w *watched, wait func()) {
	t.Helper()
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w = &watched{events: map[string][]seen{}}
	var readers sync.WaitGroup
	selector := metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + run}
	for _, kind := range profileKinds {
		resource, ok := shape.Resource(kind)
		if !ok {
			t.Fatalf("kind %s has no resource", kind)
		}
		list, err := client.Resource(resource).List(ctx, selector)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		from := selector
		from.ResourceVersion = list.ResourceVersion
		stream, err := client.Resource(resource).Watch(ctx, from)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		read := func() {
			defer stream.Stop()
			for e := range stream.ResultChan() {
				m, ok := e.Object.(*metav1.PartialObjectMetadata)
				if !ok {
					if ctx.Err() == nil {
						t.Errorf("the watch of %s: %v", kind, e.Object)
					}
					return
				}
				from.ResourceVersion = m.ResourceVersion
				if grace := m.DeletionGracePeriodSeconds; e.Type == watch.Modified && grace != nil && *grace == 0 {
					continue // the first half of a deletion without grace, which is one operation
				}
				version, _ := strconv.ParseUint(m.ResourceVersion, 10, 64)
				w.mu.Lock()
				w.events[kind] = append(w.events[kind], seen{kind: e.Type, name: m.Namespace + "/" + m.Name, uid: string(m.UID), version: version, op: m.Annotations[churn.OpAnnotation]})
				w.mu.Unlock()
			}
		}
		readers.Go(func() {
			// An apiserver closes the watch of a client that is slow to read.
			for read(); ctx.Err() == nil && !t.Failed(); read() {
				if stream, err = client.Resource(resource).Watch(ctx, from); err != nil {
					if ctx.Err() == nil {
						t.Errorf("watching %s again: %v", kind, err)
					}
					return
				}
			}
		})
	}
	return w, readers.Wait
}

// TestProfileOnCluster runs a profile on a real apiserver and holds the op log against a
// watch of every kind: the same number per kind, the same order per object.
func TestProfileOnCluster(t *testing.T) {
	cfg := shortLives(t)
	engine, log, restConfig := newEngine(t, cfg)
	client := kubernetes.NewForConfigOrDie(restConfig)
	ctx := t.Context()
	if err := engine.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	prepared := len(log.records)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	got, wait := watchKinds(watching, t, restConfig, cfg.RunID)
	stats, err := engine.Load(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Done != stats.Planned || stats.Abandoned+stats.Skipped != 0 {
		t.Errorf("planned %d, done %d, given up %d, skipped %d (%s)", stats.Planned, stats.Done, stats.Abandoned, stats.Skipped, stats.FirstError)
	}
	records := acknowledged(t, log.records[prepared:])
	for end := time.Now().Add(2 * time.Minute); got.count() < len(records) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	wait()
	t.Log(holdKinds(t, records, got.events))
	if told, other := countsOf(got.events), countsOf(simulated(t, cfg)); !maps.Equal(told, other) {
		t.Errorf("events by kind:\nreal      %v\nsimulated %v", told, other)
	}
	if err := engine.Teardown(ctx); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, client, cfg.RunID)
	_, err = client.CoreV1().RESTClient().Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.watchbench.dev").DoRaw(ctx)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the definition of the custom resource is still there: %v", err)
	}
}

// countsOf are the events of a watch by kind and type.
func countsOf(events map[string][]seen) map[string]int {
	n := map[string]int{}
	for kind, all := range events {
		for _, e := range all {
			n[kind+" "+string(e.kind)]++
		}
	}
	return n
}

// simulated plays a plan's load into a simulated apiserver and returns what its watches were
// told, held against the op log.
func simulated(t *testing.T, cfg plan.Config) map[string][]seen {
	t.Helper()
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	source, err := replay.FromPlan(p)
	if err != nil {
		t.Fatal(err)
	}
	server, err := replay.Listen("127.0.0.1:0", apisim.Config{Resources: source.Resources(), Seed: cfg.Seed})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving.Go(func() { _ = server.Run(ctx) })
	log := &memoryLog{}
	engine := replay.New(source, replay.Settings{Server: server.API, Log: log, Speed: units.Unlimited})
	if err := engine.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	prepared := len(log.records)
	got, wait := watchKinds(ctx, t, &rest.Config{Host: server.URL()}, cfg.RunID)
	stats, err := engine.Load(ctx, nil)
	if err != nil || stats.Done != stats.Planned || stats.Errors != 0 {
		t.Fatalf("%v %+v", err, stats)
	}
	made := map[string]oplog.Record{}
	for _, r := range log.records {
		if first, again := made[r.UID]; again && r.Type == oplog.TypeCreate {
			t.Errorf("%s %s has the uid of %s %s", r.Kind, r.Name, first.Kind, first.Name)
		}
		made[r.UID] = r
	}
	records := log.records[prepared:]
	for end := time.Now().Add(2 * time.Minute); got.count() < len(records) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	wait()
	t.Log("simulated: ", holdKinds(t, records, got.events))
	return got.events
}

// acknowledged are the records of writes that took effect.
func acknowledged(t *testing.T, records []oplog.Record) (ok []oplog.Record) {
	t.Helper()
	for _, r := range records {
		if r.OK() {
			ok = append(ok, r)
		} else {
			t.Logf("attempt %d of operation %d, %s of %s %s: %d %s", r.Attempt, r.ID, r.Type, r.Kind, r.Name, r.Status, r.Error)
		}
	}
	return ok
}

// holdKinds compares the records with what a watch saw, and says how many there were of each kind.
func holdKinds(t *testing.T, records []oplog.Record, events map[string][]seen) string {
	t.Helper()
	text := ""
	for _, kind := range profileKinds {
		written := map[string][]oplog.Record{} // by uid, in the order of their answers
		n := 0
		for _, r := range records {
			if r.Kind == kind {
				written[r.UID] = append(written[r.UID], r)
				n++
			}
		}
		text += fmt.Sprintf(" %s %d", kind, n)
		if n == 0 {
			t.Errorf("no %s was written: the profile proves nothing about it", kind)
		}
		if len(events[kind]) != n {
			t.Errorf("%s: %d operations, %d events", kind, n, len(events[kind]))
		}
		told := map[string][]seen{}
		for _, e := range events[kind] {
			told[e.uid] = append(told[e.uid], e)
		}
		for _, uid := range slices.Sorted(maps.Keys(told)) {
			if written[uid] == nil {
				t.Errorf("%s %s has events and no operation: %+v", kind, told[uid][0].name, told[uid])
			}
		}
		for uid, ops := range written {
			holdObject(t, ops, told[uid])
		}
	}
	return text
}

// holdObject compares what was done to one object with its events.
func holdObject(t *testing.T, ops []oplog.Record, events []seen) {
	t.Helper()
	slices.SortFunc(ops, func(a, b oplog.Record) int { return cmp.Compare(a.Started, b.Started) })
	for i, op := range ops {
		if i >= len(events) {
			t.Errorf("%s %s: no event for its %s, operation %d", op.Kind, op.Name, op.Type, op.ID)
			return
		}
		e, want := events[i], watch.Modified
		switch op.Type {
		case oplog.TypeCreate:
			want = watch.Added
		case oplog.TypeDelete:
			want = watch.Deleted
		}
		if e.kind != want {
			t.Errorf("%s %s: event %d is %s, want %s by %s, operation %d", op.Kind, op.Name, i, e.kind, want, op.Type, op.ID)
			return
		}
		if want == watch.Deleted {
			if e.version <= op.ResourceVersion || op.DeletedVersion != 0 && e.version != op.DeletedVersion {
				t.Errorf("%s %s: deleted at %d, the log says after %d, at %d", op.Kind, op.Name, e.version, op.ResourceVersion, op.DeletedVersion)
			}
			continue
		}
		if e.version != op.ResourceVersion {
			t.Errorf("%s %s: event %d has version %d, the log has %d of %s, operation %d", op.Kind, op.Name, i, e.version, op.ResourceVersion, op.Type, op.ID)
			return
		}
		if op.Type != oplog.TypeTerminate && e.op != strconv.FormatInt(op.ID, 10) {
			t.Errorf("%s %s: event %d carries operation %q, want %d of %s", op.Kind, op.Name, i, e.op, op.ID, op.Type)
		}
	}
}
