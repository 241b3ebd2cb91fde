package churn_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

var stamps = regexp.MustCompile(`"[0-9-]{10}T[0-9:]{8}Z"`)

// plain is an object without what a server gives it, times and the order of members.
func plain(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(stamps.ReplaceAll(text, []byte(`"time"`)), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	m := o["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		delete(m, field)
	}
	return o
}

// TestRenderedPods: each state of a pod's life is, apart from times, what a real apiserver
// makes of the generator's requests, and its managedFields are about as long.
func TestRenderedPods(t *testing.T) {
	cfg := config(t)
	cfg.Threads, cfg.Operations, cfg.Prefill, cfg.Shards = 1, 30, 0, 2
	engine, _, restConfig := newEngine(t, cfg)
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(restConfig)
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + cfg.RunID})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := engine.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := churn.NewRenderer(&cfg)
	var pod *churn.RenderedPod
	seen := map[string]bool{}
	for op := range p.Thread(0) {
		e := <-w.ResultChan()
		seen[op.Type] = true
		actual, ok := e.Object.(*corev1.Pod)
		switch {
		case !ok:
			t.Fatalf("%+v", e)
		case op.Type == oplog.TypeDelete:
			// An apiserver shows first that no grace is left.
			for e.Type != watch.Deleted {
				e = <-w.ResultChan()
			}
			continue
		case op.Type == oplog.TypeCreate:
			if pod, err = r.Begin(op); err != nil {
				t.Fatal(err)
			}
		}
		intended, err := strconv.ParseInt(actual.Annotations[churn.IntendedAnnotation], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		rendered := r.Advance(nil, pod, op, intended)
		want, err := json.Marshal(actual)
		if err != nil {
			t.Fatal(err)
		}
		if op.Type != oplog.TypeTerminate { // a deletion has no mark of its own
			if d := cmp.Diff(plain(t, want), plain(t, rendered)); d != "" {
				t.Errorf("%s (-real +rendered):\n%s", op.Type, d)
			}
		}
		if n := float64(len(rendered)) / float64(len(want)); op.Type == oplog.TypeReady && (n < 0.9 || n > 1.1) {
			t.Errorf("a ready pod has %d bytes, %d of a real one", len(rendered), len(want))
		}
	}
	if len(seen) != 8 {
		t.Errorf("only %v were seen", seen)
	}
}
