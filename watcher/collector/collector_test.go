package collector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

var (
	pods    = collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	nodes   = collector.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	secrets = collector.Resource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}
	events  = collector.Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
)

// sink hands events to the test, which takes them one by one.
type sink chan pipeline.Event

func (s sink) Enqueue(ctx context.Context, e pipeline.Event) error {
	select {
	case s <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// show is an event in one line.
func show(e pipeline.Event) string {
	verb := "put"
	if e.Action == pipeline.Delete {
		verb = "delete"
	}
	return fmt.Sprintf("%s %s %s", verb, e.Key, e.UID)
}

// harness is a running collector and what it sees.
type harness struct {
	*collector.Collector
	t    *testing.T
	api  *fakeAPI
	sink sink
	reg  *prometheus.Registry
	stop func()
}

func start(t *testing.T, api *fakeAPI, c collector.Config) *harness {
	t.Helper()
	h := &harness{t: t, api: api, sink: make(sink), reg: prometheus.NewRegistry()}
	col, err := collector.New(c, collector.Settings{Client: &rest.Config{Host: api.url}, Sink: h.sink, Registry: h.reg})
	if err != nil {
		t.Fatal(err)
	}
	collector.FastRetry(col)
	h.Collector = col
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
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

// next takes one event.
func (h *harness) next() pipeline.Event {
	h.t.Helper()
	select {
	case e := <-h.sink:
		return e
	case <-time.After(15 * time.Second):
		h.t.Fatalf("no event; requests so far:\n%s", strings.Join(h.api.seen(), "\n"))
		return pipeline.Event{}
	}
}

// expect takes as many events as there are lines, in any order within one call.
func (h *harness) expect(want ...string) {
	h.t.Helper()
	var got []string
	for range want {
		got = append(got, show(h.next()))
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		h.t.Fatalf("events (-want +got):\n%s", d)
	}
}

// eventually waits for a state that no event announces.
func (h *harness) eventually(what string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("never: %s; requests:\n%s", what, strings.Join(h.api.seen(), "\n"))
		}
	}
}

// metric is the value of a series, summed over the labels that are not named.
func (h *harness) metric(name string, labels ...string) float64 {
	h.t.Helper()
	families, err := h.reg.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			match := 0
			for _, l := range m.GetLabel() {
				if slices.Contains(labels, l.GetName()+"="+l.GetValue()) {
					match++
				}
			}
			if match == len(labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func (h *harness) filtered(kind, reason string) float64 {
	return h.metric("k8swatch_events_filtered_total", "kind="+kind, "reason="+reason)
}

func TestListAndWatch(t *testing.T) {
	for _, mode := range []struct {
		name   string
		config collector.Config
		plain  bool
		page   int
	}{
		{name: "streaming list"},
		{name: "streaming list over HTTP/2 setting", config: collector.Config{HTTP2: true}},
		{name: "packed", config: collector.Config{Pack: true}},
		{name: "plain list", config: collector.Config{PlainList: true}},
		{name: "plain list in pages", config: collector.Config{PlainList: true}, page: 2},
		{name: "streaming refused", plain: true},
	} {
		t.Run(mode.name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.plain, api.page = mode.plain, mode.page
			for i := range 5 {
				api.put("pods", fmt.Sprintf("team-a/p%d", i), fmt.Sprintf("u%d", i), `"managedFields":[{"manager":"x"}],"labels":{"a":"b"}|"spec":{"n":1}`)
			}
			mode.config.Resources = []collector.Resource{pods}
			h := start(t, api, mode.config)
			h.expect("put Pod/team-a/p0 u0", "put Pod/team-a/p1 u1", "put Pod/team-a/p2 u2", "put Pod/team-a/p3 u3", "put Pod/team-a/p4 u4")
			if err := h.WaitForSync(t.Context()); err != nil || !h.Synced() {
				t.Fatalf("not synced: %v", err)
			}
			o, ok := h.Get(object.Key{Kind: "Pod", Namespace: "team-a", Name: "p3"})
			want := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p3","namespace":"team-a","uid":"u3","resourceVersion":"104","labels":{"a":"b"}},"spec":{"n":1}}`
			if !ok || string(o.JSON()) != want {
				t.Errorf("cached: %s\nwant:   %s", o.JSON(), want)
			}
			rv := api.put("pods", "team-a/p3", "u3", `|"spec":{"n":2}`)
			e := h.next()
			if show(e) != "put Pod/team-a/p3 u3" || e.ResourceVersion != uint64(rv) || !strings.Contains(string(e.Object.JSON()), `"n":2`) || e.Received.IsZero() {
				t.Errorf("update: %+v", e)
			}
			api.delete("pods", "team-a/p0")
			if e := h.next(); show(e) != "delete Pod/team-a/p0 u0" || e.Object != nil || e.ResourceVersion <= uint64(rv) {
				t.Errorf("delete: %+v", e)
			}
			api.put("pods", "team-a/p0", "u9", "")
			h.expect("put Pod/team-a/p0 u9")
			if got := len(h.List("Pod")); got != 5 {
				t.Errorf("List has %d objects, want 5", got)
			}
			if got := h.metric("k8swatch_events_received_total"); got != 8 {
				t.Errorf("received = %v, want 8", got)
			}
			if got := h.metric("k8swatch_network_bytes_total", "peer=apiserver", "direction=in"); got < 500 {
				t.Errorf("bytes in = %v", got)
			}
		})
	}
}

func TestReconnectGoesOnFromBookmark(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/p u1")
	api.send("pods", bookmarkFrame("Pod", 150, false))
	api.mu.Lock()
	api.rv = 150
	api.mu.Unlock()
	api.disconnect("pods")
	h.eventually("a watch from the bookmark", func() bool { return slices.Contains(api.seen(), "WATCH pods rv=150") })
	api.put("pods", "a/p", "u1", "")
	h.expect("put Pod/a/p u1")
	if got := h.metric("k8swatch_relists_total"); got != 0 {
		t.Errorf("relists = %v, want 0", got)
	}
}

// TestRelistSendsTheDifference: while disconnected, one object changes, one goes, one
// is made anew under its name, one is new and one stays; the history is gone.
func TestRelistSendsTheDifference(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			api := newFakeAPI(t)
			for _, n := range []string{"same", "changed", "gone", "again"} {
				api.put("pods", "a/"+n, "u-"+n, "")
			}
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: plain})
			h.expect("put Pod/a/same u-same", "put Pod/a/changed u-changed", "put Pod/a/gone u-gone", "put Pod/a/again u-again")
			same, _ := h.Get(object.Key{Kind: "Pod", Namespace: "a", Name: "same"})

			hold := make(chan struct{})
			api.mu.Lock()
			api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
				select {
				case <-hold:
				case <-r.Context().Done():
				}
				return false
			}
			api.mu.Unlock()
			api.disconnect("pods")
			api.put("pods", "a/changed", "u-changed", "")
			api.delete("pods", "a/gone")
			api.delete("pods", "a/again")
			api.put("pods", "a/again", "u-again-2", "")
			api.put("pods", "a/new", "u-new", "")
			api.forget()
			close(hold)
			h.expect("put Pod/a/changed u-changed", "delete Pod/a/gone u-gone", "put Pod/a/again u-again-2", "put Pod/a/new u-new")
			if got := h.filtered("Pod", "unchanged"); got != 1 {
				t.Errorf("unchanged = %v, want 1", got)
			}
			if now, _ := h.Get(object.Key{Kind: "Pod", Namespace: "a", Name: "same"}); now != same {
				t.Error("an unchanged object was copied anew")
			}
			if got := h.metric("k8swatch_relists_total"); got != 1 {
				t.Errorf("relists = %v, want 1", got)
			}
		})
	}
}

