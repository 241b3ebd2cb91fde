package bcs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/watchbench/watchbench/watcher/object"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type podCache map[string]string // name → raw

func (c podCache) Get(k object.Key) (*object.Object, bool) {
	raw, ok := c[k.Name]
	return &object.Object{Key: k, Raw: []byte(raw)}, ok && k.Kind == "Pod"
}

var pods = podCache{
	"web-1":  `{"metadata":{"name":"web-1","ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"u2"}]}}`,
	"orphan": `{"metadata":{"name":"orphan"}}`,
}

func warning(pod, reason string, at time.Time) *object.Object {
	raw := fmt.Sprintf(`{"metadata":{"name":"e","namespace":"team-a","creationTimestamp":"2024-05-01T08:00:00Z"},`+
		`"involvedObject":{"kind":"Pod","namespace":"team-a","name":%q},"type":"Warning","reason":%q,"message":"Back-off restarting","lastTimestamp":%q}`,
		pod, reason, at.UTC().Format(time.RFC3339))
	return &object.Object{Key: object.Key{Kind: "Event", Namespace: "team-a", Name: "e"}, Raw: []byte(raw)}
}

func TestFromEvent(t *testing.T) {
	at := time.Date(2024, 5, 1, 8, 5, 0, 0, time.UTC)
	a, ok, err := fromEvent(warning("web-1", "BackOff", at), pods)
	want := Alert{OwnerUID: "u2", Namespace: "team-a", Pod: "web-1", Reason: "BackOff", Message: "Back-off restarting", At: at}
	if err != nil || !ok || a != want {
		t.Errorf("got %+v, %v, %v", a, ok, err)
	}
	for name, o := range map[string]*object.Object{
		"pod without owner": warning("orphan", "BackOff", at),
		"pod not cached":    warning("gone", "BackOff", at),
		"no warning":        {Raw: []byte(`{"type":"Normal","involvedObject":{"kind":"Pod","name":"web-1"}}`)},
		"not about a pod":   {Raw: []byte(`{"type":"Warning","involvedObject":{"kind":"Node","name":"web-1"}}`)},
	} {
		if _, ok, err := fromEvent(o, pods); ok || err != nil {
			t.Errorf("%s: alert %v, error %v", name, ok, err)
		}
	}
	if _, _, err := fromEvent(&object.Object{Raw: []byte(`{"type":7}`)}, pods); err == nil {
		t.Error("an unreadable Event gave no error")
	}
}

type recorder struct {
	mu   sync.Mutex // guards got
	got  []Alert
	fail int // how many first tries fail
	hang bool
}

func (r *recorder) Post(ctx context.Context, a Alert) error {
	if r.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail > 0 {
		r.fail--
		return errors.New("not now")
	}
	r.got = append(r.got, a)
	return nil
}

func (r *recorder) count() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.got) }

func start(t *testing.T, cfg AlertConfig, target Target) (*Alertor, func()) {
	t.Helper()
	a, err := NewAlertor(cfg, AlertorSettings{Pods: pods, Target: target, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return a, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestConvergence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		a, stop := start(t, DefaultAlerts(), r)
		defer stop()
		tell := func(reason string, want int) {
			t.Helper()
			a.Observe(warning("web-1", reason, time.Now()))
			synctest.Wait()
			if got := r.count(); got != want {
				t.Errorf("%s: %d told, want %d", reason, got, want)
			}
		}
		tell("BackOff", 1)
		tell("BackOff", 1)
		tell("Unhealthy", 2)
		time.Sleep(60 * time.Second)
		tell("BackOff", 3)
		a.Observe(warning("web-1", "Old", time.Now().Add(-time.Hour)))
		synctest.Wait()
		if r.count() != 3 {
			t.Error("an Event from before the start was told")
		}
	})
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []*recorder{{fail: 3}, {fail: 1 << 30}} {
			a, stop := start(t, DefaultAlerts(), r)
			a.Observe(warning("web-1", "BackOff", time.Now()))
			time.Sleep(10 * time.Minute)
			sent := testutil.ToFloat64(a.results.WithLabelValues("sent"))
			failed := testutil.ToFloat64(a.results.WithLabelValues("failed"))
			if r.count() != int(sent) || sent+failed != 1 || (sent == 1) != (r.fail == 0) {
				t.Errorf("told %d times, %v sent and %v failed", r.count(), sent, failed)
			}
			stop()
		}
	})
}

func TestFullQueueDropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultAlerts()
		cfg.QueueLen = 2
		hung := &recorder{hang: true}
		a, stop := start(t, cfg, hung)
		defer stop()
		for i := range 5 {
			a.Observe(warning("web-1", fmt.Sprint("R", i), time.Now()))
			synctest.Wait()
		}
		// one is being posted, two wait
		if got := testutil.ToFloat64(a.results.WithLabelValues("dropped")); got != 2 {
			t.Errorf("%v dropped, want 2", got)
		}
	})
}

// The body as it goes over the wire.
func TestWire(t *testing.T) {
	at := time.Unix(1714550700, 0)
	al := Alert{OwnerUID: "u2", Namespace: "team-a", Pod: "web-1", Reason: "BackOff", Message: "Back-off restarting", At: at}
	var path, body, reply string
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, body = r.Method+" "+r.URL.Path, string(b)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reply)
	}))
	defer s.Close()
	client := s.Client()
	defer client.CloseIdleConnections()

	h := &Health{ClusterID: "BCS-K8S-90001", HostIP: "10.0.0.9", Client: client}
	if err := h.Post(t.Context(), al); err == nil {
		t.Error("posted although no server is known")
	}
	h.SetServer(s.URL)
	reply = `{"result":true,"code":0,"message":"success","data":{}}`
	if err := h.Post(t.Context(), al); err != nil || path != "POST /bcshealth/v1/create" {
		t.Errorf("%s, %v", path, err)
	}
	golden(t, "health.json", body)
	for _, reply = range []string{`{"result":false,"code":1,"message":"no"}`, `<html>`} {
		if err := h.Post(t.Context(), al); err == nil {
			t.Errorf("%s was taken for success", reply)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got+"\n"); d != "" {
		t.Error(d)
	}
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
	a, stop := start(t, DefaultAlerts(), r)
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
	if got := testutil.ToFloat64(a.results.WithLabelValues("old")); got != 1 {
		t.Errorf("%v counted as from before the start, want 1", got)
	}
}
