package relation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

var update = flag.Bool("update", false, "write the golden files")

// shop is a small application.
func shop(t testing.TB) *cluster {
	c := newCluster()
	const revision = "apps/v1/ReplicaSet web-7d4b9c 5a1e9a53-62a2-4e0c-a0d8-0d1c62f9e2f3"
	c.put(t, plain("v1/Node", "node-17", "e1d1c9f0-0b62-4c5d-9b0c-7a3f1f0a2b11"))
	c.put(t, plain("v1/ConfigMap", "shop/web", "7f7d2f63-54a4-4e0b-8f57-1d6f3ad6c0de"))
	c.put(t, plain("v1/ServiceAccount", "shop/default", "b6b0d1c7-3f0e-4b5a-9a38-0c8f5e4d3a21"))
	c.put(t, plain("apps/v1/Deployment", "shop/web", "0b6f4c0e-8c0c-4f0b-9d7e-2f1f0a5f7c11"))
	c.put(t, owned("apps/v1/ReplicaSet", "shop/web-7d4b9c", strings.Fields(revision)[2], "apps/v1/Deployment web 0b6f4c0e-8c0c-4f0b-9d7e-2f1f0a5f7c11"))
	pod := owned("v1/Pod", "shop/web-7d4b9c-x2x4z", "9c1c5b0e-53f4-4a39-8f2c-6f1d2e3a4b5c", revision)
	c.put(t, strings.TrimSuffix(pod, "}")+`,"spec":{"nodeName":"node-17","serviceAccountName":"default","containers":[{"name":"web","envFrom":[{"configMapRef":{"name":"web"}},{"secretRef":{"name":"web-password"}}]}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"web-cache"}}]}}`)
	return c
}

