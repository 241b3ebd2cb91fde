package watches_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/watches"
)

// cluster is an apiserver's discovery, list and watch. It serves over real sockets, or
// by calls for tests in virtual time.
type cluster struct {
	t testing.TB

	mu           sync.Mutex
	rv           int
	served       map[watches.GVR]collector.APIResource
	namesNothing bool                         // discovery does
	stale        map[string]bool              // group/versions of which discovery knows nothing now
	objects      map[string]map[string]string // plural.group → namespace/name → metadata and rest
	history      []event
	changed      chan struct{} // closed and replaced at each change
	requests     []string      // "LIST v1/pods" in order
	fault        func(verb string, r watches.GVR, w http.ResponseWriter, req *http.Request) bool
}

type event struct {
	rv              int
	of, typ, object string
	unserved        watches.GVR // instead: watches of it that are open end
}

var (
	podsGVR    = watches.GVR{Version: "v1", Resource: "pods"}
	nodesGVR   = watches.GVR{Version: "v1", Resource: "nodes"}
	secretsGVR = watches.GVR{Version: "v1", Resource: "secrets"}
	deployGVR  = watches.GVR{Group: "apps", Version: "v1", Resource: "deployments"}
	crdGVR     = watches.GVR{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t, rv: 100, served: map[watches.GVR]collector.APIResource{}, stale: map[string]bool{}, objects: map[string]map[string]string{}, changed: make(chan struct{})}
	c.serve(podsGVR, "Pod", true)
	c.serve(nodesGVR, "Node", false)
	c.serve(secretsGVR, "Secret", true)
	c.serve(deployGVR, "Deployment", true)
	c.serve(crdGVR, "CustomResourceDefinition", false)
	c.serve(watches.GVR{Version: "v1", Resource: "bindings"}, "Binding", true, "create")
	return c
}

// listen serves over sockets.
func (c *cluster) listen() *rest.Config {
	srv := httptest.NewServer(c)
	c.t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return &rest.Config{Host: srv.URL}
}

// RoundTrip makes a call of a request. It is for virtual time, which sockets stop.
func (c *cluster) RoundTrip(req *http.Request) (*http.Response, error) {
	r, w := io.Pipe()
	a := &answer{pipe: w, header: http.Header{}, begun: make(chan struct{})}
	go func() {
		c.ServeHTTP(a, req)
		a.WriteHeader(http.StatusOK)
		_ = w.Close()
	}()
	select {
	case <-a.begun:
	case <-req.Context().Done():
		_ = r.Close()
		return nil, req.Context().Err()
	}
	go func() {
		<-req.Context().Done()
		_ = r.CloseWithError(req.Context().Err())
	}()
	return &http.Response{StatusCode: a.code, Status: http.StatusText(a.code), Header: a.header, Body: r, Request: req, ProtoMajor: 1}, nil
}

// CloseIdleConnections does nothing: there are none.
func (c *cluster) CloseIdleConnections() {}

func (c *cluster) inMemory() *rest.Config {
	return &rest.Config{Host: "http://cluster.example", Transport: c}
}

type answer struct {
	pipe   *io.PipeWriter
	header http.Header
	code   int
	once   sync.Once
	begun  chan struct{}
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) Flush()              { a.WriteHeader(http.StatusOK) }
func (a *answer) WriteHeader(code int) {
	a.once.Do(func() { a.code = code; close(a.begun) })
}
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.pipe.Write(p)
}

func (c *cluster) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// serve has discovery name a resource, with the verbs that make it readable unless others are given.
func (c *cluster) serve(r watches.GVR, kind string, namespaced bool, verbs ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(verbs) == 0 {
		verbs = []string{"get", "list", "watch"}
	}
	c.served[r] = collector.APIResource{
		Resource: collector.Resource{Group: r.Group, Version: r.Version, Name: r.Resource, Kind: kind, Namespaced: namespaced},
		Singular: strings.ToLower(kind), ShortNames: []string{r.Resource[:2]}, Categories: []string{"all"}, Verbs: verbs,
	}
}

func (c *cluster) unserve(r watches.GVR) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.served, r)
	c.history = append(c.history, event{rv: c.rv, unserved: r})
	c.notify()
}

// interrupt ends the open watches of a resource.
func (c *cluster) interrupt(r watches.GVR) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, event{rv: c.rv, unserved: r})
	c.notify()
}

func key(r watches.GVR) string { return r.Resource + "." + r.Group }

// put writes an object; body are members beside metadata.
func (c *cluster) put(r watches.GVR, name, uid, body string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rv++
	typ := "MODIFIED"
	of := key(r)
	if c.objects[of] == nil {
		c.objects[of] = map[string]string{}
	}
	if c.objects[of][name] == "" {
		typ = "ADDED"
	}
	ns, short, namespaced := strings.Cut(name, "/")
	meta := fmt.Sprintf(`"name":%q`, name)
	if namespaced {
		meta = fmt.Sprintf(`"name":%q,"namespace":%q`, short, ns)
	}
	object := fmt.Sprintf(`"metadata":{%s,"uid":%q,"resourceVersion":"%d","managedFields":[{"manager":"x"}]}`, meta, uid, c.rv)
	if body != "" {
		object += "," + body
	}
	c.objects[of][name] = object
	c.history = append(c.history, event{rv: c.rv, of: of, typ: typ, object: object})
	c.notify()
	return c.rv
}

