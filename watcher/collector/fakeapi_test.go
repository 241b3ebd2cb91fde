package collector_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeAPI is an apiserver's list and watch over real sockets: one history of all
// kinds, lists in pages or as a stream, and faults.
type fakeAPI struct {
	t   testing.TB
	url string
	srv *httptest.Server

	mu       sync.Mutex
	rv       int
	oldest   int                          // watches from before it get a 410
	objects  map[string]map[string]string // plural → ns/name → object without kind
	history  []change
	changed  chan struct{} // closed and replaced at each change
	requests []string      // "LIST pods rv=…" in order
	urls     []string      // of the same
	kinds    map[string]string

	// fault, if set, may answer a request itself and then returns true. n counts the
	// watches of that plural from 1, streaming lists included.
	fault func(plural string, n int, w http.ResponseWriter, r *http.Request) bool
	count map[string]int
	page  int  // largest page of a LIST, 0: all
	mute  bool // changes are not for watches
	plain bool // refuses sendInitialEvents
}

type change struct {
	rv           int
	plural, kind string
	key, object  string
	fin          bool // not an event: all watches end here
}

func newFakeAPI(t testing.TB) *fakeAPI {
	f := &fakeAPI{
		t: t, rv: 100, objects: map[string]map[string]string{}, changed: make(chan struct{}), count: map[string]int{},
		kinds: map[string]string{"pods": "Pod", "nodes": "Node", "events": "Event", "secrets": "Secret", "deployments": "Deployment", "configmaps": "ConfigMap"},
	}
	f.srv = httptest.NewServer(f)
	f.url = f.srv.URL
	t.Cleanup(func() {
		f.srv.CloseClientConnections()
		f.srv.Close()
	})
	return f
}

func (f *fakeAPI) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// put writes an object; rest are more members of metadata and of the object, such as `"labels":{}` or `|"spec":{}`.
func (f *fakeAPI) put(plural, key, uid, rest string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	meta, body, _ := strings.Cut(rest, "|")
	ns, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		ns, name = "", key
	}
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	fields := []string{`"name":` + q(name)}
	if ns != "" {
		fields = append(fields, `"namespace":`+q(ns))
	}
	fields = append(fields, `"uid":`+q(uid), fmt.Sprintf(`"resourceVersion":"%d"`, f.rv))
	if meta != "" {
		fields = append(fields, meta)
	}
	object := `{"metadata":{` + strings.Join(fields, ",") + `}`
	if body != "" {
		object += "," + body
	}
	object += "}"
	if f.objects[plural] == nil {
		f.objects[plural] = map[string]string{}
	}
	kind := "MODIFIED"
	if _, known := f.objects[plural][key]; !known {
		kind = "ADDED"
	}
	f.objects[plural][key] = object
	f.record(change{rv: f.rv, plural: plural, kind: kind, key: key, object: object})
	return f.rv
}

func (f *fakeAPI) delete(plural, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	object := f.objects[plural][key]
	delete(f.objects[plural], key)
	at := strings.Index(object, `"resourceVersion":"`) + len(`"resourceVersion":"`)
	end := at + strings.IndexByte(object[at:], '"')
	object = object[:at] + strconv.Itoa(f.rv) + object[end:]
	f.record(change{rv: f.rv, plural: plural, kind: "DELETED", key: key, object: object})
}

// silently makes changes that no watch shows.
func (f *fakeAPI) silently(change func()) {
	f.mu.Lock()
	f.mute = true
	f.mu.Unlock()
	change()
	f.mu.Lock()
	f.mute = false
	f.mu.Unlock()
}

// record adds a change to the history.
func (f *fakeAPI) record(c change) {
	if f.mute {
		return
	}
	f.history = append(f.history, c)
	f.notify()
}

// restore puts the server back to a version at which there is nothing. All connections
// break, or all watches of pods end.
func (f *fakeAPI) restore(rv int, inOrder bool) {
	f.mu.Lock()
	f.rv, f.objects, f.history = rv, map[string]map[string]string{}, make([]change, len(f.history)) // of no kind
	f.mu.Unlock()
	if inOrder {
		f.disconnect("pods")
		return
	}
	f.srv.CloseClientConnections()
}