// TestExample is the example of docs/relations.md.
func TestExample(t *testing.T) {
	r := relations(t, shop(t), &guard{}, nil)
	response := httptest.NewRecorder()
	r.ServeHTTP(response, httptest.NewRequest(http.MethodGet, relation.Path+"?gvk=apps/v1/Deployment&namespace=shop&name=web", nil))
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, response.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/example.json"
	if *update {
		if err := os.WriteFile(golden, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if pretty.String() != string(want) {
		t.Errorf("%s differs; -update writes it:\n%s", golden, pretty.String())
	}
	docs, err := os.ReadFile("../../docs/relations.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(docs, want) {
		t.Errorf("docs/relations.md does not have %s as it is", golden)
	}
}

// TestDocs: all parameters, types and reasons are explained.
func TestDocs(t *testing.T) {
	docs, err := os.ReadFile("../../docs/relations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range relation.Words() {
		if !bytes.Contains(docs, []byte("`"+word+"`")) {
			t.Errorf("docs/relations.md does not explain %s", word)
		}
	}
}

// TestStatus: refusals are a Status in the apiserver's words, over a real connection.
func TestStatus(t *testing.T) {
	const start = "?gvk=apps/v1/Deployment&namespace=shop&name=web"
	deployments := watches.GVR{Group: "apps", Version: "v1", Resource: "deployments"}
	tests := []struct {
		name, query string
		change      func(*cluster, *guard)
		code        int
		reason      metav1.StatusReason
		message     string
	}{
		{"no kind", "?name=a", nil, 400, "BadRequest", `gvk: "": want version/Kind or group/version/Kind, such as v1/Pod or apps/v1/Deployment`},
		{"a kind alone", "?gvk=Pod&name=a", nil, 400, "BadRequest", `gvk: "Pod": want version/Kind or group/version/Kind, such as v1/Pod or apps/v1/Deployment`},
		{"no name", "?gvk=v1/Pod&namespace=shop", nil, 400, "BadRequest", `name: want the name of one object`},
		{"no namespace", "?gvk=v1/Pod&name=a", nil, 400, "BadRequest", `namespace: want one: v1/Pod is namespaced`},
		{"a namespace too many", "?gvk=v1/Node&namespace=shop&name=a", nil, 400, "BadRequest", `namespace: leave it out: v1/Node is in no namespace`},
		{"depth 0", start + "&depth=0", nil, 400, "BadRequest", `depth: "0": want 1 to 10`},
		{"depth 11", start + "&depth=11", nil, 400, "BadRequest", `depth: "11": want 1 to 10`},
		{"depth -1", start + "&depth=-1", nil, 400, "BadRequest", `depth: "-1": want 1 to 10`},
		{"depth of words", start + "&depth=two", nil, 400, "BadRequest", `depth: "two": want 1 to 10`},
		{"direction", start + "&direction=left", nil, 400, "BadRequest", `direction: "left": want down, up or both`},
		{"unknown parameter", start + "&dept=2", nil, 400, "BadRequest", `"dept": no such parameter; there are gvk, namespace, name, depth, direction`},
		{"twice", start + "&name=b", nil, 400, "BadRequest", `name: stands 2 times; want one`},
		{"bad escape", start + "&depth=%zz", nil, 400, "BadRequest", `query: want name=value pairs joined by &, with %-escapes of two digits`},
		{"no such object", "?gvk=apps/v1/Deployment&namespace=shop&name=none", nil, 404, "NotFound", `deployments.apps "none" not found`},
		{"no such kind", "?gvk=v1/Unknown&name=a", nil, 404, "NotFound", `the server could not find the requested resource: the cluster serves no kind "v1/Unknown"`},
		{"a plural", "?gvk=v1/pods&name=a", nil, 404, "NotFound", `the server could not find the requested resource: the cluster serves no kind "v1/pods"; want v1/Pod`},
		{
			"a plural, of whom discovery refuses", "?gvk=v1/pods&name=a", func(_ *cluster, g *guard) {
				g.refuse = func(access.Attributes) error { return &access.ForbiddenError{} }
			},
			404, "NotFound", `the server could not find the requested resource`,
		},
		{
			"a kind that is withheld", "?gvk=v1/Lease&name=a", func(c *cluster, _ *guard) {
				c.catalogue.Withheld = []watches.Kind{{Resource: collector.Resource{Version: "v1", Name: "leases", Kind: "Lease"}}}
			},
			403, "Forbidden", `Lease "a" is forbidden: the configuration withholds it`,
		},
		{
			"nothing is known yet", start, func(c *cluster, _ *guard) { c.catalogue = &watches.Catalogue{} },
			503, "ServiceUnavailable", `what the cluster serves is not known yet`,
		},
		{"who are you", start, func(_ *cluster, g *guard) { g.user = &access.UnauthorizedError{Reason: "no token"} }, 401, "Unauthorized", `Unauthorized`},
		{
			"not allowed", start, func(_ *cluster, g *guard) {
				g.refuse = func(access.Attributes) error { return &access.ForbiddenError{} }
			},
			403, "Forbidden", `deployments.apps "web" is forbidden: User "ann" cannot get resource "deployments" in API group "apps" in the namespace "shop"`,
		},
		{
			"nobody knows", start, func(_ *cluster, g *guard) {
				g.refuse = func(access.Attributes) error { return &access.UnavailableError{Err: errors.New("dial 10.0.0.1")} }
			},
			503, "ServiceUnavailable", `access cannot be decided now`,
		},
		{
			"too many ask", start, func(_ *cluster, g *guard) {
				g.refuse = func(access.Attributes) error { return &access.UnavailableError{Err: access.ErrBusy} }
			},
			429, "TooManyRequests", `too many requests wait for the apiserver to review them`,
		},
		{
			"withheld", start, func(c *cluster, _ *guard) { c.refuse[deployments] = watches.ErrDenied },
			403, "Forbidden", `deployments.apps "web" is forbidden: the configuration withholds it`,
		},
		{
			"not followed", start, func(c *cluster, _ *guard) { c.refuse[deployments] = watches.ErrNotFollowed },
			403, "Forbidden", `deployments.apps "web" is forbidden: it is not followed, and the configuration does not allow a query to start a watch`,
		},
		{
			"not synced", start, func(c *cluster, _ *guard) {
				c.refuse[deployments] = &watches.UnsyncedError{Waited: 50543081 * time.Nanosecond, Err: errors.New("dial 10.0.0.1")}
			},
			503, "ServiceUnavailable", `deployments.apps is not synced: the first list was not complete after 51ms; GET /v1/watches says why`,
		},
		{"not synced, by the view", start, func(c *cluster, _ *guard) { c.views[deployments] = view.New(view.Config{}) }, 503, "ServiceUnavailable", `deployments.apps is not synced: the first list was not complete after …`},
		{
			"no more watches", start, func(c *cluster, _ *guard) { c.refuse[deployments] = &watches.LimitError{Limit: "maxWatches", Most: 3} },
			503, "ServiceUnavailable", `maxWatches is 3, and as much is in use`,
		},
		{"something else", start, func(c *cluster, _ *guard) { c.refuse[deployments] = errors.New("dial 10.0.0.1") }, 500, "InternalError", `Internal error occurred: the query was not answered`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, g := shop(t), &guard{}
			if tt.change != nil {
				tt.change(c, g)
			}
			server := httptest.NewServer(relations(t, c, g, nil))
			defer server.Close()
			response, err := server.Client().Get(server.URL + tt.query)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			var s metav1.Status
			if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tt.code || int(s.Code) != tt.code || s.Reason != tt.reason || s.Kind != "Status" || s.APIVersion != "v1" || s.Status != "Failure" {
				t.Errorf("%d: %+v", response.StatusCode, s)
			}
			if s.Message != tt.message && (!strings.HasSuffix(tt.message, "…") || !strings.HasPrefix(s.Message, strings.TrimSuffix(tt.message, "…"))) {
				t.Errorf("%s\nwant\n%s", s.Message, tt.message)
			}
			if got := response.Header.Get("Retry-After"); (got != "") != (tt.code == 503 || tt.code == 429) {
				t.Errorf("Retry-After: %q", got)
			}
			if got := response.Header.Get("WWW-Authenticate"); (got != "") != (tt.code == 401) {
				t.Errorf("WWW-Authenticate: %q", got)
			}
			if c.held != 0 {
				t.Errorf("%d watches are still held", c.held)
			}
		})
	}
}

// TestMethods: what is not a reading is refused.
func TestMethods(t *testing.T) {
	server := httptest.NewServer(relations(t, shop(t), &guard{}, nil))
	defer server.Close()
	for method, code := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "DELETE": 405} {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"?gvk=apps/v1/Deployment&namespace=shop&name=web", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if code == 405 && !strings.Contains(string(body), "use GET") {
			t.Errorf("%s: %s", method, body)
		}
		if response.StatusCode != code || (response.Header.Get("Allow") != "") != (code == 405) || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", method, response.StatusCode, response.Header)
		}
	}
}

