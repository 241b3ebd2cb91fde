package apisim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

const pods = "/api/v1/pods"

func TestListForms(t *testing.T) {
	s := newServer(t, apisim.Config{})
	put(t, s, "a/web-1", `"labels":{"app":"web"},"annotations":{"x":"1\n2"}`)
	put(t, s, "b/web-2", `"labels":{"app":"web"}`)
	o := put(t, s, "a/db-1", `"labels":{"app":"db"}`)
	if _, err := s.Apply("nodes", []byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`)); err != nil {
		t.Fatal(err)
	}
	l := getList(t, s, pods)
	if l.Kind != "PodList" || l.APIVersion != "v1" || l.Metadata.ResourceVersion != "1004" || l.names() != "db-1 web-1 web-2" {
		t.Errorf("%+v", l)
	}
	if i := l.Items[0]; i.Kind != "" || i.APIVersion != "" || i.Metadata.ResourceVersion != "1003" || i.Metadata.UID == "" {
		t.Errorf("item of a built-in kind: %+v", i)
	}
	for path, want := range map[string]string{
		"/api/v1/namespaces/a/pods":                                      "db-1 web-1",
		"/api/v1/namespaces/none/pods":                                   "",
		pods + "?labelSelector=app%3Dweb":                                "web-1 web-2",
		pods + "?labelSelector=app+notin+(web)":                          "db-1",
		pods + "?fieldSelector=metadata.name%3Dweb-2":                    "web-2",
		pods + "?fieldSelector=metadata.namespace!%3Da":                  "web-2",
		pods + "?resourceVersion=0&limit=1":                              "db-1 web-1 web-2", // a watch cache has no pages
		pods + "?resourceVersion=1001&resourceVersionMatch=Exact":        "web-1",
		pods + "?resourceVersion=1001&limit=5":                           "web-1", // an old meaning of limit
		pods + "?resourceVersion=1001":                                   "db-1 web-1 web-2",
		pods + "?resourceVersion=1001&resourceVersionMatch=NotOlderThan": "db-1 web-1 web-2",
		pods + "?watch=false":                                            "db-1 web-1 web-2",
	} {
		if got := getList(t, s, path).names(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	code, _, body := get(t, s, "/api/v1/namespaces/a/pods/db-1")
	if code != http.StatusOK || strings.TrimSpace(body) != string(o.JSON()) || !strings.HasPrefix(body, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"db-1","namespace":"a","uid":"`) {
		t.Errorf("GET: %d %s", code, body)
	}
}

func TestCustomItemsTellTheirKind(t *testing.T) {
	s := newServer(t, apisim.Config{Resources: []apisim.Resource{{Group: "example.com", Versions: []string{"v1", "v1beta1"}, Name: "things", Kind: "Thing", Custom: true}}})
	if _, err := s.Apply("things.example.com", []byte(`{"metadata":{"name":"x"}}`)); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"v1", "v1beta1"} {
		l := getList(t, s, "/apis/example.com/"+v+"/things")
		if l.APIVersion != "example.com/"+v || l.Items[0].APIVersion != "example.com/"+v || l.Items[0].Kind != "Thing" {
			t.Errorf("%s: %+v", v, l)
		}
	}
}

func TestPagesShowOneVersion(t *testing.T) {
	for _, rv := range []string{"", "&resourceVersion=0"} {
		s := newServer(t, apisim.Config{NoWatchCache: true})
		for i := range 5 {
			put(t, s, fmt.Sprintf("a/p%d", i), "")
		}
		first := getList(t, s, pods+"?limit=2"+rv)
		if first.names() != "p0 p1" || first.Metadata.RemainingItemCount != 3 || first.Metadata.Continue == "" {
			t.Fatalf("%+v", first)
		}
		remove(t, s, "a/p2")
		put(t, s, "a/p3", "")
		put(t, s, "a/p9", "")
		second := getList(t, s, pods+"?limit=2&continue="+first.Metadata.Continue)
		if second.names() != "p2 p3" || second.Items[1].Metadata.ResourceVersion != "1004" || second.Metadata.ResourceVersion != first.Metadata.ResourceVersion {
			t.Fatalf("%+v", second)
		}
		last := getList(t, s, pods+"?limit=2&continue="+second.Metadata.Continue)
		if last.names() != "p4" || last.Metadata.Continue != "" || last.Metadata.RemainingItemCount != 0 {
			t.Fatalf("%+v", last)
		}
		if st := s.Stats("pods"); st.Lists != 1 || st.Pages != 2 {
			t.Errorf("%+v", st)
		}
	}
}