func TestBadFrames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frame  string
		relist bool
	}{
		{"truncated", `{"type":"ADDED","object":{"metadata":{"na`, false},
		{"no JSON", `<html>` + "\n", true},
		{"unknown type", `{"type":"EXPLODED","object":{"metadata":{"name":"x","resourceVersion":"1"}}}` + "\n", true},
		{"no object", `{"type":"ADDED"}` + "\n", true},
		{"object without a name", `{"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}}` + "\n", true},
		{"object that is none", `{"type":"ADDED","object":7}` + "\n", true},
		{"error 410", `{"type":"ERROR","object":` + statusJSON(410, "Expired", "too old") + `}` + "\n", true},
		{"error that is no Status", `{"type":"ERROR","object":{"x":1}}` + "\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.put("pods", "a/p", "u1", "")
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
			h.expect("put Pod/a/p u1")
			// A watch that ends within a second without an event makes client-go list again.
			api.put("pods", "a/p", "u1", "")
			h.expect("put Pod/a/p u1")
			api.send("pods", tt.frame)
			api.disconnect("pods")
			api.put("pods", "a/q", "u2", "")
			h.expect("put Pod/a/q u2")
			if got := h.metric("k8swatch_relists_total") > 0; got != tt.relist {
				t.Errorf("relisted = %v, want %v; requests:\n%s", got, tt.relist, strings.Join(api.seen(), "\n"))
			}
		})
	}
}

