package collector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

func TestFilters(t *testing.T) {
	api := newFakeAPI(t)
	c := collector.Config{
		Resources: []collector.Resource{pods, events}, IgnoreNamespaces: []string{"kube-system"}, IgnoreNames: []string{"kubernetes"},
	}
	h := start(t, api, c)
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	api.put("pods", "kube-system/a", "u1", "")
	api.put("pods", "b/kubernetes", "u2", "")
	api.put("pods", "b/kept", "u3", "")
	h.expect("put Pod/b/kept u3")
	api.put("events", "kube-system/other.1", "u4", "")
	api.put("events", "kube-system/kube-dns.1", "u5", "")
	h.expect("put Event/kube-system/kube-dns.1 u5")
	api.delete("events", "kube-system/kube-dns.1")
	api.put("events", "b/e", "u6", "")
	h.expect("put Event/b/e u6")
	for reason, want := range map[string]float64{"Pod/namespace": 1, "Pod/name": 1, "Event/system-event": 1, "Event/event-delete": 1, "Event/namespace": 0} {
		kind, reason, _ := strings.Cut(reason, "/")
		if got := h.filtered(kind, reason); got != want {
			t.Errorf("filtered %s %s = %v, want %v", kind, reason, got, want)
		}
	}
	if received, filtered := h.metric("k8swatch_events_received_total"), h.metric("k8swatch_events_filtered_total"); received != filtered+3 {
		t.Errorf("received %v, filtered %v, handed over 3: they do not add up", received, filtered)
	}
	if _, ok := h.Get(object.Key{Kind: "Pod", Namespace: "kube-system", Name: "a"}); !ok {
		t.Error("a filtered object is not cached")
	}
}

func TestNodeHeartbeats(t *testing.T) {
	api := newFakeAPI(t)
	h := start(t, api, collector.Config{Resources: []collector.Resource{nodes}})
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	node := func(managed, beat, ready string) {
		api.put("nodes", "n1", "u1", `"managedFields":[{"time":"`+managed+`"}]|"status":{"conditions":[{"type":"Ready","status":"`+ready+`","lastHeartbeatTime":"`+beat+`"}]}`)
	}
	node("m1", "b1", "True")
	h.expect("put Node/n1 u1")
	node("m2", "b2", "True")
	node("m3", "b3", "True")
	node("m4", "b4", "False")
	h.expect("put Node/n1 u1")
	if got := h.filtered("Node", "node-heartbeat"); got != 2 {
		t.Errorf("heartbeats = %v, want 2", got)
	}
}

func TestMasksFailClosed(t *testing.T) {
	api := newFakeAPI(t)
	api.put("secrets", "a/ok", "u1", `|"data":{"k":"canary"}`)
	api.put("secrets", "a/odd", "u2", `|"data":["canary"]`)
	c := collector.Config{
		Resources: []collector.Resource{secrets, pods},
		Masks:     []object.Mask{{Kind: "Secret", Path: []string{"data", "k"}}},
	}
	h := start(t, api, c)
	e := h.next()
	if show(e) != "put Secret/a/ok u1" || strings.Contains(string(e.Object.JSON()), "canary") {
		t.Errorf("%s %s", show(e), e.Object.JSON())
	}
	if _, ok := h.Get(object.Key{Kind: "Secret", Namespace: "a", Name: "odd"}); ok {
		t.Error("an object that cannot be masked is cached")
	}
	if got := h.filtered("Secret", "unmaskable"); got != 1 {
		t.Errorf("unmaskable = %v, want 1", got)
	}
	api.delete("secrets", "a/odd")
	h.expect("delete Secret/a/odd u2")
	api.put("secrets", "a/odd", "u3", `|"data":{"k":"canary","l":1}`)
	h.expect("put Secret/a/odd u3")
}

