package virtual

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/watcher/config"
)

// owned writes an object with that controller, none if it is empty.
func (w *world) owned(r apisim.Resource, name, kind, owner string) {
	w.t.Helper()
	refs := ""
	if owner != "" {
		refs = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":"u","controller":true}]`, kind, owner)
	}
	if _, err := w.api.Apply(r.Key(), fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":%q%s}}`, name, refs)); err != nil {
		w.t.Fatal(err)
	}
}

// workload is what a Pod's row names as its workload's kind.
func (w *world) workload(name string) string {
	for _, d := range w.mock.Store().All() {
		if d.Kind == "Pod" && d.Name == name {
			_, after, _ := strings.Cut(string(d.Data()), `workload.bkbcs.tencent.com/kind":"`)
			kind, _, _ := strings.Cut(after, `"`)
			return kind
		}
	}
	return "no row"
}

// puts counts the writes of one object.
func (w *world) puts(kind, name string) (n int) {
	for e := range w.mock.Ledger().From(1) {
		if e.Kind == kind && e.Name == name && e.Method == http.MethodPut {
			n++
		}
	}
	return n
}

func noSynchronizer(c *config.Config, _ *config.Filter) { c.Synchronizer.Disabled = true }

// TestPodsWaitForReplicaSets: the ReplicaSets' list takes longer than the Pods'. Every Pod
// is sent once, with its workload.
func TestPodsWaitForReplicaSets(t *testing.T) {
	stage(t, time.Hour, func(t *testing.T, w *world) {
		for i := range 20 {
			w.owned(replicaSets, fmt.Sprint("r", i), "Deployment", "web")
			w.owned(apisim.Pods, fmt.Sprint("p", i), "ReplicaSet", fmt.Sprint("r", i))
		}
		if err := w.api.Faults().Add("stall(3s,kind=replicasets)"); err != nil {
			t.Fatal(err)
		}
		w.launch(noSynchronizer)
		time.Sleep(5 * time.Second)
		for i := range 20 {
			name := fmt.Sprint("p", i)
			if got, n := w.workload(name), w.puts("Pod", name); got != "Deployment" || n != 1 {
				t.Errorf("%s: workload %s after %d writes, want Deployment after one", name, got, n)
			}
		}
	})
}

// TestReplicaSetComesLater: on the other watch, some milliseconds after its Pod.
func TestReplicaSetComesLater(t *testing.T) {
	stage(t, time.Hour, func(t *testing.T, w *world) {
		w.launch(noSynchronizer)
		time.Sleep(5 * time.Second)
		w.owned(apisim.Pods, "p", "ReplicaSet", "r")
		w.owned(apisim.Pods, "gone", "ReplicaSet", "r")
		w.owned(apisim.Pods, "alone", "", "")
		w.owned(apisim.Pods, "orphan", "ReplicaSet", "never")
		time.Sleep(30 * time.Millisecond)
		if _, err := w.api.Delete("pods", "a", "gone"); err != nil {
			t.Fatal(err)
		}
		if w.workload("alone") != "" {
			t.Error("one Pod's wait holds up another")
		}
		time.Sleep(30 * time.Millisecond)
		w.owned(replicaSets, "r", "Deployment", "web")
		time.Sleep(200 * time.Millisecond)
		if got, n := w.workload("p"), w.puts("Pod", "p"); got != "Deployment" || n != 1 {
			t.Errorf("workload %s after %d writes, want Deployment after one", got, n)
		}
		if got := w.workload("gone"); got != "no row" {
			t.Errorf("a deleted Pod has a row: %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := w.workload("orphan"); got != "ReplicaSet" {
			t.Errorf("a Pod whose ReplicaSet never comes: %s", got)
		}
	})
}

// TestReplicaSetsLateAtStart: at a restart the ReplicaSets' list comes long after the Pods',
// and storage has all ReplicaSets, so that none of them is sent.
func TestReplicaSetsLateAtStart(t *testing.T) {
	stage(t, time.Hour, func(t *testing.T, w *world) {
		w.owned(replicaSets, "r", "Deployment", "web")
		w.owned(apisim.Pods, "p", "ReplicaSet", "r")
		w.cfg.Synchronizer.Disabled = false
		first := w.start()
		time.Sleep(5 * time.Second)
		first.stop()
		if got := w.workload("p"); got != "Deployment" {
			t.Fatalf("workload %s", got)
		}
		if err := w.api.Faults().Add("403(kind=replicasets)"); err != nil {
			t.Fatal(err)
		}
		w.start()
		time.Sleep(45 * time.Second)
		w.heal()
		time.Sleep(2 * time.Minute)
		if got := w.workload("p"); got != "Deployment" {
			t.Errorf("workload %s after the ReplicaSets were listed", got)
		}
	})
}

// TestReplicaSetsForbidden: the Pods do not wait for a kind whose list fails.
func TestReplicaSetsForbidden(t *testing.T) {
	stage(t, time.Hour, func(t *testing.T, w *world) {
		w.owned(replicaSets, "r", "Deployment", "web")
		w.owned(apisim.Pods, "p", "ReplicaSet", "r")
		if err := w.api.Faults().Add("403(kind=replicasets)"); err != nil {
			t.Fatal(err)
		}
		noSynchronizer(&w.cfg, nil)
		w.start()
		time.Sleep(9 * time.Second)
		if got := w.workload("p"); got != "ReplicaSet" {
			t.Errorf("after 9 s: %s", got)
		}
		at := time.Now()
		w.owned(apisim.Pods, "later", "ReplicaSet", "r")
		time.Sleep(100 * time.Millisecond)
		if got := w.workload("later"); got != "ReplicaSet" {
			t.Errorf("after %s: %s", time.Since(at), got)
		}
	})
}
