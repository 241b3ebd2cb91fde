package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

var (
	pods       = watches.GVR{Version: "v1", Resource: "pods"}
	nodes      = watches.GVR{Version: "v1", Resource: "nodes"}
	namespaces = watches.GVR{Version: "v1", Resource: "namespaces"}
	gadgets    = watches.GVR{Group: "example.com", Version: "v1", Resource: "gadgets"}
)

func kind(r watches.GVR, name string, namespaced bool, short ...string) watches.Kind {
	return watches.Kind{Resource: collector.Resource{Group: r.Group, Version: r.Version, Name: r.Resource, Kind: name, Namespaced: namespaced}, ShortNames: short}
}

// cluster is what the tests read: kinds whose views they feed.
type cluster struct {
	mu      sync.Mutex
	served  *watches.Catalogue
	early   *watches.Catalogue // what Open knows while Served does not
	views   map[watches.GVR]*view.View
	fail    map[watches.GVR]error // what Open returns
	health  watches.Health
	slow    map[watches.GVR]chan struct{} // Open waits until it is closed
	listing chan struct{}                 // List waits until it is closed
	opened  []watches.GVR
	held    int
	packer  object.Packer
	rv      uint64
}

func newCluster() *cluster {
	c := &cluster{
		served: &watches.Catalogue{Groups: []collector.APIGroup{
			{Versions: []collector.APIVersion{{Name: "v1", Resources: []watches.Kind{kind(namespaces, "Namespace", false, "ns"), kind(nodes, "Node", false, "no"), kind(pods, "Pod", true, "po")}}}},
			{Name: "example.com", Versions: []collector.APIVersion{{Name: "v1", Resources: []watches.Kind{kind(gadgets, "Gadget", true)}}}},
		}},
		views: map[watches.GVR]*view.View{}, fail: map[watches.GVR]error{}, health: watches.Health{Heard: time.Now()}, rv: 100,
	}
	for _, r := range []watches.GVR{pods, nodes, namespaces, gadgets} {
		c.views[r] = view.New(view.Config{})
	}
	return c
}

func (c *cluster) Served() *watches.Catalogue { return c.served }

func (c *cluster) Open(ctx context.Context, r watches.GVR, wait watches.Wait) (*watches.Watch, error) {
	if slow := c.slow[r]; slow != nil {
		if err := wait.Begin(); err != nil {
			return nil, err
		}
		select {
		case <-slow:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, r)
	k, ok := c.served.Find(r)
	if c.early != nil {
		k, ok = c.early.Find(r)
	}
	switch {
	case c.fail[r] != nil:
		return nil, c.fail[r]
	case !ok:
		return nil, watches.ErrNotServed
	}
	c.held++
	return &watches.Watch{Kind: k, View: c.views[r], Health: func() watches.Health {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.health
	}, Close: sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held--
	})}, nil
}

func (c *cluster) List() []watches.Status {
	if c.listing != nil {
		<-c.listing
	}
	return []watches.Status{{Version: "v1", Resource: "pods", Error: `Get https://user:pass@10.0.0.1/: refused`}}
}

