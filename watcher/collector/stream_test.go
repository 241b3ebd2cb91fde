package collector_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

func TestListAndWatch(t *testing.T) {
	for _, mode := range []struct {
		name   string
		config collector.Config
		plain  bool
		page   int
	}{
		{name: "streaming list"},
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
			if err := h.WaitForSync(t.Context()); err != nil || len(h.Unsynced()) > 0 {
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
		{"deletion without a name", `{"type":"DELETED","object":{"metadata":{"resourceVersion":"1"}}}` + "\n", true},
		{"deletion of nobody knows what", `{"type":"DELETED","object":{"metadata":{"name":7}}}` + "\n", true},
		{"bookmark without metadata", `{"type":"BOOKMARK","object":7}` + "\n", true},
		{"object without a name", `{"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}}` + "\n", false},
		{"object that is none", `{"type":"ADDED","object":7}` + "\n", false},
		{"object before its type", `{"object":{"metadata":{"name":[]}},"type":"MODIFIED"}` + "\n", false},
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
	h.eventually("a watch", func() bool { return len(h.Unsynced()) == 0 })
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

// TestYoungWatchThatBreaks: the version is still good, so the kind is not listed again.
func TestYoungWatchThatBreaks(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	var broken atomic.Bool
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") != "true" || broken.Swap(true) {
			return false
		}
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: true})
	h.expect("put Pod/a/x x1")
	h.eventually("another watch", func() bool { return strings.Count(strings.Join(api.seen(), "\n"), "WATCH pods") > 1 })
	api.put("pods", "a/y", "y1", "")
	h.expect("put Pod/a/y y1")
	if n := h.metric("k8swatch_relists_total", "kind=Pod"); n != 0 {
		t.Errorf("listed again %v times: %q", n, api.seen())
	}
}
