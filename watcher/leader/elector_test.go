package leader

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }

// server is an apiserver that knows one Lease, with optimistic concurrency.
type server struct {
	mu      sync.Mutex // guards what follows
	stored  *lease
	version int
	down    bool
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errors.New("connection refused")
	}
	var in lease
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
	}
	status := http.StatusOK
	switch {
	case r.Method == http.MethodPost && s.stored != nil,
		r.Method == http.MethodPut && in.Metadata["resourceVersion"] != s.stored.Metadata["resourceVersion"]:
		status = http.StatusConflict
	case r.Method == http.MethodGet && s.stored == nil:
		status = http.StatusNotFound
	case r.Method != http.MethodGet:
		s.version++
		in.Metadata["resourceVersion"] = strconv.Itoa(s.version)
		s.stored = &in
	}
	var b strings.Builder
	if s.stored != nil {
		_ = json.NewEncoder(&b).Encode(s.stored)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
}

func (s *server) cut(down bool) { s.mu.Lock(); s.down = down; s.mu.Unlock() }

// watch records who leads, and fails the test when two do.
type watch struct {
	t       *testing.T
	mu      sync.Mutex // guards what follows
	leading map[string]bool
	terms   []string
}

func (w *watch) lead(id string, after time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		w.mu.Lock()
		if len(w.leading) > 0 {
			w.t.Errorf("%s leads while %v does", id, w.leading)
		}
		w.leading[id] = true
		w.terms = append(w.terms, id)
		w.mu.Unlock()
		<-ctx.Done()
		time.Sleep(after) // the drain
		w.mu.Lock()
		delete(w.leading, id)
		w.mu.Unlock()
		return nil
	}
}

func (w *watch) count() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.terms) }

func elector(id string, rt http.RoundTripper) *Elector {
	c := Default()
	c.Namespace, c.Name, c.Identity = "ns", "k8s-watch", id
	return newElector(c, &http.Client{Transport: rt}, "http://api", slog.New(slog.DiscardHandler))
}

func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &server{}, &watch{t: t, leading: map[string]bool{}}
		a, b := elector("a", s), elector("b", s)
		actx, stopA := context.WithCancel(t.Context())
		bctx, stopB := context.WithCancel(t.Context())
		adone, bdone := make(chan error, 1), make(chan error, 1)
		go func() { adone <- a.Run(actx, w.lead("a", time.Second)) }()
		synctest.Wait()
		go func() { bdone <- b.Run(bctx, w.lead("b", time.Second)) }()
		time.Sleep(time.Minute)
		if w.count() != 1 || !a.Leading() || b.Leading() {
			t.Fatalf("terms %v", w.terms)
		}
		stopA()
		if err := <-adone; err != nil {
			t.Error(err)
		}
		given := time.Now()
		for !b.Leading() {
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(given); d > 4*time.Second {
			t.Errorf("the next leader began %s after the lease was given back", d)
		}
		stopB()
		if err := <-bdone; err != nil {
			t.Error(err)
		}
	})
}

// The leader is cut off from the apiserver: it stops before the other one begins.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &server{}, &watch{t: t, leading: map[string]bool{}}
		link := &link{next: s}
		a, b := elector("a", link), elector("b", s)
		ctx, cancel := context.WithCancel(t.Context())
		adone, bdone := make(chan error, 1), make(chan error, 1)
		go func() { adone <- a.Run(ctx, w.lead("a", 4*time.Second)) }()
		synctest.Wait()
		go func() { bdone <- b.Run(ctx, w.lead("b", 0)) }()
		time.Sleep(30 * time.Second)
		link.cut(true)
		began := time.Now()
		if err := <-adone; !errors.Is(err, ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		for !b.Leading() {
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("take-over after %s, want 20 s at most", d)
		}
		cancel()
		if err := <-bdone; err != nil {
			t.Error(err)
		}
	})
}

type link struct {
	server
	next http.RoundTripper
}

func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	if down {
		return nil, errors.New("no route to host")
	}
	return l.next.RoundTrip(r)
}

// A short outage of the apiserver ends no term.
func TestShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &server{}, &watch{t: t, leading: map[string]bool{}}
		a := elector("a", s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx, w.lead("a", 0)) }()
		for range 5 {
			time.Sleep(7 * time.Second)
			s.cut(true)
			time.Sleep(2 * time.Second)
			s.cut(false)
		}
		if !a.Leading() || w.count() != 1 {
			t.Errorf("leading %v, terms %v", a.Leading(), w.terms)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestLeadsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		err := elector("a", &server{}).Run(t.Context(), func(context.Context) error { return boom })
		if !errors.Is(err, boom) {
			t.Errorf("got %v, want the leader's own error", err)
		}
	})
}

func TestValidate(t *testing.T) {
	good := Default()
	good.Namespace, good.Name, good.Identity = "n", "l", "me"
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"no name":             func(c *Config) { c.Name = "" },
		"deadline too long":   func(c *Config) { c.RenewDeadline = c.LeaseDuration },
		"retry too long":      func(c *Config) { c.RetryPeriod = c.RenewDeadline },
		"lease of no seconds": func(c *Config) { c.LeaseDuration = time.Second },
	} {
		c := good
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The same with a real apiserver.
func TestRealLease(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	w := &watch{t: t, leading: map[string]bool{}}
	run := func(id string) (*Elector, func()) {
		c := Default()
		c.Namespace, c.Name, c.Identity = ns, "k8s-watch", id
		c.LeaseDuration, c.RenewDeadline, c.RetryPeriod = 3*time.Second, 2*time.Second, 200*time.Millisecond
		e, err := New(c, env.Config, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx, w.lead(id, 0)) }()
		return e, func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	until := func(e *Elector) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !e.Leading(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nobody leads")
			}
		}
	}
	a, stopA := run("a")
	until(a)
	b, stopB := run("b")
	stopA()
	until(b)
	stopB()
	if strings.Join(w.terms, " ") != "a b" {
		t.Errorf("terms %v", w.terms)
	}
}

// TestServerWithPath: an apiserver behind a gateway has a path of its own, which
// belongs before those of Leases.
func TestServerWithPath(t *testing.T) {
	for host, want := range map[string]string{
		"https://gateway.example/clusters/c1":  "https://gateway.example/clusters/c1/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
		"https://gateway.example/clusters/c1/": "https://gateway.example/clusters/c1/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
		"https://apiserver.example:6443":       "https://apiserver.example:6443/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
	} {
		var got string
		c := Default()
		c.Namespace, c.Name, c.Identity = "default", "l", "me"
		e, err := New(c, &rest.Config{Host: host, Transport: asked(func(r *http.Request) { got = r.URL.String() })}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if e.try(t.Context()); got != want {
			t.Errorf("%s: asks %s, want %s", host, got, want)
		}
	}
}

// asked is an apiserver out of order.
type asked func(*http.Request)

func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a(r)
	return nil, errors.New("out of order")
}