// obj builds an object as the collector would: packed. more is further members of the
// object, with a comma before them.
func (c *cluster) obj(r watches.GVR, ns, name string, labels map[string]string, more string) *object.Object {
	k, _ := c.served.Find(r)
	text, _ := json.Marshal(labels)
	place := ""
	if ns != "" {
		place = fmt.Sprintf(`,"namespace":%q`, ns)
	}
	raw := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"name":%q%s,"uid":"uid-%s-%s","resourceVersion":"%d","creationTimestamp":"2026-01-02T03:04:05Z","labels":%s}%s}`,
		k.Kind, k.GroupVersion(), name, place, ns, name, c.rv, text, more)
	m, err := object.Scan(raw)
	if err != nil {
		panic(err)
	}
	recipe := object.Recipe{Packer: &c.packer}
	o, err := recipe.Build(raw, &m, k.Kind, nil)
	if err != nil {
		panic(err)
	}
	return o
}

// sync makes a kind's first list.
func (c *cluster) sync(r watches.GVR, objects ...*object.Object) {
	var all []view.Difference
	for _, o := range objects {
		all = append(all, view.Difference{Now: o})
	}
	c.views[r].Replaced(all, c.rv, time.Now())
}

// put changes an object, which is added if it is not there, and returns its version.
func (c *cluster) put(r watches.GVR, ns, name string, labels map[string]string, more string) uint64 {
	c.rv++
	c.views[r].Changed(c.get(r, ns, name), c.obj(r, ns, name, labels, more), c.rv, time.Now())
	return c.rv
}

func (c *cluster) remove(r watches.GVR, ns, name string) uint64 {
	c.rv++
	c.views[r].Changed(c.get(r, ns, name), nil, c.rv, time.Now())
	return c.rv
}

func (c *cluster) get(r watches.GVR, ns, name string) *object.Object {
	s, err := c.views[r].Snapshot()
	if err != nil {
		panic(err)
	}
	o, _ := s.Get(view.Name{Namespace: ns, Name: name})
	return o
}

// guard lets everybody do what may says, and remembers what was asked.
type guard struct {
	mu    sync.Mutex
	asked []access.Attributes
	may   func(access.Attributes) error
	who   error
}

func (g *guard) Authenticate(*http.Request) (access.User, error) {
	return access.User{Name: "jane"}, g.who
}

func (g *guard) Authorize(_ context.Context, u access.User, a access.Attributes) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, a)
	if g.may == nil {
		return nil
	}
	if err := g.may(a); err != nil {
		return &access.ForbiddenError{User: u, Attributes: a, Reason: err.Error()}
	}
	return nil
}

type server struct {
	*cluster
	*guard
	http *httptest.Server
	h    *query.Handler
	reg  *prometheus.Registry
}

func start(t testing.TB, change ...func(*query.Config)) *server {
	t.Helper()
	cfg := query.Default()
	for _, c := range change {
		c(&cfg)
	}
	s := &server{cluster: newCluster(), guard: &guard{}, reg: prometheus.NewRegistry()}
	var err error
	s.h, err = query.New(cfg, query.Settings{Kinds: s.cluster, Guard: s.guard, Registry: s.reg, Version: func() string { return "v1.36.3" }})
	if err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(s.h)
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
		if s.held != 0 {
			t.Errorf("%d watches are held after the end", s.held)
		}
	})
	return s
}

type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (s *server) do(t testing.TB, method, path, body string, header ...string) answer {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, s.http.URL+path, strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp := must(s.http.Client().Do(r))
	defer resp.Body.Close()
	b := must(io.ReadAll(resp.Body))
	return answer{resp.StatusCode, resp.Header, b}
}

func (s *server) ask(t testing.TB, path string, header ...string) answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, "", header...)
}

type item struct {
	Kind, APIVersion string
	Metadata         metav1.ObjectMeta
	Columns          []metav1.TableColumnDefinition `json:"columnDefinitions"`
	Rows             []struct {
		Cells  []any
		Object json.RawMessage
	}
	Status          any
	Message, Reason string
	Code            int
}

type list struct {
	Kind, APIVersion string
	Metadata         metav1.ListMeta
	Items            []item
}

func decode[T any](t testing.TB, a answer) (v T) {
	t.Helper()
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// names are those of a list's items, in their order.
func (l list) names() string {
	var all []string
	for _, i := range l.Items {
		name := i.Metadata.Name
		if i.Metadata.Namespace != "" {
			name = i.Metadata.Namespace + "/" + name
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// failed is a Status with that code and that text in its message.
func (a answer) failed(t testing.TB, code int, message string) metav1.Status {
	t.Helper()
	st := decode[metav1.Status](t, a)
	if a.code != code || int(st.Code) != code || st.Kind != "Status" || st.APIVersion != "v1" || st.Status != "Failure" || !strings.Contains(st.Message, message) {
		t.Errorf("%d %s\nwant %d with %q", a.code, a.body, code, message)
	}
	return st
}

// event is a line of a watch.
type event struct {
	Type   string
	Object item
}

func (e event) String() string {
	return fmt.Sprintf("%s %s@%s", e.Type, e.Object.Metadata.Name, e.Object.Metadata.ResourceVersion)
}

// stream is an open watch.
type stream struct {
	t    testing.TB
	resp *http.Response
	d    *json.Decoder
	stop context.CancelFunc
}

func (s *server) watch(t testing.TB, path string, header ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+path, nil))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp := must(s.http.Client().Do(r))
	w := &stream{t, resp, json.NewDecoder(resp.Body), cancel}
	t.Cleanup(w.close)
	return w
}

func (w *stream) close() {
	w.stop()
	_ = w.resp.Body.Close()
}

func (w *stream) next() event {
	w.t.Helper()
	var e event
	if err := w.d.Decode(&e); err != nil {
		w.t.Fatalf("the watch ended: %v", err)
	}
	return e
}

// expect compares the next events, as String has them.
func (w *stream) expect(want ...string) {
	w.t.Helper()
	for _, text := range want {
		if got := w.next().String(); got != text {
			w.t.Fatalf("%s\nwant %s", got, text)
		}
	}
}

// ended expects a regular end.
func (w *stream) ended() {
	w.t.Helper()
	var e event
	if err := w.d.Decode(&e); !errors.Is(err, io.EOF) {
		w.t.Fatalf("%v, or another event: %v", err, e)
	}
}

func rv(v uint64) string { return strconv.FormatUint(v, 10) }

func (g *guard) lastAsked() access.Attributes {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.asked)[len(g.asked)-1]
}

type (
	cfg  = query.Config
	diff = view.Difference
)

// must is the value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
