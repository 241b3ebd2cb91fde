package query_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/view"
)

func TestWatchFromAVersion(t *testing.T) {
	s := start(t)
	somePods(s)
	s.put(pods, "a", "three", web, "") // 101
	s.put(pods, "a", "three", web, `,"spec":{"nodeName":"n9"}`)
	w := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100")
	if w.resp.StatusCode != 200 || w.resp.Header.Get("Content-Type") != "application/json" || w.resp.Header.Get("X-Watchbench-Resource-Version") != "102" {
		t.Errorf("%d %v", w.resp.StatusCode, w.resp.Header)
	}
	w.expect("ADDED three@101", "MODIFIED three@102")
	s.remove(pods, "a", "three")
	w.expect("DELETED three@103") // of the deletion, not of the object
	s.put(pods, "b", "four", nil, "")
	if e := w.next(); e.Object.Kind != "Pod" || e.Object.APIVersion != "v1" || e.Object.Metadata.Namespace != "b" {
		t.Errorf("%+v", e)
	}
	w = s.watch(t, "/api/v1/namespaces/a/pods?watch=1&resourceVersion=101")
	w.expect("MODIFIED three@102", "DELETED three@103")
	s.put(pods, "b", "five", nil, "")
	s.put(pods, "a", "six", nil, "")
	w.expect("ADDED six@106")
}

// TestWatchFromNow shows the objects that there are first, unless it is told not to.
func TestWatchFromNow(t *testing.T) {
	s := start(t)
	somePods(s)
	for _, query := range []string{"", "&resourceVersion=0", "&resourceVersion=0&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true", "&allowWatchBookmarks=true&resourceVersion=0"} {
		w := s.watch(t, "/api/v1/namespaces/a/pods?watch=true"+query)
		w.expect("ADDED one@100", "ADDED two@100")
		if strings.Contains(query, "Bookmarks") {
			e := w.next()
			if e.String() != "BOOKMARK @"+rv(s.rv) || e.Object.Kind != "Pod" || e.Object.APIVersion != "v1" || e.Object.Metadata.Annotations["k8s.io/initial-events-end"] != "true" {
				t.Errorf("%s %+v", e, e.Object)
			}
		}
		v := s.put(pods, "a", "x", nil, "")
		w.expect("ADDED x@" + rv(v))
		v = s.remove(pods, "a", "x")
		w.expect("DELETED x@" + rv(v))
		w.close()
	}
	w := s.watch(t, "/api/v1/pods?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0")
	v := s.put(pods, "a", "y", nil, "")
	w.expect("ADDED y@" + rv(v))
	w = s.watch(t, "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1") // by the index
	w.expect("ADDED one@100", "ADDED one@100")
	v = s.put(pods, "a", "z", nil, `,"spec":{"nodeName":"n1"}`)
	w.expect("ADDED z@" + rv(v))
	w = s.watch(t, "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dn2&allowWatchBookmarks=true")
	w.expect("ADDED n2@100", "BOOKMARK @100")
}

// TestWatchSelectors: what starts to match is added, what stops is deleted, as it was.
func TestWatchSelectors(t *testing.T) {
	s := start(t)
	somePods(s)
	byLabel := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&labelSelector=app%3Dweb")
	byField := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&fieldSelector=spec.nodeName%3Dn2")
	byName := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&fieldSelector=metadata.name%3Dtwo")
	none := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&labelSelector=app%3Dnone")
	s.put(pods, "a", "two", web, `,"spec":{"nodeName":"n2"}`)                              // 101
	s.put(pods, "a", "two", web, `,"spec":{"nodeName":"n3"},"status":{"phase":"Running"}`) // 102
	s.put(pods, "a", "two", map[string]string{"app": "db"}, `,"spec":{"nodeName":"n2"}`)   // 103
	s.put(pods, "a", "one", map[string]string{"app": "x"}, "")                             // 104
	s.remove(pods, "a", "two")                                                             // 105
	s.remove(pods, "a-b", "one")                                                           // 106
	s.put(pods, "z", "z", map[string]string{"app": "none"}, "")                            // 107
	byLabel.expect("ADDED two@101", "MODIFIED two@102")
	e := byLabel.next()
	if status, _ := e.Object.Status.(map[string]any); e.String() != "DELETED two@103" || e.Object.Metadata.Labels["app"] != "web" || status["phase"] != "Running" {
		t.Errorf("%+v", e)
	}
	byLabel.expect("DELETED one@104", "DELETED one@106")
	byField.expect("MODIFIED two@101", "DELETED two@102", "ADDED two@103", "DELETED two@105")
	byName.expect("MODIFIED two@101", "MODIFIED two@102", "MODIFIED two@103", "DELETED two@105")
	none.expect("ADDED z@107")
}

// TestAnotherObjectOfTheName is deleted and added, at two versions.
func TestAnotherObjectOfTheName(t *testing.T) {
	s := start(t)
	somePods(s)
	old := s.get(pods, "a", "one")
	s.rv += 5
	now := *s.obj(pods, "a", "one", nil, "")
	now.UID = "other"
	s.views[pods].Changed(old, &now, s.rv, time.Now())
	s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100").expect("DELETED one@104", "ADDED one@105")
	s.watch(t, "/api/v1/pods?watch=true&resourceVersion=104").expect("ADDED one@105")
}

