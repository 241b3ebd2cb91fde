package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/watches"
)

// followed are watches that remember what was asked of them.
type followed struct {
	err   error
	stuck bool // Add waits
	asked []string
}

func (f *followed) List() []watches.Status {
	return []watches.Status{{Version: "v1", Resource: "pods", Kind: "Pod", State: watches.Broken, Error: "Get https://user:pass@10.0.0.1/: refused"}}
}

func (f *followed) Add(ctx context.Context, r watches.GVR) error {
	if f.stuck {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	f.asked = append(f.asked, "add "+r.String())
	return f.err
}

func (f *followed) Drop(r watches.GVR) error {
	f.asked = append(f.asked, "drop "+r.String())
	return f.err
}

// TestMethodsOfWatches: who uses another one is told which there are.
func TestMethodsOfWatches(t *testing.T) {
	s := start(t)
	for _, tc := range []struct{ method, path, allow, message string }{
		{http.MethodPut, "/v1/watches", "GET, HEAD, POST", "use GET or POST"},
		{http.MethodDelete, "/v1/watches", "GET, HEAD, POST", "DELETE takes the path of one: /v1/watches/group/version/resource"},
		{http.MethodGet, "/v1/watches/v1/pods", "DELETE", "use DELETE"},
		{http.MethodPost, "/v1/watches/apps/v1/deployments", "DELETE", "use DELETE"},
	} {
		a := s.do(t, tc.method, tc.path, "")
		if st := a.failed(t, 405, tc.message); strings.Contains(st.Message, "only be read") || a.header.Get("Allow") != tc.allow {
			t.Errorf("%s %s: Allow %q, %s", tc.method, tc.path, a.header.Get("Allow"), st.Message)
		}
	}
	s.followed.asked = nil
	if a := s.do(t, http.MethodHead, "/v1/watches", ""); a.code != 200 || len(a.body) > 0 {
		t.Errorf("HEAD: %d %s", a.code, a.body)
	}
	if len(s.followed.asked) > 0 {
		t.Errorf("%v", s.followed.asked)
	}
}

func TestWatches(t *testing.T) {
	s := start(t)
	var l struct{ Watches []watches.Status }
	if err := json.Unmarshal(s.ask(t, "/v1/watches").body, &l); err != nil || len(l.Watches) != 1 || l.Watches[0].Resource != "pods" || strings.Contains(l.Watches[0].Error, "pass") {
		t.Errorf("%v %+v", err, l)
	}
	asked := func(want access.Attributes) {
		t.Helper()
		if got := s.lastAsked(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	asked(access.Attributes{Verb: "get", Path: "/v1/watches"})
	post := func(body string) answer {
		return s.do(t, http.MethodPost, "/v1/watches", body, "Content-Type", "application/json")
	}
	if a := post(`{"group":"apps","version":"v1","resource":"deployments"}`); a.code != 202 || !strings.Contains(string(a.body), `"Success"`) {
		t.Errorf("%d %s", a.code, a.body)
	}
	asked(access.Attributes{Verb: "post", Path: "/v1/watches"})
	if a := s.do(t, http.MethodDelete, "/v1/watches/v1/pods", ""); a.code != 200 {
		t.Errorf("%d %s", a.code, a.body)
	}
	asked(access.Attributes{Verb: "delete", Path: "/v1/watches/v1/pods"})
	if got := fmt.Sprint(s.followed.asked); got != "[add apps/v1/deployments drop v1/pods]" {
		t.Errorf("%s", got)
	}
	for _, body := range []string{`{"group":"a/b","version":"v1","resource":"x"}`, `{"resource":"pods"}`, `{"version":"v1","resource":"pods","x":1}`, ``} {
		post(body).failed(t, 400, "")
	}
	s.do(t, http.MethodDelete, "/v1/watches/pods", "").failed(t, 404, "")
	s.ask(t, "/v1/watchesx").failed(t, 404, "")
	for err, code := range map[error]int{watches.ErrDenied: 403, watches.ErrNotServed: 404, watches.ErrNoWatch: 404, fmt.Errorf("%w: the configuration pins it", watches.ErrKept): 409, &watches.LimitError{}: 503} {
		s.followed.err = err
		s.do(t, http.MethodDelete, "/v1/watches/v1/pods", "").failed(t, code, "")
		post(`{"version":"v1","resource":"pods"}`).failed(t, code, "")
	}
	s.followed.err = watches.ErrNotServed
	post(`{"version":"v1","resource":"pod"}`).failed(t, 404, "want v1/pods")
	s.followed.stuck = true
	post(`{"version":"v1","resource":"pods"}`).failed(t, 503, "the time for the request is over")
	s.followed.stuck = false
	s.may = func(a access.Attributes) error {
		if a.Verb == "get" {
			return nil
		}
		return watches.ErrDenied
	}
	s.followed.asked = nil
	post(`{"version":"v1","resource":"pods"}`).failed(t, 403, `cannot post path "/v1/watches"`)
	s.do(t, http.MethodDelete, "/v1/watches/v1/pods", "").failed(t, 403, `cannot delete path`)
	if len(s.followed.asked) > 0 {
		t.Errorf("%v", s.followed.asked)
	}
}