func (c *cluster) remove(r watches.GVR, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rv++
	object := c.objects[key(r)][name]
	delete(c.objects[key(r)], name)
	at := strings.Index(object, `"resourceVersion":"`) + len(`"resourceVersion":"`)
	object = object[:at] + strconv.Itoa(c.rv) + object[at+strings.IndexByte(object[at:], '"'):]
	c.history = append(c.history, event{rv: c.rv, of: key(r), typ: "DELETED", object: object})
	c.notify()
}

// define serves versions of things.x.io.
func (c *cluster) define(namespaced bool, versions ...string) {
	for _, v := range versions {
		c.serve(things(v), "Thing", namespaced)
	}
}

// undefine ends that.
func (c *cluster) undefine(versions ...string) {
	for _, v := range versions {
		c.unserve(things(v))
	}
}

// count is how many requests began with prefix.
func (c *cluster) count(prefix string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

// lists is how many lists of a resource there were, in either form.
func (c *cluster) lists(r watches.GVR) int {
	return c.count("LIST "+r.String()) + c.count("STREAM "+r.String())
}

func (c *cluster) setFault(f func(verb string, r watches.GVR, w http.ResponseWriter, req *http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused: %s","reason":%q,"code":%d}`, reason, reason, code)
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	q := req.URL.Query()
	if len(path) == 1 {
		c.mu.Lock()
		fault := c.fault
		c.mu.Unlock()
		if fault == nil || !fault("DISCOVER", watches.GVR{}, w, req) {
			c.discover(path[0], w)
		}
		return
	}
	r := watches.GVR{Version: path[1], Resource: path[len(path)-1]}
	if path[0] == "apis" {
		r = watches.GVR{Group: path[1], Version: path[2], Resource: path[len(path)-1]}
	}
	verb := "LIST"
	if strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		verb = "CHECK" // compares what is cached
	}
	if q.Get("watch") == "true" {
		verb = "WATCH"
		if q.Get("sendInitialEvents") == "true" {
			verb = "STREAM"
		}
	}
	c.mu.Lock()
	c.requests = append(c.requests, verb+" "+r.String())
	fault, kind := c.fault, c.served[r].Kind
	c.mu.Unlock()
	switch {
	case fault != nil && fault(verb, r, w, req):
	case kind == "":
		refuse(w, 404, "NotFound")
	case verb == "LIST", verb == "CHECK":
		c.mu.Lock()
		items := slices.Collect(maps.Values(c.objects[key(r)]))
		rv := c.rv
		c.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[`, kind, rv)
		for i, o := range items {
			_, _ = io.WriteString(w, strings.Repeat(",", min(i, 1))+"{"+o+"}")
		}
		_, _ = io.WriteString(w, "]}")
	default:
		c.watch(r, kind, verb == "STREAM", w, req)
	}
}

func (c *cluster) watch(r watches.GVR, kind string, stream bool, w http.ResponseWriter, req *http.Request) {
	gv := strings.TrimSuffix(r.String(), "/"+r.Resource)
	typed := func(typ, object string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"kind":%q,"apiVersion":%q,%s}}`+"\n", typ, kind, gv, object)
	}
	from, _ := strconv.Atoi(req.URL.Query().Get("resourceVersion"))
	ctx := req.Context()
	if seconds, err := strconv.Atoi(req.URL.Query().Get("timeoutSeconds")); err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	c.mu.Lock()
	next := 0
	var out strings.Builder
	if stream {
		for _, o := range c.objects[key(r)] {
			out.WriteString(typed("ADDED", o))
		}
		out.WriteString(typed("BOOKMARK", fmt.Sprintf(`"metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}`, c.rv)))
		next = len(c.history)
	}
	for next < len(c.history) && c.history[next].rv <= from {
		next++
	}
	for {
		changed, over := c.changed, false
		for ; next < len(c.history) && !over; next++ {
			switch e := c.history[next]; {
			case e.unserved == r:
				over = true
			case e.of == key(r):
				out.WriteString(typed(e.typ, e.object))
			}
		}
		c.mu.Unlock()
		if _, err := io.WriteString(w, out.String()); err != nil || over {
			return
		}
		out.Reset()
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
	}
}

// discover answers in the aggregated form.
func (c *cluster) discover(root string, w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	type m = map[string]any
	groups := map[string]map[string][]m{}
	for r, is := range c.served {
		if (r.Group == "") != (root == "api") || c.namesNothing {
			continue
		}
		if groups[r.Group] == nil {
			groups[r.Group] = map[string][]m{}
		}
		scope := "Cluster"
		if is.Namespaced {
			scope = "Namespaced"
		}
		groups[r.Group][r.Version] = append(groups[r.Group][r.Version], m{
			"resource": r.Resource, "responseKind": m{"kind": is.Kind}, "scope": scope, "singularResource": is.Singular,
			"shortNames": is.ShortNames, "categories": is.Categories, "verbs": is.Verbs,
		})
	}
	items := []m{}
	for name, versions := range groups {
		var all []m
		for _, v := range slices.Backward(slices.Sorted(maps.Keys(versions))) {
			one := m{"version": v, "freshness": "Current", "resources": versions[v]}
			if c.stale[name+"/"+v] {
				one = m{"version": v, "freshness": "Stale"}
			}
			all = append(all, one)
		}
		items = append(items, m{"metadata": m{"name": name}, "versions": all})
	}
	_ = json.NewEncoder(w).Encode(m{"kind": "APIGroupDiscoveryList", "items": items})
}
