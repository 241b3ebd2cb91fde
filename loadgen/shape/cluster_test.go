package shape_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// sender sends operations to a real apiserver, one after the other.
type sender struct {
	*testing.T
	client rest.Interface
	maker  *shape.Maker
	uids   map[*plan.Target]types.UID
}

func (s *sender) UID(t *plan.Target) types.UID { return s.uids[t] }

// mixedPlan is a plan in which all kinds go through all that can happen to them.
func mixedPlan(t *testing.T, run string) *plan.Plan {
	t.Helper()
	share, often := 0.4, 3.0
	flaps := 0.5
	short := dist.Must[dist.Duration]("uniform(10ms,60ms)")
	cfg := plan.Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Profile = 4, run, plan.ModelOpen, plan.ProfileMixedProduction
	cfg.Rate, cfg.Duration, cfg.Namespaces, cfg.Nodes = 8, units.Duration(8*time.Second), 2, 4
	cfg.Tuning = &plan.Tuning{
		TimeScale: 1000,
		Stages: plan.StageTuning{
			Bind: short, Creating: short, Sandbox: short, Pull: short, Init: short, Running: short, Probe: short, Seen: short, Stop: short, Final: short,
		},
		Pods:     plan.PodTuning{InitShare: &share},
		Services: plan.ServiceTuning{Deployments: 3, Step: dist.Must[dist.Number]("mix(50=1,50=3)")},
		Rollouts: plan.RolloutTuning{Deployments: 1, Size: dist.Must[dist.Number]("4")},
		Jobs:     plan.JobTuning{Pods: dist.Must[dist.Number]("mix(50=1,50=3)")},
		Mix:      plan.MixTuning{Services: &share, Rollouts: &share, Jobs: &share, Daemons: &share},
		Crashes:  plan.CrashTuning{Share: &share, Run: short, BackOff: units.Duration(100 * time.Millisecond)},
		Flaps:    plan.FlapTuning{Share: &flaps, Period: units.Duration(1000 * time.Second), Down: units.Duration(1000 * time.Second)},
		Cluster: plan.ClusterTuning{LeasePeriod: new(units.Duration(2 * time.Second)), NodeStatusPeriod: new(units.Duration(3 * time.Second)),
			Widgets: new(3), WidgetRate: &often, ConfigMaps: new(3), ConfigMapRate: &often},
	}
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestServedIsWhatTheAPIServerServes sends the operations of plans for real. What the
// apiserver answers is Served, apart from the times that the apiserver sets.
func TestServedIsWhatTheAPIServerServes(t *testing.T) {
	run := func() string { return fmt.Sprintf("t%d", time.Now().UnixNano()%1e12) }
	t.Run("a profile", func(t *testing.T) {
		const leastLives = 60
		seen, kinds, lives := sendAll(t, mixedPlan(t, run()))
		if lives < leastLives {
			t.Errorf("%d lives have ended, want %d", lives, leastLives)
		}
		if len(kinds) != 11 {
			t.Errorf("kinds %v, want all eleven", slices.Sorted(maps.Keys(kinds)))
		}
		for _, what := range []string{"Pod bind", "Pod creating", "Pod initialized", "Pod ready", "Pod crashed", "Pod backoff", "Pod succeeded", "Pod unfinalized", "Pod acknowledged",
			"Pod terminated", "Pod delete", "Deployment scale", "Deployment status", "ReplicaSet scale", "Job succeeded", "EndpointSlice update", "Node unready", "Node status", "Lease renew", "Widget update", "ConfigMap update"} {
			if seen[what] == 0 {
				t.Errorf("the plan has no %s", what)
			}
		}
	})
	t.Run("plain pods", func(t *testing.T) {
		cfg := plan.Default()
		cfg.Seed, cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration = 4, run(), plan.ModelOpen, 10, units.Duration(4*time.Second)
		cfg.Nodes, cfg.Prefill, cfg.LabelShards, cfg.Recreate = 2, 2, 2, 0.5
		cfg.Hotkeys = &plan.Hotkeys{Objects: 1, Burst: 2, Share: 0.2}
		p, err := plan.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, kinds, lives := sendAll(t, p); lives < 6 || len(kinds) != 3 {
			t.Errorf("%d lives, kinds %v", lives, kinds)
		}
	})
}

// sendAll sends what a plan has, up to a limit, and tells what that was and how many lives ended.
func sendAll(t *testing.T, p *plan.Plan) (seen map[string]int, kinds map[string]bool, lives int) {
	t.Helper()
	const mostOps = 1200
	env := clustertest.Start(t)
	conf := p.Config()
	set := kubernetes.NewForConfigOrDie(env.Config)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for i := range conf.Namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: conf.NamespaceName(i)}}
		if _, err := set.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s := &sender{
		T: t, client: set.CoreV1().RESTClient(), uids: map[*plan.Target]types.UID{},
		maker: shape.New(shape.Config{RunID: conf.RunID, Namespaces: conf.NamespaceName, Nodes: conf.NodeName}),
	}
	s.defineWidgets(ctx)
	s.awaitLeases(ctx)

	ended := map[string]int{}
	kinds, seen = map[string]bool{}, map[string]int{}
	n, differing := 0, map[string]bool{}
	from := time.Now().Add(-24 * time.Hour)
	send := func(op plan.Op) bool {
		n++
		what := op.Target.Kind + " " + op.Type
		seen[what]++
		kinds[op.Target.Kind] = true
		// No two writes share a second: who owns a time depends on it.
		intended := from.Add(time.Duration(n) * (7*time.Second + time.Microsecond))
		got := s.send(ctx, op, intended)
		object := decode(t, got)
		if op.Type == oplog.TypeCreate {
			s.uids[op.Target] = object.GetUID()
		}
		rv, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v in %s", what, err, got)
		}
		served := s.maker.Served(op, s, rv, intended)
		if diff := differences(object.Object, decode(t, served).Object); len(diff) > 0 && !differing[what] {
			differing[what] = true
			t.Errorf("%s %s (operation %d): apiserver ≠ Served:\n\t%s", what, op.Target.Name, op.ID, strings.Join(diff[:min(len(diff), 12)], "\n\t"))
		}
		if apart := len(got) - len(served); apart*20 > len(got) || apart*20 < -len(got) {
			t.Errorf("%s %s: %d bytes of the apiserver, %d of Served", what, op.Target.Name, len(got), len(served))
		}
		if op.Last {
			ended[op.Target.Kind]++
		}
		return n < mostOps
	}
	for op := range p.Setup() {
		send(op)
	}
	for op := range p.Timed() {
		if !send(op) {
			break
		}
	}
	for _, n := range ended {
		lives += n
	}
	t.Logf("%d operations, %d ended lives %v, %v", n, lives, ended, seen)
	return seen, kinds, lives
}

