package collector_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
)

// Live changes do not keep a streaming list open whose closing bookmark never comes.
func TestStreamingListWithoutBookmarkUnderChurnFallsBack(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	api.fault = func(_ string, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 || r.URL.Query().Get("sendInitialEvents") == "" {
			return false
		}
		for version := 101; r.Context().Err() == nil; version++ {
			_, _ = fmt.Fprintf(w, `{"type":"MODIFIED","object":{"metadata":{"name":"q","namespace":"a","uid":"u2","resourceVersion":"%d"}}}`+"\n", version)
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, InitialIdle: 100 * time.Millisecond})
	h.expect("put Pod/a/p u1")
}

// A streaming list that is answered with an error event is not asked for again
// without a pause: the list comes in pages.
func TestStreamingListThatFailsFallsBack(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	api.fault = func(_ string, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 || r.URL.Query().Get("sendInitialEvents") == "" {
			return false
		}
		_, _ = fmt.Fprint(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`+"\n")
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/p u1")
	streams := 0
	for _, r := range h.api.seen() {
		if r == "STREAM pods rv=" {
			streams++
		}
	}
	if streams != 1 {
		t.Errorf("%d streaming lists were asked for, want 1", streams)
	}
}