func TestFramesInOtherShapes(t *testing.T) {
	api := newFakeAPI(t)
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.eventually("a watch", func() bool { return h.Synced() })
	api.send("pods", `{"object":{"metadata":{"name":"late","uid":"u","resourceVersion":"200"}},"type":"ADDED"}`+"\n")
	h.expect("put Pod/late u")
	api.send("pods", "{ \"type\" : \"ADDED\",\n \"object\" : { \"metadata\" : { \"n\\u0061me\" : \"sp\\u0061ced \\u00e9\", \"uid\":\"u\", \"resourceVersion\":\"201\",\n\"labels\":{\"k\":\"\\\"\\u2028\"} } } }\n")
	e := h.next()
	want := `{"kind":"Pod","apiVersion":"v1","metadata":{"n\u0061me":"sp\u0061ced \u00e9","uid":"u","resourceVersion":"201","labels":{"k":"\"\u2028"}}}`
	if show(e) != "put Pod/spaced é u" || string(e.Object.JSON()) != want {
		t.Errorf("%s\ngot  %s\nwant %s", show(e), e.Object.JSON(), want)
	}
	api.send("pods", `{"type":"ADDED","object":{"metadata":{"name":"big","uid":"u","resourceVersion":"202"},"data":"`+strings.Repeat("x", 1_400_000)+`"}}`+"\n")
	if e := h.next(); len(e.Object.JSON()) < 1_400_000 || e.Key.Name != "big" {
		t.Errorf("big object: %d bytes", len(e.Object.JSON()))
	}
	api.send("pods", `{"type":"MODIFIED","object":{"metadata":{"name":"big","uid":"u","resourceVersion":"not-a-number"}}}`+"\n")
	h.expect("put Pod/big u")
	api.send("pods", `{"type":"MODIFIED","object":{"metadata":{"name":"big","uid":"u","resourceVersion":"not-a-number"}}}`+"\n")
	h.eventually("the same content again is filtered", func() bool { return h.filtered("Pod", "unchanged") == 1 })
	api.send("pods", `{"type":"MODIFIED","object":{"metadata":{"name":"late","uid":"u","resourceVersion":"150"}}}`+"\n")
	h.eventually("an old version is filtered", func() bool { return h.filtered("Pod", "stale") == 1 })
}

func TestFilters(t *testing.T) {
	api := newFakeAPI(t)
	c := collector.Config{
		Resources: []collector.Resource{pods, events}, IgnoreNamespaces: []string{"kube-system"}, IgnoreNames: []string{"kubernetes"},
	}
	h := start(t, api, c)
	h.eventually("sync", h.Synced)
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
	h.eventually("sync", h.Synced)
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
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
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
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := col.Run(t.Context()); !errors.Is(err, collector.ErrRunTwice) {
		t.Errorf("second Run: %v", err)
	}
}

func TestStreamingListThatHangsFallsBack(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	api.fault = func(_ string, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 || r.URL.Query().Get("sendInitialEvents") == "" {
			return false
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, InitialIdle: 50 * time.Millisecond})
	h.expect("put Pod/a/p u1")
}

func TestStreamingListThatEndsEarlyFallsBack(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	api.fault = func(_ string, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 || r.URL.Query().Get("sendInitialEvents") == "" {
			return false
		}
		_, _ = fmt.Fprint(w, `{"type":"ADDED","object":{"metadata":{"name":"p","namespace":"a","uid":"u1","resourceVersion":"101"}}}`+"\n")
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/p u1")
	if got := h.api.seen()[:2]; !slices.Equal(got, []string{"STREAM pods rv=", "LIST pods rv=0"}) {
		t.Errorf("requests: %v", got)
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
	if col.Synced() || len(col.Unsynced()) != 1 {
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
		h.eventually("sync", h.Synced)
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

// TestForbiddenKindHarmsNoOther also looks at what is logged: names, never content.
func TestForbiddenKindHarmsNoOther(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", `|"spec":"canary"`)
	api.fault = func(plural string, _ int, w http.ResponseWriter, _ *http.Request) bool {
		if plural == "secrets" {
			fail(w, 403, "Forbidden", "secrets is forbidden")
		}
		return plural == "secrets"
	}
	var log lockedBuffer
	s := make(sink)
	col, err := collector.New(collector.Config{Resources: []collector.Resource{pods, secrets}, Masks: []object.Mask{{Kind: "Pod", Path: []string{"spec", "x"}}}},
		collector.Settings{Client: &rest.Config{Host: api.url, UserAgent: "k8s-watch"}, Sink: s, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	collector.FastRetry(col)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
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
	for !strings.Contains(log.String(), "secrets is forbidden") {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "Pod/a/p") || !strings.Contains(text, `"kind":"Secret"`) {
		t.Errorf("log:\n%s", text)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
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
	if _, err := collector.New(collector.Config{}, collector.Settings{Sink: make(sink)}); err == nil {
		t.Error("no client was accepted")
	}
	if _, err := collector.New(collector.Config{}, collector.Settings{Client: &rest.Config{}}); err == nil {
		t.Error("no sink was accepted")
	}
}
