package churn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// written is what generators did to the cluster.
type written struct {
	ops    map[string]int    // acknowledged operations of the plan, by all but times and versions
	bodies map[string]string // of pods, by the operation that made them so
	final  map[string]string // pods at the end of the load
	shards map[int]int       // operations by shard
	free   map[int64]bool    // ids that the plan does not foresee
}

// changing is what differs between two runs of a plan: times and uids.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// bodyOf is what a plan decides of a pod.
func bodyOf(t *testing.T, p *corev1.Pod) string {
	p.ManagedFields, p.ResourceVersion = nil, ""
	delete(p.Annotations, churn.IntendedAnnotation)
	// The apiserver copies these from the pod's node, if its cache has that by then.
	delete(p.Labels, corev1.LabelTopologyZone)
	delete(p.Labels, corev1.LabelTopologyRegion)
	text, err := json.Marshal(p)
	if err != nil {
		t.Error(err)
	}
	return changing.ReplaceAllString(string(text), "")
}

// generate runs n generators with the plan, each as a session with its own log, and merges the logs.
func generate(t *testing.T, env *rest.Config, client kubernetes.Interface, cfg plan.Config, n int) written {
	t.Helper()
	all := written{map[string]int{}, map[string]string{}, map[string]string{}, map[int]int{}, map[int64]bool{}}
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + cfg.RunID})
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for e := range w.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if ok && (e.Type == watch.Added || e.Type == watch.Modified) && !strings.HasPrefix(p.Name, "hot-") {
				all.bodies[p.Annotations[churn.OpAnnotation]+" "+fmt.Sprint(p.DeletionTimestamp != nil)] = bodyOf(t, p)
			}
		}
	}()
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "ops.ndjson.zst")
	var parts []string
	var running sync.WaitGroup
	var inputs []io.Writer
	var loaded []chan struct{}
	var begin atomic.Int64 // Unix ns
	for i := 1; i <= n; i++ {
		path := oplog.PartPath(log, i)
		parts = append(parts, path)
		ops, err := oplog.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		shard := plan.Shard{Index: i, Of: n}
		engine, err := churn.New(p.Part(shard), churn.Settings{REST: env, Log: ops, RequestTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		in, line := io.Pipe()
		said, says := io.Pipe()
		over := make(chan struct{})
		inputs, loaded = append(inputs, line), append(loaded, over)
		running.Go(func() {
			defer engine.Close()
			err := churn.NewSession(engine, cfg, churn.SessionSettings{Out: says, Wait: true, In: in, Log: ops, Quiet: true}).Run(t.Context())
			if err != nil {
				t.Errorf("shard %s: %v", shard, err)
			}
			_, _ = says.Close(), line.Close()
			if err := ops.Close(); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() { // the phases for which the controlling process waits
			for d := json.NewDecoder(said); ; {
				var line struct {
					Phase   string
					Started int64
				}
				if d.Decode(&line) != nil {
					return
				}
				if line.Phase == "loaded" && line.Started < begin.Load() {
					t.Errorf("shard %s began %s early", shard, time.Duration(begin.Load()-line.Started))
				}
				if line.Phase == "ready" || line.Phase == "loaded" {
					over <- struct{}{}
				}
			}
		})
	}
	tell := func(line string) {
		for _, in := range inputs {
			if _, err := io.WriteString(in, line+"\n"); err != nil {
				t.Error(err)
			}
		}
	}
	for _, ready := range loaded {
		<-ready
	}
	begin.Store(time.Now().Add(time.Second).UnixNano())
	tell(fmt.Sprintf("go %d", begin.Load()))
	for _, over := range loaded {
		<-over
	}
	pods, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + cfg.RunID})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; !strings.HasPrefix(p.Name, "hot-") {
			all.final[p.Namespace+"/"+p.Name] = bodyOf(t, p)
		}
	}
	w.Stop()
	<-watched
	tell("done")
	running.Wait()
	if n == 1 {
		log = parts[0]
	} else if _, err := oplog.Merge(log, parts); err != nil {
		t.Fatal(err)
	}
	for r, err := range oplog.ReadFile(log) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.ID >= plan.FirstFreeID:
			if all.free[r.ID] {
				t.Errorf("the id %d is given twice", r.ID)
			}
			all.free[r.ID] = true
		case r.OK() && !r.Bystander:
			all.shards[r.Shard]++
			all.ops[fmt.Sprintln(r.ID, r.Phase, r.Type, r.Thread, r.Kind, r.Namespace, r.Name)]++
		case !r.OK():
			t.Errorf("operation %d of shard %d: %d %s", r.ID, r.Shard, r.Status, r.Error)
		}
		if r.OK() && r.UID == "" && r.Kind == "Pod" {
			t.Errorf("operation %d, %s of %s, has no uid", r.ID, r.Type, r.Name)
		}
	}
	return all
}

