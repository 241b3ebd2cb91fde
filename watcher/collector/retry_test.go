package collector_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
)

// outage is an apiserver that answers one streaming list, and from then on as answer says; nil is more of the same.
type outage struct {
	tries  atomic.Int32
	end    chan struct{} // a value ends a watch
	last   string        // sent before the end
	answer func() (*http.Response, error)
}

func (o *outage) CloseIdleConnections() {}

func (o *outage) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.tries.Add(1) > 1 && o.answer != nil {
		return o.answer()
	}
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, bookmarkFrame("Pod", 100, true))
		select {
		case <-o.end:
			_, _ = io.WriteString(w, o.last)
		case <-req.Context().Done():
		}
		_ = w.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: r, Header: http.Header{}}, nil
}

// over runs a collector over a transport until the test ends.
func over(t *testing.T, api http.RoundTripper, c collector.Config) *collector.Collector {
	t.Helper()
	client := &rest.Config{Host: "http://cluster.example", Transport: api}
	col, err := collector.New(c, collector.Settings{Client: client, Sink: collector.Discard})
	if err != nil {
		t.Fatal(err)
	}
	col.Retry("Pod") // before Run: nothing
	runs(t, col)
	return col
}

// TestEndedWatchIsBroken: between the end of a watch, though the apiserver answers, and the
// next list, what is cached is not followed.
func TestEndedWatchIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &outage{end: make(chan struct{}), last: `{"type":"ERROR","object":` + statusJSON(410, "Expired", "too old") + "}\n"}
		col := over(t, api, collector.Config{Resources: []collector.Resource{pods}})
		if err := col.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		api.end <- struct{}{}
		synctest.Wait()
		if st, _ := col.State("Pod"); st.Broken == nil || api.tries.Load() != 1 {
			t.Errorf("while it pauses: %+v after %d requests", st, api.tries.Load())
		}
		col.Retry("Pod")
		synctest.Wait()
		if st, _ := col.State("Pod"); st.Broken != nil || api.tries.Load() != 2 || st.Relists != 1 {
			t.Errorf("retried: %+v after %d requests", st, api.tries.Load())
		}
	})
}

// TestRetryEndsAPause, those of client-go's reflector and those between its tries, once a second.
func TestRetryEndsAPause(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // they sleep by a clock that virtual time sets back
	defer func() { utilruntime.ErrorHandlers = handlers }()
	for name, answer := range map[string]func() (*http.Response, error){
		"refused": func() (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		},
		"broken": func() (*http.Response, error) { return nil, errors.New("cut") },
		"errors": func() (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Header: http.Header{}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &outage{end: make(chan struct{}), answer: answer}
				col := over(t, api, collector.Config{Resources: []collector.Resource{pods}, WatchIdle: -1})
				if err := col.WaitForSync(t.Context()); err != nil {
					t.Fatal(err)
				}
				col.Retry("Pod") // there is no pause
				col.Retry("Node")
				if st, _ := col.State("Pod"); st.Broken != nil || st.Heard.IsZero() {
					t.Errorf("%+v", st)
				}
				api.end <- struct{}{}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if st, _ := col.State("Pod"); st.Broken == nil || !st.Synced || time.Since(st.Heard) < 9*time.Minute {
					t.Errorf("%+v", st)
				}
				tries := api.tries.Load()
				if tries > 60 {
					t.Errorf("%d tries in 10 minutes", tries)
				}
				more := func(what string, least, most int32) {
					t.Helper()
					synctest.Wait()
					n := api.tries.Load()
					if d := n - tries; d < least || d > most { // a try is a list in both forms
						t.Errorf("%s: %d requests, want %d to %d", what, d, least, most)
					}
					tries = n
				}
				col.Retry("Pod")
				more("retried", 1, 2)
				for range 50 {
					col.Retry("Pod")
				}
				more("within a second", 0, 0)
				time.Sleep(time.Second)
				synctest.Wait()
				tries = api.tries.Load()
				col.Retry("Pod")
				more("a second later", 1, 2)
			})
		})
	}
}

// answers is an apiserver as a function.
type answers func(*http.Request) (status int, body string)

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	status, body := a(req)
	if status == 0 {
		return nil, syscall.ECONNREFUSED
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

// TestWatchesThatEndAtOnce: a watch that is answered, brings something and ends is no failure, but
// not asked for as often as the server can answer.
func TestWatchesThatEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watches := 0
		api := answers(func(req *http.Request) (int, string) {
			switch q := req.URL.Query(); {
			case q.Get("sendInitialEvents") == "true":
				return 422, statusJSON(422, "Invalid", "not here")
			case q.Get("watch") != "true":
				return 200, `{"kind":"PodList","metadata":{"resourceVersion":"100"},"items":[]}`
			}
			if watches++; watches > 1000 { // no time passes between them
				return 0, ""
			}
			return 200, bookmarkFrame("Pod", 100, false)
		})
		over(t, api, collector.Config{Resources: []collector.Resource{pods}})
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if watches < 15 || watches > 30 {
			t.Errorf("%d watches in 20 s, want about one a second", watches)
		}
	})
}