func (s *sender) send(ctx context.Context, op plan.Op, intended time.Time) []byte {
	s.Helper()
	r := s.maker.Request(op, s, intended)
	path := "/apis/" + r.Resource.Group + "/" + r.Resource.Version
	if r.Resource.Group == "" {
		path = "/api/" + r.Resource.Version
	}
	if r.Namespace != "" {
		path += "/namespaces/" + r.Namespace
	}
	path += "/" + r.Resource.Resource
	one := path + "/" + r.Name
	var request *rest.Request
	switch r.Verb {
	case shape.VerbCreate:
		request = s.client.Post().AbsPath(path)
		if r.Subresource != "" {
			request = s.client.Post().AbsPath(one, r.Subresource)
		}
	case shape.VerbUpdate:
		request = s.client.Put().AbsPath(one, r.Subresource)
	case shape.VerbPatch:
		request = s.client.Patch(r.PatchType).AbsPath(one, r.Subresource)
	case shape.VerbDelete:
		request = s.client.Delete().AbsPath(one)
	}
	if r.Verb != shape.VerbDelete {
		request = request.Param("fieldManager", r.FieldManager)
	}
	switch o := r.Object.(type) {
	case nil:
		if r.Delete != nil {
			request = request.Body(r.Delete)
		} else {
			request = request.Body(r.Body)
		}
	case *unstructured.Unstructured:
		body, err := json.Marshal(o.Object)
		if err != nil {
			s.Fatal(err)
		}
		request = request.SetHeader("Content-Type", "application/json").Body(body)
	default:
		request = request.Body(o)
	}
	if r.Subresource == "binding" || r.Verb == shape.VerbDelete && op.Type == oplog.TypeDelete {
		// A binding is answered with a Status. What a watch tells of a deletion is the object as it was.
		var before []byte
		if r.Verb == shape.VerbDelete {
			before = s.get(ctx, one)
		}
		if err := request.Do(ctx).Error(); err != nil {
			s.Fatalf("%s %s %s: %v", op.Target.Kind, op.Target.Name, op.Type, err)
		}
		if r.Verb == shape.VerbDelete {
			return before
		}
		return s.get(ctx, one)
	}
	b, err := request.SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		s.Fatalf("%s %s %s: %v\n%s", op.Target.Kind, op.Target.Name, op.Type, err, b)
	}
	return b
}