// TestObserverIsNotCounted: the requests of who looks on are answered, and are in no count.
func TestObserverIsNotCounted(t *testing.T) {
	s := newServer(t, apisim.Config{})
	stats := func() (st apisim.Stats) {
		t.Helper()
		code, _, body := get(t, s, apisim.PathStats)
		if err := json.Unmarshal([]byte(body), &st); code != http.StatusOK || err != nil {
			t.Fatalf("%d %s: %v", code, body, err)
		}
		return st
	}
	getList(t, s, pods)
	for _, agent := range []string{apisim.Observer, "k8s-watch"} {
		r := httptest.NewRequest(http.MethodGet, pods, nil)
		r.Header.Set("User-Agent", agent)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", agent, w.Code)
		}
	}
	if st := stats(); st.Lists != 2 || st.Watches != 0 {
		t.Errorf("%+v, want 2 lists", st)
	}
}

func TestExpiredTokenGoesOnInconsistently(t *testing.T) {
	s := newServer(t, apisim.Config{})
	for i := range 4 {
		put(t, s, fmt.Sprintf("a/p%d", i), "")
	}
	first := getList(t, s, pods+"?limit=2")
	remove(t, s, "a/p3")
	s.Compact()
	st := getStatus(t, s, pods+"?limit=2&continue="+first.Metadata.Continue)
	if st.Code != 410 || st.Reason != "Expired" || st.Metadata.Continue == "" {
		t.Fatalf("%+v", st)
	}
	rest := getList(t, s, pods+"?limit=2&continue="+st.Metadata.Continue)
	if rest.names() != "p2" || rest.Metadata.ResourceVersion != "1006" {
		t.Errorf("%+v", rest)
	}
}

// TestEveryVersionInTheWindow compares exact lists with what was true at each time.
func TestEveryVersionInTheWindow(t *testing.T) {
	const window = 40
	s := newServer(t, apisim.Config{Window: window})
	truth := map[uint64]string{}
	seen := func() { truth[s.Version()] = getList(t, s, pods).names() }
	for i := range 300 {
		path := fmt.Sprintf("a/p%02d", i*7%23)
		if i%3 == 2 {
			if _, err := s.Delete("pods", "a", path[2:]); err != nil {
				continue
			}
		} else {
			put(t, s, path, "")
		}
		seen()
	}
	old := 0
	for rv, want := range truth {
		code, _, body := get(t, s, fmt.Sprintf("%s?resourceVersion=%d&resourceVersionMatch=Exact", pods, rv))
		if rv+window < s.Version()-window/4 && code != 410 {
			t.Errorf("version %d of %d: %d, want 410", rv, s.Version(), code)
		}
		if code == 410 && rv+window >= s.Version() {
			t.Errorf("version %d of %d is in the window", rv, s.Version())
		}
		if code == 410 {
			old++
			continue
		}
		if got := getList(t, s, fmt.Sprintf("%s?resourceVersion=%d&resourceVersionMatch=Exact", pods, rv)).names(); got != want {
			t.Errorf("version %d: %q, want %q (%s)", rv, got, want, body)
		}
	}
	if old == 0 || old == len(truth) {
		t.Errorf("%d of %d versions are too old", old, len(truth))
	}
}

func TestVersionToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		put(t, s, "a/p", "")
		start := time.Now()
		st := getStatus(t, s, pods+"?resourceVersion=1002")
		if st.Code != 504 || st.Reason != "Timeout" || st.Details.RetryAfterSeconds != 1 || len(st.Details.Causes) != 1 || st.Details.Causes[0].Reason != "ResourceVersionTooLarge" || time.Since(start) != 3*time.Second {
			t.Errorf("%+v after %s", st, time.Since(start))
		}
		go func() {
			time.Sleep(2 * time.Second)
			put(t, s, "a/q", "")
		}()
		if l := getList(t, s, pods+"?resourceVersion=1002"); l.names() != "p q" {
			t.Errorf("%+v", l)
		}
		w := watch(t, s, pods+"?watch=1&resourceVersion=9999&resourceVersionMatch=NotOlderThan&sendInitialEvents=true")
		w.expect("ERROR 504", "EOF")
	})
}

func TestMistakes(t *testing.T) {
	s := newServer(t, apisim.Config{})
	put(t, s, "a/p", "")
	s.Compact()
	bad := func(q string) string { return pods + "?" + q }
	for _, tt := range []struct {
		s      *apisim.Server
		path   string
		code   int
		reason string
		text   string
	}{
		{s, bad("limit=x"), 400, "BadRequest", `strconv.ParseInt: parsing "x"`},
		{s, bad("timeoutSeconds=x&watch=1"), 400, "BadRequest", `strconv.ParseInt: parsing "x"`},
		{s, bad("resourceVersion=x"), 400, "BadRequest", "resourceVersion: Invalid value"},
		{s, bad("resourceVersion=-1"), 400, "BadRequest", "resourceVersion: Invalid value"},
		{s, bad("labelSelector=%21%21"), 400, "BadRequest", "unable to parse requirement: found '!'"},
		{s, bad("fieldSelector=a"), 400, "BadRequest", "invalid selector: 'a'"},
		{s, bad("fieldSelector=status.color%3Dred"), 400, "BadRequest", "field label not supported: status.color"},
		{s, bad("continue=x"), 400, "BadRequest", "not encoded as a token"},
		{s, bad("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0"), 400, "BadRequest", "not the content of a token"},
		{s, bad("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0&resourceVersion=5"), 400, "BadRequest", "not allowed when using continue"},
		{s, bad("resourceVersionMatch=Exact"), 422, "Invalid", "unless resourceVersion is provided"},
		{s, bad("resourceVersionMatch=Exact&resourceVersion=0"), 422, "Invalid", "forbidden for resourceVersion"},
		{s, bad("resourceVersionMatch=Newest&resourceVersion=5"), 422, "Invalid", "Unsupported value"},
		{s, bad("sendInitialEvents=true"), 422, "Invalid", "forbidden for list"},
		{s, bad("watch=1&sendInitialEvents=true"), 422, "Invalid", "requires setting resourceVersionMatch"},
		{s, bad("watch=1&resourceVersionMatch=NotOlderThan"), 422, "Invalid", "unless sendInitialEvents"},
		{s, bad("resourceVersion=1000&resourceVersionMatch=Exact"), 410, "Expired", "too old"},
		{s, bad("resourceVersion=5000&resourceVersionMatch=Exact"), 504, "Timeout", "Too large"},
		{s, "/api/v1/namespaces/a/pods/none", 404, "NotFound", "none"},
	} {
		if st := getStatus(t, tt.s, tt.path); st.Code != tt.code || st.Reason != tt.reason || !strings.Contains(st.Message, tt.text) {
			t.Errorf("%s: %+v, want %d %s with %q", tt.path, st, tt.code, tt.reason, tt.text)
		}
	}
	if st := getStatus(t, s, pods, "application/vnd.kubernetes.protobuf"); st.Code != 406 {
		t.Errorf("protobuf only: %+v", st)
	}
	for _, accept := range []string{"application/vnd.kubernetes.protobuf, application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "*/*", ""} {
		if code, _, _ := get(t, s, pods, accept); code != 200 {
			t.Errorf("%q: %d", accept, code)
		}
	}
	req, _ := http.NewRequest(http.MethodPost, "http://apisim"+pods, strings.NewReader("{}"))
	resp, err := pipetest.Direct(s).RoundTrip(req)
	if err != nil || resp.StatusCode != 405 {
		t.Errorf("POST: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
}