// TestListsWithoutVersion: some aggregated servers' lists have no resourceVersion. A watch then begins
// with what there is and says nothing of what went before it: there is a list before each.
func TestListsWithoutVersion(t *testing.T) {
	for _, event := range []string{"ADDED", "MODIFIED"} { // of which the second tells the reflector a version
		synctest.Test(t, func(t *testing.T) {
			lists := 0
			pod := func(name string) string { return `{"metadata":{"name":"` + name + `","uid":"u-` + name + `"}}` }
			api := answers(func(req *http.Request) (int, string) {
				switch q := req.URL.Query(); {
				case q.Get("sendInitialEvents") == "true":
					return 422, statusJSON(422, "Invalid", "not here")
				case q.Get("watch") == "true":
					return 200, `{"type":"` + event + `","object":` + pod("a") + "}\n"
				}
				if lists++; lists == 1 {
					return 200, `{"kind":"PodList","metadata":{},"items":[` + pod("a") + "," + pod("b") + `]}`
				}
				return 200, `{"kind":"PodList","metadata":{},"items":[` + pod("a") + `]}`
			})
			col := over(t, api, collector.Config{Resources: []collector.Resource{pods}})
			time.Sleep(10 * time.Second)
			if n := len(col.List("Pod")); n != 1 {
				t.Errorf("%d objects after %d lists, want the one of the second list", n, lists)
			}
			if lists > 10 {
				t.Errorf("%d lists in 10 s", lists)
			}
		})
	}
}

// TestAnswerThatIsNoList: what is JSON, comes with 200 and is no list says nothing of the kind's
// objects; a gateway's answer, or a Status, as an empty list would delete them all.
func TestAnswerThatIsNoList(t *testing.T) {
	for _, answer := range []string{
		`{}`, `null`, ``, `{"code":401,"message":"log in"}`, `{"kind":"PodList","metadata":{"resourceVersion":"900"}}`,
		`{"metadata":{"resourceVersion":"900"},"items":[]}`, statusJSON(503, "ServiceUnavailable", "not now"),
	} {
		t.Run(answer, func(t *testing.T) {
			api := newFakeAPI(t)
			api.plain = true
			api.put("pods", "n/a", "u1", "")
			var wrong atomic.Int32
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
			h.expect("put Pod/n/a u1")
			api.mu.Lock()
			api.fault = func(_ string, n int, w http.ResponseWriter, _ *http.Request) bool {
				if n > 0 || wrong.Add(1) > 2 {
					return false
				}
				_, _ = io.WriteString(w, answer)
				return true
			}
			api.mu.Unlock()
			api.forget()
			api.disconnect("pods") // before the put, which the watch must not deliver
			api.put("pods", "n/b", "u2", "")
			h.expect("put Pod/n/b u2")
			if wrong.Load() < 3 {
				t.Errorf("%d lists were asked for, want the wrong ones and a right one", wrong.Load())
			}
		})
	}
	t.Run("empty", func(t *testing.T) { // null is how some servers write no items
		api := newFakeAPI(t)
		api.plain = true
		api.fault = func(_ string, n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 0 {
				return false
			}
			_, _ = io.WriteString(w, `{"kind":"PodList","metadata":{"resourceVersion":"900"},"items":null}`)
			return true
		}
		h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
		if err := h.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestObjectOnTwoPages: that a list has as many items as the store does not mean that nothing is gone.
func TestObjectOnTwoPages(t *testing.T) {
	api := newFakeAPI(t)
	api.plain = true
	for _, name := range []string{"a", "b", "c"} {
		api.put("pods", "n/"+name, "u-"+name, "")
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/n/a u-a", "put Pod/n/b u-b", "put Pod/n/c u-c")
	item := func(name string) string {
		return `{"metadata":{"namespace":"n","name":"` + name + `","uid":"u-` + name + `","resourceVersion":"900"}}`
	}
	api.mu.Lock()
	api.fault = func(_ string, n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 0 {
			return false
		}
		_, _ = io.WriteString(w, `{"kind":"PodList","metadata":{"resourceVersion":"901"},"items":[`+item("a")+","+item("b")+","+item("b")+`]}`)
		return true
	}
	api.mu.Unlock()
	api.forget()
	api.disconnect("pods")
	h.expect("delete Pod/n/c u-c", "put Pod/n/a u-a", "put Pod/n/b u-b")
}

// TestPageThatNamesItself: a list without an end is an error that says so, not one that is read until memory is full.
func TestPageThatNamesItself(t *testing.T) {
	api := newFakeAPI(t)
	api.plain = true
	var pages atomic.Int32
	api.fault = func(_ string, n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 0 {
			return false
		}
		if pages.Add(1) > 1000 {
			return false
		}
		_, _ = io.WriteString(w, `{"kind":"PodList","metadata":{"resourceVersion":"900","continue":"next"},"items":[{"metadata":{"name":"a"}}]}`)
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.eventually("refusal", func() bool {
		err := h.States()[0].Failed
		return err != nil && strings.Contains(err.Error(), "names itself")
	})
	if n := pages.Load(); n > 100 {
		t.Errorf("%d pages were read", n)
	}
}

// TestGatewayThatCompresses: whoever may compress what a request does not forbid does not.
func TestGatewayThatCompresses(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "n/a", "u1", "")
	var asked sync.Map
	api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
		asked.Store(r.Header.Get("Accept-Encoding"), true)
		return false
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/n/a u1")
	asked.Range(func(how, _ any) bool {
		if how != "identity" {
			t.Errorf("a request accepts %q, want identity: nothing is decompressed", how)
		}
		return true
	})
}