// send puts a raw frame on all open watches of plural.
func (f *fakeAPI) send(plural, frame string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = append(f.history, change{rv: f.rv, plural: plural, object: frame})
	f.notify()
}

// disconnect ends all open watches of plural normally.
func (f *fakeAPI) disconnect(plural string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = append(f.history, change{rv: f.rv, plural: plural, fin: true})
	f.notify()
}

// forget makes every version up to now too old.
func (f *fakeAPI) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	f.oldest = f.rv
}

func (f *fakeAPI) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func (f *fakeAPI) withKind(plural, object string) string {
	return `{"kind":"` + f.kinds[plural] + `","apiVersion":"v1",` + object[1:]
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	plural := path[len(path)-1]
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	verb := "LIST"
	if q.Get("watch") == "true" {
		verb = "WATCH"
		if q.Get("sendInitialEvents") == "true" {
			verb = "STREAM"
		}
	}
	f.mu.Lock()
	f.requests = append(f.requests, fmt.Sprintf("%s %s rv=%s", verb, plural, q.Get("resourceVersion")))
	f.urls = append(f.urls, r.URL.Path+"?"+q.Get("labelSelector"))
	n := 0
	if verb != "LIST" {
		f.count[plural]++
		n = f.count[plural]
	}
	fault := f.fault
	f.mu.Unlock()
	if fault != nil && fault(plural, n, w, r) {
		return
	}
	if verb == "LIST" {
		f.list(plural, w, r)
		return
	}
	if verb == "STREAM" && f.plain {
		fail(w, 422, "Invalid", "sendInitialEvents is forbidden")
		return
	}
	f.watch(plural, verb == "STREAM", w, r)
}

func fail(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprint(w, statusJSON(code, reason, message))
}

func statusJSON(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

func (f *fakeAPI) list(plural string, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	keys := sortedKeys(f.objects[plural])
	rv := f.rv
	var items []string
	for _, k := range keys {
		items = append(items, f.objects[plural][k])
	}
	f.mu.Unlock()
	if one, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name="); ok {
		namespace, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
		items = slices.DeleteFunc(items, func(o string) bool {
			return !strings.Contains(o, `"name":"`+one+`","namespace":"`+namespace+`"`)
		})
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	more := ""
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if f.page > 0 && limit > 0 {
		limit = min(limit, f.page)
	}
	if limit > 0 && len(items)-from > limit {
		items = items[:from+limit]
		more = strconv.Itoa(from + limit)
	}
	_, _ = fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":"%s"},"items":[%s]}`+"\n",
		f.kinds[plural], rv, more, strings.Join(items[from:], ","))
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (f *fakeAPI) watch(plural string, stream bool, w http.ResponseWriter, r *http.Request) {
	flush := w.(http.Flusher).Flush
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	f.mu.Lock()
	next := 0
	switch {
	case stream:
		for _, k := range sortedKeys(f.objects[plural]) {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", f.withKind(plural, f.objects[plural][k]))
		}
		_, _ = fmt.Fprint(w, bookmarkFrame(f.kinds[plural], f.rv, true))
		next = len(f.history)
	case from < f.oldest:
		f.mu.Unlock()
		fail(w, 410, "Expired", "too old resource version")
		return
	default:
		for next < len(f.history) && (f.history[next].rv <= from || f.history[next].fin || f.history[next].kind == "") {
			next++
		}
	}
	flush()
	for {
		changed := f.changed
		for ; next < len(f.history); next++ {
			c := f.history[next]
			switch {
			case c.plural != plural || !c.fin && c.kind != "" && c.rv <= from:
			case c.fin:
				f.mu.Unlock()
				return
			case c.kind == "":
				_, _ = fmt.Fprint(w, c.object)
			default:
				_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", c.kind, f.withKind(plural, c.object))
			}
		}
		f.mu.Unlock()
		flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		f.mu.Lock()
	}
}

func bookmarkFrame(kind string, rv int, end bool) string {
	annotations := ""
	if end {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"%s","apiVersion":"v1","metadata":{"resourceVersion":"%d","creationTimestamp":null%s}}}`+"\n", kind, rv, annotations)
}
