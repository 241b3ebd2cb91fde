package alert

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestAHungAlertmanagerDelaysNoOther: each instance has its own queue and its own deadline.
func TestAHungAlertmanagerDelaysNoOther(t *testing.T) {
	gone := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
		case <-r.Context().Done():
		}
	}))
	defer hung.Close()
	defer close(gone)
	const alerts = 20
	came := make(chan struct{}, alerts) // all of them
	healthy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came <- struct{}{} }))
	defer healthy.Close()
	client := healthy.Client()
	defer client.CloseIdleConnections()

	cfg := Default()
	cfg.Timeout = time.Hour
	a, stop := start(t, cfg, instances(client, hung.URL, healthy.URL)...)
	defer stop()
	for i := range alerts {
		a.Observe(warning("web-1", fmt.Sprint("R", i), time.Now()))
	}
	for i := range alerts {
		select {
		case <-came:
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d alerts reached the healthy Alertmanager within a minute", i, alerts)
		}
	}
}

func instances(client *http.Client, urls ...string) (all []Target) {
	for _, u := range urls {
		all = append(all, &Alertmanager{Endpoint: u, Client: client, Resolve: time.Minute})
	}
	return all
}

// setBack returns t as it would be had the clock been an hour ahead when it was read: the
// monotonic reading stays. Package time has no way to build such a value: with a monotonic
// reading, a Time's first word holds wall seconds from bit 30 on.
func setBack(t time.Time) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += 3600 << 30
	return t
}

// TestClockSetBack: after the clock was set back by an hour, warnings are delivered as before,
// and those from before the start are counted.
func TestClockSetBack(t *testing.T) {
	r := &recorder{}
	a, stop := start(t, Default(), r)
	defer stop()
	a.since = setBack(a.since)
	if ahead := a.since.Round(0).Sub(time.Now().Round(0)); ahead < 59*time.Minute || time.Since(a.since) > time.Minute {
		t.Fatalf("the start is %s ahead by the wall clock, %s ago by the monotonic one", ahead, time.Since(a.since))
	}
	a.Observe(warning("web-1", "Old", time.Now().Add(-2*time.Minute)))
	a.Observe(warning("web-1", "BackOff", time.Now()))
	for begun := time.Now(); r.count() == 0; time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("the warning is not delivered")
		}
	}
	if n := r.count(); n != 1 {
		t.Errorf("%d delivered, want 1", n)
	}
	if got := testutil.ToFloat64(a.results.WithLabelValues("all", "old")); got != 1 {
		t.Errorf("%v counted as from before the start, want 1", got)
	}
}