func TestKindsComeAndGo(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	api.put("secrets", "a/s", "u2", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/p u1")
	if err := h.AddResource(pods); !errors.Is(err, collector.ErrKnownKind) {
		t.Errorf("adding twice: %v", err)
	}
	if err := h.AddResource(secrets); err != nil {
		t.Fatal(err)
	}
	h.expect("put Secret/a/s u2")
	before := len(api.seen())
	if err := h.RemoveResource("Secret"); err != nil {
		t.Fatal(err)
	}
	if _, ok := h.Get(object.Key{Kind: "Secret", Namespace: "a", Name: "s"}); ok {
		t.Error("a removed kind is still read")
	}
	api.put("secrets", "a/s2", "u3", "")
	api.put("pods", "a/p2", "u4", "")
	h.expect("put Pod/a/p2 u4")
	if got := api.seen()[before:]; len(got) > 0 {
		t.Errorf("removing a kind led to requests: %v", got)
	}
	if err := h.RemoveResource("Secret"); !errors.Is(err, collector.ErrUnknownKind) {
		t.Errorf("removing twice: %v", err)
	}
	if err := h.AddResource(secrets); err != nil {
		t.Fatal(err)
	}
	h.expect("put Secret/a/s u2", "put Secret/a/s2 u3")
}

// blockKind blocks events of one kind until its context ends.
type blockKind struct {
	sink
	kind    string
	blocked chan struct{}
}

func (b *blockKind) Enqueue(ctx context.Context, e pipeline.Event) error {
	if e.Key.Kind == b.kind {
		close(b.blocked)
		<-ctx.Done()
		return ctx.Err()
	}
	return b.sink.Enqueue(ctx, e)
}

func TestBlockedKindHoldsBackNoOther(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	s := &blockKind{make(sink), "Pod", make(chan struct{})}
	col, err := collector.New(collector.Config{Resources: []collector.Resource{pods, secrets}}, collector.Settings{Client: &rest.Config{Host: api.url}, Sink: s})
	if err != nil {
		t.Fatal(err)
	}
	end := runs(t, col)
	<-s.blocked
	if err := col.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	api.put("secrets", "a/s", "u2", "")
	if e := <-s.sink; show(e) != "put Secret/a/s u2" {
		t.Error(show(e))
	}
	if _, ok := col.Get(object.Key{Kind: "Pod", Namespace: "a", Name: "p"}); !ok {
		t.Error("a blocked sink keeps the store from filling")
	}
	end()
	if err := col.Run(t.Context()); !errors.Is(err, lifecycle.ErrRunTwice) {
		t.Errorf("second Run: %v", err)
	}
}

// TestStreamingListFallsBack to a plain list, and is not asked for again: when it hangs, ends early or with an error, or
// has no closing bookmark among live changes.
func TestStreamingListFallsBack(t *testing.T) {
	const item = `{"metadata":{"name":"p","namespace":"a","uid":"u1","resourceVersion":"101"}}`
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"hangs": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"ends early": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"type":"ADDED","object":`+item+"}\n")
		},
		"ends with an error": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"type":"ERROR","object":`+statusJSON(410, "Expired", "")+"}\n")
		},
		"has no bookmark": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = fmt.Fprint(w, `{"type":"MODIFIED","object":`+item+"}\n")
				w.(http.Flusher).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.put("pods", "a/p", "u1", "")
			api.fault = func(_ string, n int, w http.ResponseWriter, r *http.Request) bool {
				streams := n > 0 && r.URL.Query().Get("sendInitialEvents") != ""
				if streams {
					answer(w, r)
				}
				return streams
			}
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, InitialIdle: 100 * time.Millisecond})
			h.expect("put Pod/a/p u1")
			if got := h.api.seen()[:2]; !slices.Equal(got, []string{"STREAM pods rv=", "LIST pods rv=0"}) {
				t.Errorf("requests: %v", got)
			}
		})
	}
}

func TestSilentWatchIsRenewed(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, WatchIdle: 1100 * time.Millisecond})
	h.expect("put Pod/a/p u1")
	h.eventually("the watch is opened again from the last version", func() bool {
		return slices.Contains(api.seen(), "WATCH pods rv=101")
	})
	api.put("pods", "a/p", "u1", "")
	h.expect("put Pod/a/p u1")
	if got := h.metric("k8swatch_relists_total"); got != 0 {
		t.Errorf("relists = %v, want 0", got)
	}
}

// TestBusyServerNamesTheTime: a request comes again when the apiserver wants it, not when the backoff of lists says.
func TestBusyServerNamesTheTime(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	var told []time.Time
	api.fault = func(_ string, _ int, w http.ResponseWriter, _ *http.Request) bool {
		told = append(told, time.Now())
		if len(told) == 2 {
			api.mu.Lock()
			api.fault = nil
			api.mu.Unlock()
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, InitialIdle: 500 * time.Millisecond})
	h.expect("put Pod/a/p u1")
	if got := api.seen(); !slices.Equal(got[:3], []string{"STREAM pods rv=", "STREAM pods rv=", "STREAM pods rv="}) {
		t.Errorf("requests: %v", got)
	}
	if waited := told[1].Sub(told[0]); waited < time.Second || waited > 3*time.Second {
		t.Errorf("came again after %s, want 1 to 1.5 s", waited)
	}
}