// TestWatchTooOld is told after the headers, as by an apiserver.
func TestWatchTooOld(t *testing.T) {
	s := start(t)
	somePods(s)
	gone := func(w *stream) {
		t.Helper()
		e := w.next()
		if w.resp.StatusCode != 200 || e.Type != "ERROR" || e.Object.Kind != "Status" || e.Object.Code != 410 || e.Object.Reason != "Expired" || !strings.Contains(e.Object.Message, "too old resource version") {
			t.Errorf("%+v", e)
		}
		w.ended()
	}
	gone(s.watch(t, "/api/v1/pods?watch=true&resourceVersion=99"))
	w := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100")
	s.put(pods, "a", "x", nil, "")
	w.expect("ADDED x@101")
	s.rv++
	s.views[pods].Replaced([]diff{{Old: s.get(pods, "a", "x")}}, s.rv, time.Now()) // a list that differs
	gone(w)
	w = s.watch(t, "/api/v1/pods?watch=true&resourceVersion="+rv(s.rv))
	s.views[pods].End()
	w.ended()
	s.ask(t, "/api/v1/pods?watch=true&resourceVersion=x").failed(t, 400, "Invalid value")
	s.ask(t, "/api/v1/pods?watch=true&timeoutSeconds=x").failed(t, 400, "invalid syntax")
}

// TestBookmarks come before the end, with all that was learned since.
func TestBookmarks(t *testing.T) {
	s := start(t)
	somePods(s)
	began := time.Now()
	with := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&timeoutSeconds=3&allowWatchBookmarks=true")
	without := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&timeoutSeconds=2")
	s.views[pods].Advance(140)
	with.expect("BOOKMARK @140")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the bookmark came after %s", took)
	}
	s.rv = 140
	s.put(pods, "a", "x", nil, "")
	with.expect("ADDED x@141")
	with.ended()
	without.expect("ADDED x@141")
	without.ended()
	if took := time.Since(began); took < 2900*time.Millisecond || took > 5*time.Second {
		t.Errorf("it ended after %s", took)
	}
}

// TestManyWatchersShareFrames and each gets every event, in its own form.
func TestManyWatchersShareFrames(t *testing.T) {
	s := start(t)
	somePods(s)
	var all []*stream
	forms := []string{"", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=Table;g=meta.k8s.io;v=v1"}
	for i := range 30 {
		all = append(all, s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100", "Accept", forms[i%3]))
	}
	for i := range 300 { // more than a hub keeps
		s.put(pods, "a", fmt.Sprintf("p%d", i%7), web, fmt.Sprintf(`,"spec":{"nodeName":"n%d"}`, i))
	}
	s.remove(pods, "a", "p0")
	kinds := []string{"Pod", "PartialObjectMetadata", "Table"}
	for i, w := range all {
		for n := range 301 {
			e := w.next()
			name, v := fmt.Sprintf("p%d", n%7), rv(uint64(101+n))
			if n == 300 {
				name = "p0"
			}
			got := e.Object.Metadata.Name
			if i%3 == 2 {
				got, _ = e.Object.Rows[0].Cells[0].(string)
				if (len(e.Object.Columns) > 0) != (n == 0) {
					t.Fatalf("event %d has %d columns", n, len(e.Object.Columns))
				}
			}
			if e.Object.Kind != kinds[i%3] || got != name || e.Object.Metadata.ResourceVersion != v || (e.Type == "DELETED") != (n == 300) {
				t.Fatalf("watcher %d: %s %s, want %s@%s", i, e, got, name, v)
			}
		}
	}
	for _, w := range all {
		w.close()
	}
	within(t, "the hub is gone", func() bool { return s.h.Hubs() == 0 })
}

// TestASlowClientIsCut and holds up nobody: the view goes on, others are served.
func TestASlowClientIsCut(t *testing.T) {
	s := start(t)
	s.h.SetPatience(time.Second)
	somePods(s)
	conn := must(net.Dial("tcp", s.http.Listener.Addr().String()))
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET /api/v1/pods?watch=true&resourceVersion=100 HTTP/1.1\r\nHost: x\r\n\r\n")
	quick := s.watch(t, "/api/v1/namespaces/b/pods?watch=true&resourceVersion=100")
	within(t, "both watch", func() bool { return s.h.Watching() == 2 })
	pad := fmt.Sprintf(`,"spec":{"pad":%q}`, strings.Repeat("x", 100<<10))
	for range 200 { // 20 MB, which no socket holds
		s.put(pods, "a", "big", nil, pad)
	}
	v := s.put(pods, "b", "x", nil, "")
	quick.expect("ADDED x@" + rv(v))
	began := time.Now()
	within(t, "the slow client is gone", func() bool { return s.h.Watching() == 1 })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it was cut after %s", took)
	}
}

// TestFallingBehind: who reads too slowly for the window gets 410, not a gap.
func TestFallingBehind(t *testing.T) {
	s := start(t)
	s.views[pods] = view.New(view.Config{Window: 10})
	somePods(s)
	w := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100")
	pad := fmt.Sprintf(`,"spec":{"pad":%q}`, strings.Repeat("x", 200<<10))
	for range 400 {
		s.put(pods, "a", "big", nil, pad)
		time.Sleep(time.Millisecond)
	}
	last := uint64(100)
	for {
		e := w.next()
		if e.Type == "ERROR" {
			if e.Object.Code != 410 || last == 500 {
				t.Errorf("%+v after %d", e, last)
			}
			return
		}
		last++
		if e.Object.Metadata.ResourceVersion != rv(last) {
			t.Fatalf("%s after %d", e, last)
		}
	}
}

func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}