// TestShardsWriteWhatOneWrites: four generators leave the cluster as one does, by the same operations.
func TestShardsWriteWhatOneWrites(t *testing.T) {
	env := clustertest.Start(t).Config
	client := kubernetes.NewForConfigOrDie(env)
	for name, change := range map[string]func(*plan.Config){
		"open": func(c *plan.Config) {
			c.Model, c.Threads, c.Operations = plan.ModelOpen, 0, 0
			c.Rate, c.Duration = 80, units.Duration(4*time.Second)
			c.Bystander = &plan.Bystander{Kind: plan.KindConfigMap, Rate: 2}
		},
		"closed": func(c *plan.Config) { c.Threads, c.Operations = 8, 300 },
		"profile": func(c *plan.Config) {
			c.Model, c.Threads, c.Operations, c.Recreate = plan.ModelOpen, 0, 0, plan.DefaultRecreate
			c.Profile, c.Rate, c.Duration = plan.ProfileServiceChurn, 3, units.Duration(5*time.Second)
			c.Tuning = &plan.Tuning{TimeScale: 20}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.Nodes, cfg.Prefill = 6, 24
			if change(&cfg); cfg.Profile == "" {
				cfg.Warmup.Operations = 0
				cfg.Hotkeys = &plan.Hotkeys{Objects: 3, Burst: 4, Share: 0.2}
			}
			one, four := generate(t, env, client, cfg, 1), generate(t, env, client, cfg, 4)
			same(t, "operations", one.ops, four.ops)
			same(t, "pods after an operation", one.bodies, four.bodies)
			same(t, "pods at the end", one.final, four.final)
			if len(one.ops) < 100 || len(one.bodies) < 50 || len(one.final) < 24 {
				t.Errorf("one generator wrote %d operations, %d states and %d pods", len(one.ops), len(one.bodies), len(one.final))
			}
			if one.shards[0] != len(one.ops) || len(four.shards) != 4 || four.shards[0] != 0 {
				t.Errorf("by shard one wrote %v, four %v", one.shards, four.shards)
			}
			t.Log("operations by shard:", four.shards)
		})
	}
}

func same[V comparable](t *testing.T, what string, one, four map[string]V) {
	t.Helper()
	bad := 0
	for k, v := range one {
		if w, ok := four[k]; (!ok || v != w) && bad < 3 {
			bad++
			t.Errorf("%s: one has %s %v\nfour have %v, %t", what, k, v, w, ok)
		}
	}
	if len(one) != len(four) {
		t.Errorf("%s: %d and %d", what, len(one), len(four))
	}
}

// slow delays requests.
type slow struct{ http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(100 * time.Millisecond)
	return s.RoundTripper.RoundTrip(r)
}

// TestShardsMeet: without a controlling process, none begins before all are ready, and the namespaces stay until all
// are done.
func TestShardsMeet(t *testing.T) {
	const n = 3
	env := clustertest.Start(t).Config
	cfg := config(t)
	cfg.Threads, cfg.Operations, cfg.Prefill = 3, 90, 30
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var logs [n]memoryLog
	var running sync.WaitGroup
	for i := range n {
		client := rest.CopyConfig(env)
		if i == n-1 { // the last takes longer than the others
			client.Wrap(func(t http.RoundTripper) http.RoundTripper { return slow{t} })
		}
		engine, err := churn.New(p.Part(plan.Shard{Index: i + 1, Of: n}), churn.Settings{REST: client, Log: &logs[i], RequestTimeout: time.Minute, Meet: true})
		if err != nil {
			t.Fatal(err)
		}
		file, err := oplog.Create(filepath.Join(t.TempDir(), "unused"))
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			defer engine.Close()
			if i == n-1 {
				time.Sleep(4 * time.Second) // longer than what the others could begin in, without this one
			}
			err := churn.NewSession(engine, cfg, churn.SessionSettings{Out: io.Discard, Log: file}).Run(t.Context())
			if err = errors.Join(err, file.Close()); err != nil {
				t.Errorf("shard %d: %v", i+1, err)
			}
		})
	}
	running.Wait()
	var ready, began, ended, removed []int64
	for i := range logs {
		first, last := int64(math.MaxInt64), int64(0)
		for _, r := range logs[i].records {
			switch {
			case r.Phase == oplog.PhaseLoad && r.Thread >= 0:
				first, last = min(first, r.Started), max(last, r.Finished)
			case r.Kind == "Pod" && r.Phase == oplog.PhasePrepare:
				ready = append(ready, r.Finished)
			case r.Kind == "Namespace" && r.Type == oplog.TypeDelete:
				removed = append(removed, r.Started)
			}
		}
		began, ended = append(began, first), append(ended, last)
	}
	if len(ready) != 30 || len(removed) != cfg.Namespaces || slices.Contains(ended, 0) {
		t.Fatalf("%d pods were prepared, %d namespaces removed, loads ended at %d", len(ready), len(removed), ended)
	}
	if slices.Min(began) < slices.Max(ready) {
		t.Errorf("a shard began %s before all were ready", time.Duration(slices.Max(ready)-slices.Min(began)))
	}
	if slices.Min(removed) < slices.Max(ended) {
		t.Errorf("a namespace was removed %s before all were done", time.Duration(slices.Max(ended)-slices.Min(removed)))
	}
	left, err := kubernetes.NewForConfigOrDie(env).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + cfg.RunID})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d nodes are left, %v", len(left.Items), err)
	}
}