func TestRunEndsWhileTheServerIsGone(t *testing.T) {
	col, err := collector.New(collector.Config{Resources: []collector.Resource{pods}}, collector.Settings{Client: &rest.Config{Host: "127.0.0.1:1"}, Sink: make(sink)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := col.Run(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("Run took %s to end", took)
	}
	if err := col.WaitForSync(t.Context()); err != nil {
		t.Errorf("WaitForSync after the end: %v", err)
	}
	if len(col.Unsynced()) != 1 {
		t.Error("synced without a server")
	}
}

func TestRequestsAreScoped(t *testing.T) {
	deployments := collector.Resource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true, LabelSelector: "a=b,c in (d,e),!f"}
	for namespace, want := range map[string][]string{
		"":       {"/api/v1/nodes?", "/api/v1/pods?", "/apis/apps/v1/deployments?a=b,c in (d,e),!f"},
		"team-a": {"/api/v1/namespaces/team-a/pods?", "/api/v1/nodes?", "/apis/apps/v1/namespaces/team-a/deployments?a=b,c in (d,e),!f"},
	} {
		api := newFakeAPI(t)
		h := start(t, api, collector.Config{Resources: []collector.Resource{pods, nodes, deployments}, Namespace: namespace})
		h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
		h.stop()
		api.mu.Lock()
		got := slices.Compact(slices.Sorted(slices.Values(api.urls)))
		api.mu.Unlock()
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if err := h.AddResource(secrets); !errors.Is(err, collector.ErrEnded) {
			t.Errorf("adding a kind after the end: %v", err)
		}
	}
}

// TestForbiddenKindHarmsNoOther also looks at what is logged, debug lines too: names, never content.
func TestForbiddenKindHarmsNoOther(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", `|"spec":"canary"`)
	api.fault = func(plural string, _ int, w http.ResponseWriter, _ *http.Request) bool {
		if plural == "secrets" {
			fail(w, 403, "Forbidden", "secrets is forbidden")
		}
		return plural == "secrets"
	}
	var log logged
	s := make(sink)
	col, err := collector.New(collector.Config{Resources: []collector.Resource{pods, secrets}, Masks: []object.Mask{{Kind: "Pod", Path: []string{"spec", "x"}}}},
		collector.Settings{Client: &rest.Config{Host: api.url, UserAgent: "k8s-watch"}, Sink: s, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	collector.FastRetry(col)
	end := runs(t, col)
	api.put("pods", "a/q", "u2", "")
	if e := <-s; show(e) != "put Pod/a/q u2" {
		t.Error(show(e))
	}
	api.send("pods", `{"type":"ADDED","object":{"metadata":{"resourceVersion":"1"},"spec":"canary"}}`+"\n")
	api.put("pods", "a/r", "u3", "")
	if e := <-s; show(e) != "put Pod/a/r u3" {
		t.Error(show(e))
	}
	if waiting := col.Unsynced(); len(waiting) != 1 || waiting[0].Kind != "Secret" {
		t.Errorf("unsynced: %v", waiting)
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), "secrets is forbidden"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("log:\n%s", log.String())
		}
	}
	end()
	if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "Pod/a/p") || !strings.Contains(text, `"kind":"Secret"`) {
		t.Errorf("log:\n%s", text)
	}
}

func TestConfigErrors(t *testing.T) {
	bad := func(f func(*collector.Resource)) collector.Resource { r := pods; f(&r); return r }
	for _, tt := range []struct {
		config collector.Config
		want   string
	}{
		{collector.Config{Resources: []collector.Resource{bad(func(r *collector.Resource) { r.Kind = "" })}}, "without a kind"},
		{collector.Config{Resources: []collector.Resource{bad(func(r *collector.Resource) { r.Version = "" })}}, "no version"},
		{collector.Config{Resources: []collector.Resource{bad(func(r *collector.Resource) { r.Name = "" })}}, "no plural"},
		{collector.Config{Resources: []collector.Resource{bad(func(r *collector.Resource) { r.LabelSelector = "a in (" })}}, "label selector"},
		{collector.Config{Resources: []collector.Resource{pods, bad(func(r *collector.Resource) { r.Group = "x" })}}, "both use the key"},
		{collector.Config{Masks: []object.Mask{{Kind: "Pod"}}}, "empty path"},
	} {
		_, err := collector.New(tt.config, collector.Settings{Client: &rest.Config{Host: "x"}, Sink: make(sink)})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	reg := prometheus.NewRegistry()
	for i, want := range []bool{true, false} {
		_, err := collector.New(collector.Config{}, collector.Settings{Client: &rest.Config{Host: "x"}, Sink: make(sink), Registry: reg})
		if (err == nil) != want {
			t.Errorf("collector %d on one registry: %v", i, err)
		}
	}
}
