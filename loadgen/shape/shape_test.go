package shape_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// uids gives each target one that follows from its name.
type uids struct{}

func (uids) UID(t *plan.Target) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", len(t.Name), t.Lane))
}

func newMaker() *shape.Maker {
	return shape.New(shape.Config{
		RunID:      "test",
		Namespaces: func(i int) string { return fmt.Sprintf("watchbench-test-%d", i) },
		Nodes:      func(i int) string { return fmt.Sprintf("watchbench-test-node-%d", i) },
	})
}

var (
	start      = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	podStages  = []string{oplog.TypeCreate, oplog.TypeBind, oplog.TypeCreating, oplog.TypeSandbox, oplog.TypeRunning, oplog.TypeReady, oplog.TypeTerminate, oplog.TypeAcknowledged, oplog.TypeTerminated, oplog.TypeDelete}
	deployment = &plan.Target{Kind: "Deployment", Name: "checkout-api", Seed: 5, Bytes: 7000, Containers: 1, Spec: 3, Lane: 1}
	replicaSet = &plan.Target{Kind: "ReplicaSet", Name: "checkout-api-5f6c7d8b9", Seed: 6, Bytes: 6000, Containers: 1, Spec: 3, Lane: 2, Owner: deployment}
)

func podOf(bytes, containers int) *plan.Target {
	return &plan.Target{Kind: "Pod", Name: "checkout-api-5f6c7d8b9-x7abc", Seed: 7, Bytes: bytes, Containers: containers, Lane: 3, Owner: replicaSet}
}

func TestPodLifeHasItsSizeAndIdentity(t *testing.T) {
	for _, containers := range []int{1, 3} {
		for _, bytes := range []int{9000, 12000, 50000, 300000} {
			m, p := newMaker(), podOf(bytes, containers)
			for i, typ := range podStages {
				op := plan.Op{ID: int64(i + 1), Type: typ, Target: p, Last: typ == oplog.TypeDelete}
				b := m.Served(op, uids{}, uint64(100+i), start.Add(time.Duration(i)*time.Second))
				var got struct {
					Metadata struct {
						Name, Namespace, UID, ResourceVersion string
						ManagedFields                         []struct{ Manager string }
					}
				}
				if err := json.Unmarshal(b, &got); err != nil {
					t.Fatalf("%s: %v", typ, err)
				}
				if g := got.Metadata; g.Name != p.Name || g.Namespace != "watchbench-test-0" || g.UID != string(uids{}.UID(p)) ||
					g.ResourceVersion != fmt.Sprint(100+i) || len(g.ManagedFields) == 0 {
					t.Errorf("%s: metadata %+v", typ, g)
				}
				if share := float64(len(b)) / float64(bytes); typ == oplog.TypeReady && math.Abs(share-1) > 0.05 {
					t.Errorf("%d containers: ready pod of %d bytes, want %d", containers, len(b), bytes)
				}
			}
			if targets, templates := m.Live(); targets != 0 || templates != 0 {
				t.Errorf("%d targets and %d templates are kept of a life that has ended", targets, templates)
			}
		}
	}
}

func TestOtherKindsHaveTheirSize(t *testing.T) {
	for _, k := range []*plan.Target{
		deployment, replicaSet,
		{Kind: "DaemonSet", Name: "log-shipper", Bytes: 7000, Spec: 3}, {Kind: "Job", Name: "report-123", Bytes: 5000, Spec: 2},
		{Kind: "ConfigMap", Name: "cm", Bytes: 3000}, {Kind: "Widget", Name: "w", Bytes: 2000},
		{Kind: "Node", Namespace: plan.ClusterScoped, Name: "node-0", Bytes: 45000},
		{Kind: "Event", Name: "pod.123", Reason: "Pulled", Subject: podOf(12000, 1), Bytes: 1600},
	} {
		m := newMaker()
		m.Served(plan.Op{ID: 1, Type: oplog.TypeCreate, Target: k, State: &plan.State{Replicas: 3}}, uids{}, 1, start)
		b := m.Served(plan.Op{ID: 2, Type: oplog.TypeStatus, Target: k, State: &plan.State{Replicas: 3, Ready: 3, Updated: 3}}, uids{}, 2, start.Add(time.Minute))
		if share := float64(len(b)) / float64(k.Bytes); math.Abs(share-1) > 0.05 {
			t.Errorf("%s of %d bytes, want %d", k.Kind, len(b), k.Bytes)
		}
	}
}