// TestMostQueries: of one user's queries few are answered at a time, the others wait for a seat,
// and those that wait for too long are refused.
func TestMostQueries(t *testing.T) {
	const start = relation.Path + "?gvk=apps/v1/Deployment&namespace=shop&name=web"
	const all = 40
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		reached := 0
		r, err := relation.New(relation.Default(), relation.Settings{Kinds: shop(t), Guard: &guard{refuse: func(access.Attributes) error {
			reached++
			<-leave
			return &access.ForbiddenError{}
		}}, Seats: access.NewSeats(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		codes := map[int]int{}
		ask := func() {
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, start, nil))
			if codes[w.Code]++; w.Code == http.StatusTooManyRequests && (w.Header().Get("Retry-After") == "" || w.Header().Get("Connection") != "close") {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		}
		for range all {
			go ask()
		}
		synctest.Wait()
		begun := reached
		if begun == 0 || begun == all {
			t.Errorf("%d of %d queries are answered at a time, want some", begun, all)
		}
		time.Sleep(time.Minute)
		close(leave)
		synctest.Wait()
		ask()
		if codes[http.StatusTooManyRequests] != all-begun || codes[http.StatusForbidden] != begun+1 {
			t.Errorf("%v, want %d refused", codes, all-begun)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"", "gvk=v1/Pod&namespace=a&name=b", "gvk=apps/v1/Deployment&name=b&depth=10&direction=both", "gvk=/v1/Pod&name=x", "depth=%zz", "a;b", "gvk=a/b/c/d&name=x", "depth=99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := relation.ParseQuery(raw)
		if err != nil {
			var input *relation.InputError
			if !errors.As(err, &input) {
				t.Errorf("%T", err)
			}
			return
		}
		if q.Depth < 1 || q.Depth > relation.MaxDepth || q.Name == "" || q.Kind == "" || q.Version == "" || fmt.Sprint(q.Direction) == "" {
			t.Errorf("%q: %+v", raw, q)
		}
	})
}
