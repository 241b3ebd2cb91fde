package apisim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

func TestWatchFollowsSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		web, db := `"labels":{"app":"web"}`, `"labels":{"app":"db"}`
		put(t, s, "a/p", db)
		all := watch(t, s, pods+"?watch=1&resourceVersion=1001")
		apps := watch(t, s, pods+"?watch=1&resourceVersion=1001&labelSelector=app%3Dweb")
		inB := watch(t, s, "/api/v1/namespaces/b/pods?watch=1&resourceVersion=1001")
		named := watch(t, s, pods+"?watch=true&resourceVersion=1001&fieldSelector=metadata.name%3Dq")
		put(t, s, "a/p", web) // 1002
		put(t, s, "a/p", web) // 1003
		put(t, s, "b/p", web) // 1004
		put(t, s, "a/p", db)  // 1005
		put(t, s, "a/q", db)  // 1006
		remove(t, s, "a/p")   // 1007
		remove(t, s, "b/p")   // 1008
		put(t, s, "a/q", web) // 1009
		all.expect("MODIFIED p@1002", "MODIFIED p@1003", "ADDED p@1004", "MODIFIED p@1005", "ADDED q@1006", "DELETED p@1007", "DELETED p@1008", "MODIFIED q@1009")
		apps.expect("ADDED p@1002", "MODIFIED p@1003", "ADDED p@1004", "DELETED p@1005", "DELETED p@1008", "ADDED q@1009")
		inB.expect("ADDED p@1004", "DELETED p@1008")
		named.expect("ADDED q@1006", "MODIFIED q@1009")
	})
}

// TestDeletedShowsTheObjectBefore: what stops to match is shown as it last matched.
func TestDeletedShowsTheObjectBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		put(t, s, "a/p", `"labels":{"app":"web","n":"1"}`)
		w := watch(t, s, pods+"?watch=1&resourceVersion=1001&labelSelector=app%3Dweb")
		put(t, s, "a/p", `"labels":{"app":"db","n":"2"}`)
		line, err := w.in.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, `{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1",`) ||
			!strings.Contains(line, `"labels":{"app":"web","n":"1"}`) || !strings.Contains(line, `"resourceVersion":"1002"`) {
			t.Errorf("%v: %s", err, line)
		}
	})
}

func TestStreamingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		put(t, s, "a/p", "")
		put(t, s, "a/q", `"labels":{"x":"y"}`)
		const stream = pods + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
		w := watch(t, s, stream)
		w.expect("ADDED p@1001", "ADDED q@1002", "END @1002")
		put(t, s, "a/p", "")
		w.expect("MODIFIED p@1003")
		one := watch(t, s, stream+"&labelSelector=x&resourceVersion=1001")
		one.expect("ADDED q@1002", "END @1003")
		quiet := watch(t, s, strings.Replace(stream, "&allowWatchBookmarks=true", "", 1))
		quiet.expect("ADDED p@1003", "ADDED q@1002")
		remove(t, s, "a/q")
		quiet.expect("DELETED q@1004")
		none := watch(t, s, strings.Replace(stream, "Events=true", "Events=false", 1))
		put(t, s, "a/r", "")
		none.expect("ADDED r@1005")
		// A watch without a version has always begun with the current state.
		for _, q := range []string{"", "&resourceVersion=0"} {
			old := watch(t, s, pods+"?watch=1"+q)
			old.expect("ADDED p@1003", "ADDED r@1005")
			old.stop()
		}
		w.stop()
		synctest.Wait()
		if st := s.Stats("pods"); st.Streams != 5 || st.Watches != 1 || st.Open != 3 {
			t.Errorf("%+v", st)
		}
	})
}

func TestBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{BookmarkPeriod: 10 * time.Second})
		w := watch(t, s, pods+"?watch=1&resourceVersion=1000&allowWatchBookmarks=true&timeoutSeconds=25")
		silent := watch(t, s, pods+"?watch=1&resourceVersion=1000&timeoutSeconds=25")
		ahead := watch(t, s, pods+"?watch=1&resourceVersion=1007&allowWatchBookmarks=true&timeoutSeconds=25")
		start := time.Now()
		if _, err := s.Apply("nodes", []byte(`{"metadata":{"name":"n"}}`)); err != nil { // another kind's change counts
			t.Fatal(err)
		}
		w.expect("BOOKMARK @1001")
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("first bookmark after %s", d)
		}
		put(t, s, "a/p", "")
		w.expect("ADDED p@1002", "BOOKMARK @1002", "BOOKMARK @1002")
		if d := time.Since(start); d != 23*time.Second {
			t.Errorf("last bookmark after %s, want 2 s before the end", d)
		}
		w.expect("EOF")
		if d := time.Since(start); d != 25*time.Second {
			t.Errorf("ended after %s", d)
		}
		silent.expect("ADDED p@1002", "EOF")
		ahead.expect("EOF") // there is no such version yet: silent, as a real one
	})
}

func TestTooOldAndCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{Window: 8})
		put(t, s, "a/p", "")
		watch(t, s, pods+"?watch=1&resourceVersion=999").expect("ERROR 410", "EOF")
		open := watch(t, s, pods+"?watch=1&resourceVersion=1001")
		s.Compact() // 1002
		watch(t, s, pods+"?watch=1&resourceVersion=1001").expect("ERROR 410", "EOF")
		put(t, s, "a/p", "")
		open.expect("MODIFIED p@1003") // it had seen everything
		fresh := watch(t, s, pods+"?watch=1&resourceVersion=1002")
		fresh.expect("MODIFIED p@1003")
		for range 20 {
			put(t, s, "a/p", "")
		}
		watch(t, s, pods+"?watch=1&resourceVersion=1003").expect("ERROR 410", "EOF")
	})
}

// TestSlowWatchIsEnded: a client that does not read loses its watch once the window has passed it, and nobody waits for
// it.
func TestSlowWatchIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{Window: 10})
		slow := watch(t, s, pods+"?watch=1&resourceVersion=1000")
		quick := watch(t, s, pods+"?watch=1&resourceVersion=1000")
		for i := range 100 {
			put(t, s, "a/p", "")
			want := fmt.Sprintf("MODIFIED p@%d", 1001+i)
			if i == 0 {
				want = "ADDED p@1001"
			}
			quick.expect(want)
		}
		synctest.Wait()
		slow.expect("ADDED p@1001")
		for range 100 {
			if got := slow.next(); got == "EOF" {
				watch(t, s, pods+"?watch=1&resourceVersion=1002").expect("ERROR 410", "EOF")
				return
			}
		}
		t.Error("the slow watch was never ended")
	})
}

func TestWatchesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crd := apisim.Resource{Group: "example.com", Versions: []string{"v1", "v1beta1"}, Name: "things", Kind: "Thing", Custom: true}
		s := newServer(t, apisim.Config{Resources: []apisim.Resource{apisim.Pods, crd}})
		if _, err := s.Apply(crd.Key(), []byte(`{"metadata":{"name":"x"}}`)); err != nil {
			t.Fatal(err)
		}
		p := watch(t, s, pods+"?watch=1&resourceVersion=1000")
		v1 := watch(t, s, "/apis/example.com/v1/things?watch=1&resourceVersion=1001")
		beta := watch(t, s, "/apis/example.com/v1beta1/things?watch=1&resourceVersion=1001")
		crd.Versions = []string{"v1"}
		if err := s.SetResource(crd); err != nil {
			t.Fatal(err)
		}
		beta.expect("EOF")
		if code, _, _ := get(t, s, "/apis/example.com/v1beta1/things"); code != 404 {
			t.Errorf("a version that is not served: %d", code)
		}
		if err := s.RemoveResource(crd.Key()); err != nil {
			t.Fatal(err)
		}
		v1.expect("DELETED x@1002", "EOF")
		if code, _, _ := get(t, s, "/apis/example.com/v1/things"); code != 404 {
			t.Errorf("a kind that is not served: %d", code)
		}
		if err := s.SetResource(crd); err != nil { // and back again
			t.Fatal(err)
		}
		watch(t, s, "/apis/example.com/v1/things?watch=1&resourceVersion=1001").expect("ERROR 410", "EOF")
		put(t, s, "a/p", "")
		if err := s.CloseWatches("pods"); err != nil {
			t.Fatal(err)
		}
		p.expect("ADDED p@1003", "EOF")
		w := watch(t, s, pods+"?watch=1&resourceVersion=1003&timeoutSeconds=60")
		start := time.Now()
		w.expect("EOF")
		if d := time.Since(start); d != time.Minute {
			t.Errorf("a watch of a minute lasted %s", d)
		}
		if st := s.Stats(""); st.Open != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestClosingTheBodyEndsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		w := watch(t, s, pods+"?watch=1&resourceVersion=1000")
		w.stop()
		synctest.Wait()
		if st := s.Stats(""); st.Open != 0 {
			t.Errorf("%+v", st)
		}
		if _, err := w.in.ReadByte(); err == nil || err == io.EOF {
			t.Errorf("read after close: %v", err)
		}
	})
}

// TestNothingIsHeldBack: what is written is flushed before the watch waits, also when the events at hand end just where
// a chunk is full.
func TestNothingIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		w := &flushes{header: http.Header{}}
		ctx, stop := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, pods+"?watch=1&resourceVersion=1000", nil)
		go s.ServeHTTP(w, req)
		put(t, s, "a/p", `"annotations":{"data":"`+strings.Repeat("x", 70<<10)+`"}`)
		synctest.Wait()
		if w.written < 70<<10 || w.held != 0 {
			t.Errorf("%d bytes written, %d of them held back", w.written, w.held)
		}
		stop()
		synctest.Wait()
	})
}

// flushes is a server's buffer that sends nothing before it is flushed.
type flushes struct {
	header        http.Header
	written, held int
}

func (f *flushes) Header() http.Header { return f.header }
func (f *flushes) WriteHeader(int)     {}
func (f *flushes) Flush()              { f.held = 0 }
func (f *flushes) Write(p []byte) (int, error) {
	f.written, f.held = f.written+len(p), f.held+len(p)
	return len(p), nil
}
