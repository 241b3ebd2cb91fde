package watches_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

func TestMain(m *testing.M) {
	// The last one sleeps until a time of the real clock, which never comes in virtual time.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	goleak.VerifyTestMain(clustertest.Shared(m))
}

// harness is running Watches.
type harness struct {
	*watches.Watches
	t    testing.TB
	api  *cluster
	reg  *prometheus.Registry
	stop func()
}

// run starts Watches with a configuration and settings that change may change.
func run(t testing.TB, api *cluster, kube *rest.Config, change func(*watches.Config, *watches.Settings)) *harness {
	t.Helper()
	h := &harness{t: t, api: api, reg: prometheus.NewRegistry()}
	c, s := watches.Default(), watches.Settings{Client: kube, Registry: h.reg}
	if change != nil {
		change(&c, &s)
	}
	s.Lookout = must(collector.NewLookout(kube, func(string) bool { return true }))
	w := must(watches.New(c, s))
	h.Watches = w
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		var looking sync.WaitGroup
		looking.Go(func() { _ = s.Lookout.Run(ctx, w.NotFound()...) })
		err := w.Run(ctx)
		looking.Wait()
		done <- err
	}()
	h.stop = func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
			done <- nil
		case <-time.After(10 * time.Second):
			t.Error("Run did not return")
		}
	}
	t.Cleanup(h.stop)
	return h
}

// open opens a kind that must be there.
func (h *harness) open(r watches.GVR) *watches.Watch {
	h.t.Helper()
	w, err := h.Open(context.Background(), r, watches.Wait{})
	if err != nil {
		h.t.Fatalf("open %s: %v", r, err)
	}
	return w
}

// status is that of one watch; false where there is none.
func (h *harness) status(r watches.GVR) (watches.Status, bool) {
	all := h.List()
	i := slices.IndexFunc(all, func(s watches.Status) bool {
		return watches.GVR{Group: s.Group, Version: s.Version, Resource: s.Resource} == r
	})
	if i < 0 {
		return watches.Status{}, false
	}
	return all[i], true
}

// eventually waits up to a time for what nothing announces.
func (h *harness) eventually(within time.Duration, what string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(within); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.api.mu.Lock()
			defer h.api.mu.Unlock()
			h.t.Fatalf("not within %s: %s; requests: %q", within, what, h.api.requests)
		}
	}
}

// metric is the value of a series, the sum over those with another label.
func (h *harness) metric(name, label string) (sum float64) {
	h.t.Helper()
	families, err := h.reg.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == label) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// names are the objects of a view, in its order.
func names(t *testing.T, v *view.View) (all []string) {
	t.Helper()
	s := must(v.Snapshot())
	s.Ascend("", view.Name{}, func(o *object.Object) bool { all = append(all, o.Key.Namespace+"/"+o.Key.Name); return true })
	return all
}

// must is the value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