func TestSameOperationSameObject(t *testing.T) {
	for i, typ := range podStages {
		op := plan.Op{ID: int64(i + 1), Type: typ, Target: podOf(12000, 2)}
		if a, b := newMaker().Object(op, uids{}, start), newMaker().Object(op, uids{}, start); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two objects of one operation differ", typ)
		}
		if a, b := newMaker().Request(op, uids{}, start), newMaker().Request(op, uids{}, start); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two requests of one operation differ", typ)
		}
	}
}

// TestPodGrowsOverItsLife holds the sizes of a pod's stages to those that were recorded of
// a real one (docs/load.md), in percent of the ready pod.
func TestPodGrowsOverItsLife(t *testing.T) {
	recorded := map[string]float64{oplog.TypeCreate: 57, oplog.TypeBind: 60, oplog.TypeCreating: 94, oplog.TypeTerminated: 107}
	sizes := map[string]float64{}
	m, p := newMaker(), podOf(12000, 1)
	for i, typ := range podStages {
		sizes[typ] = float64(len(m.Served(plan.Op{ID: int64(i + 1), Type: typ, Target: p}, uids{}, 1000, start.Add(time.Duration(i)*time.Second))))
	}
	for typ, want := range recorded {
		if got := 100 * sizes[typ] / sizes[oplog.TypeReady]; math.Abs(got-want) > 4 {
			t.Errorf("%s: %.1f %% of the ready pod, want %.0f", typ, got, want)
		}
	}
}

// TestJobKeepsItsStart holds that a Job's status always tells the same start, as the apiserver demands.
func TestJobKeepsItsStart(t *testing.T) {
	m, job := newMaker(), &plan.Target{Kind: "Job", Name: "report-123", Bytes: 5000, Spec: 2}
	for i, typ := range []string{oplog.TypeCreate, oplog.TypeStatus, oplog.TypeSucceeded} {
		r := m.Request(plan.Op{ID: int64(i + 1), Type: typ, Target: job}, uids{}, start.Add(time.Duration(i)*time.Minute))
		if typ == oplog.TypeCreate {
			continue
		}
		if got := r.Object.(*batchv1.Job).Status.StartTime; got == nil || !got.Time.Equal(start.Truncate(time.Second)) {
			t.Errorf("%s: started %v, want %v", typ, got, start)
		}
	}
}

// TestEventsHaveSources: whatever a profile has an Event for, somebody of Kubernetes tells it, in words of its own.
func TestEventsHaveSources(t *testing.T) {
	share := 1.0
	seen := map[string]bool{}
	for _, name := range plan.ProfileNames() {
		cfg := plan.Default()
		cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration, cfg.Nodes, cfg.Profile = "r", plan.ModelOpen, 2, units.Duration(time.Minute), 20, name
		cfg.Tuning = &plan.Tuning{TimeScale: 100, Flaps: plan.FlapTuning{Share: &share}}
		p, err := plan.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		m := newMaker()
		for op := range p.Timed() {
			if reason := op.Target.Reason; op.Type == oplog.TypeCreate && reason != "" && !seen[reason] {
				seen[reason] = true
				if e := m.Object(op, uids{}, start).(*corev1.Event); e.Source.Component == "watchbench" {
					t.Errorf("%s: nobody tells of %s: %s", name, reason, e.Message)
				}
			}
		}
	}
	if len(seen) < 13 || !seen["TaintManagerEviction"] {
		t.Errorf("only %v", seen)
	}
}