func (s *sender) get(ctx context.Context, path string) []byte {
	s.Helper()
	b, err := s.client.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// defineWidgets makes the custom resource and returns when it is served.
func (s *sender) defineWidgets(ctx context.Context) {
	s.Helper()
	type m = map[string]any
	open := m{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	body, err := json.Marshal(m{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": m{"name": "widgets." + shape.WidgetGroup},
		"spec": m{"group": shape.WidgetGroup, "scope": "Namespaced", "names": m{"plural": "widgets", "singular": "widget", "kind": shape.KindWidget, "listKind": "WidgetList"},
			"versions": []m{{"name": "v1", "served": true, "storage": true, "schema": m{"openAPIV3Schema": m{"type": "object", "properties": m{"spec": open, "status": open}}}}}},
	})
	if err != nil {
		s.Fatal(err)
	}
	err = s.client.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
	s.await(ctx, "/apis/"+shape.WidgetGroup+"/v1/widgets")
}

// awaitLeases waits for the namespace of the nodes' Leases, which an apiserver makes after its start.
func (s *sender) awaitLeases(ctx context.Context) {
	s.Helper()
	s.await(ctx, "/api/v1/namespaces/kube-node-lease")
}

func (s *sender) await(ctx context.Context, path string) {
	s.Helper()
	for {
		err := s.client.Get().AbsPath(path).MaxRetries(0).Do(ctx).Error()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s is not served: %v", path, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func decode(t *testing.T, b []byte) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(b); err != nil {
		t.Fatalf("%v in %.300s", err, b)
	}
	return u
}

// differences lists the paths at which two objects differ, apart from the times that an
// apiserver sets, and from the order of managedFields, which follows from those.
func differences(got, want map[string]any) (all []string) {
	for _, o := range []map[string]any{got, want} {
		timeless(o)
	}
	compare("", got, want, &all)
	return all
}

func timeless(o map[string]any) {
	meta := o["metadata"].(map[string]any)
	for _, name := range []string{"creationTimestamp", "deletionTimestamp"} {
		if meta[name] != nil {
			meta[name] = "set"
		}
	}
	byManager := map[string]any{}
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		e := e.(map[string]any)
		e["time"] = "set"
		byManager[fmt.Sprint(e["manager"], "/", e["subresource"])] = e
	}
	meta["managedFields"] = byManager
	status, _ := o["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == string(corev1.PodScheduled) {
			c["lastTransitionTime"] = "set"
		}
	}
}

func compare(path string, got, want any, all *[]string) {
	switch g := got.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok {
			break
		}
		keys := slices.Sorted(maps.Keys(g))
		for k := range w {
			if _, ok := g[k]; !ok {
				keys = append(keys, k)
			}
		}
		for _, k := range keys {
			gv, inGot := g[k]
			wv, inWant := w[k]
			if inGot != inWant {
				*all = append(*all, fmt.Sprintf("%s.%s: apiserver %t %.200v, Served %t %.200v", path, k, inGot, gv, inWant, wv))
				continue
			}
			compare(path+"."+k, gv, wv, all)
		}
		return
	case []any:
		w, ok := want.([]any)
		if !ok || len(w) != len(g) {
			break
		}
		for i := range g {
			compare(fmt.Sprintf("%s[%d]", path, i), g[i], w[i], all)
		}
		return
	default:
		if got == want {
			return
		}
	}
	*all = append(*all, fmt.Sprintf("%s: apiserver %.300v, Served %.300v", path, got, want))
}
