package notify_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// received is one request that was accepted.
type received struct {
	id, typ, uid, name string
	version            uint64
	body               string
	at                 time.Time
}

// receiver is a real HTTP server that takes events, and answers as fault says.
type receiver struct {
	*httptest.Server
	t     testing.TB
	fault func(n int, r received, w http.ResponseWriter) bool // true: it has answered, and not accepted

	mu       sync.Mutex
	requests int
	got      []received
	flying   map[string]bool // uids
}

func newReceiver(t testing.TB, fault func(n int, r received, w http.ResponseWriter) bool) *receiver {
	r := &receiver{t: t, fault: fault, flying: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	var e struct {
		Type   string
		Object struct {
			Metadata struct{ Name, UID, ResourceVersion string }
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		r.t.Errorf("body %q: %v", body, err)
	}
	m := e.Object.Metadata
	version, _ := strconv.ParseUint(m.ResourceVersion, 10, 64)
	got := received{id: req.Header.Get("webhook-id"), typ: e.Type, uid: m.UID, name: m.Name, version: version, body: string(body), at: time.Now()}
	if want := m.UID + ":" + m.ResourceVersion + ":" + e.Type; got.id != want {
		r.t.Errorf("webhook-id %q, want %q", got.id, want)
	}
	r.mu.Lock()
	r.requests++
	n := r.requests
	if r.flying[m.UID] {
		r.t.Errorf("two deliveries of %s at once", m.Name)
	}
	r.flying[m.UID] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.flying, m.UID)
		r.mu.Unlock()
	}()
	if r.fault != nil && r.fault(n, got, w) {
		return
	}
	r.mu.Lock()
	r.got = append(r.got, got)
	delete(r.flying, m.UID) // the answer may be read before this returns
	r.mu.Unlock()
}

// all are the requests that were accepted, in order.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// show is "TYPE name version" of each, in order.
func (r *receiver) show() string {
	var lines []string
	for _, g := range r.all() {
		lines = append(lines, g.typ+" "+g.name+" "+strconv.FormatUint(g.version, 10))
	}
	return strings.Join(lines, "\n")
}

// expect waits for as many events as there are lines, and compares them.
func (r *receiver) expect(want ...string) {
	r.t.Helper()
	text := strings.Join(want, "\n")
	for deadline := time.Now().Add(time.Minute); len(r.all()) < len(want) && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	if got := r.show(); got != text {
		r.t.Fatalf("received:\n%s\nwant:\n%s", got, text)
	}
}

// newReceiverAt listens where another one was.
func newReceiverAt(t testing.TB, address string) *receiver {
	r := &receiver{t: t, flying: map[string]bool{}}
	l := must(net.Listen("tcp", address))
	r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
	r.Start()
	t.Cleanup(r.Close)
	return r
}
