package leader

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clustertest.Shared(m)) }

// server is an apiserver that knows one Lease, with optimistic concurrency.
type server struct {
	mu      sync.Mutex // guards what follows
	stored  *lease
	version int
	down    bool
	renewed map[string]time.Time // last successful write, by holder
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errors.New("connection refused")
	}
	var in lease
	if r.Body != nil && r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
	}
	status := http.StatusOK
	switch {
	case r.Method != http.MethodPost && s.stored == nil:
		status = http.StatusNotFound
	case r.Method == http.MethodPost && s.stored != nil,
		r.Method == http.MethodPut && in.Metadata["resourceVersion"] != s.stored.Metadata["resourceVersion"]:
		status = http.StatusConflict
	case r.Method != http.MethodGet:
		s.version++
		in.Metadata["resourceVersion"] = strconv.Itoa(s.version)
		s.stored = &in
		if s.renewed == nil {
			s.renewed = map[string]time.Time{}
		}
		s.renewed[in.Spec.HolderIdentity] = time.Now()
	}
	var b strings.Builder
	if s.stored != nil {
		answer := *s.stored
		answer.Kind = "Lease"
		_ = json.NewEncoder(&b).Encode(answer)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
}

func (s *server) cut(down bool) { s.mu.Lock(); s.down = down; s.mu.Unlock() }

func (*server) CloseIdleConnections()  {}
func (*freezer) CloseIdleConnections() {}

// renewedBy is when a holder last wrote the Lease.
func (s *server) renewedBy(id string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed[id]
}

func (s *server) spec() spec { s.mu.Lock(); defer s.mu.Unlock(); return s.stored.Spec }

// edit changes what is stored behind everybody's back; nil deletes it.
func (s *server) edit(change func(*lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if change == nil {
		s.stored = nil
		return
	}
	change(s.stored)
	s.version++
	s.stored.Metadata["resourceVersion"] = strconv.Itoa(s.version)
}

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

// runs has an elector take part until the function that it returns is called, which gives Run's error, or the test ends.
func runs(t *testing.T, e *Elector, lead func(context.Context) error) (end func() error, done chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done = make(chan error, 1)
	go func() { done <- e.Run(ctx, lead) }()
	t.Cleanup(cancel)
	return func() error { cancel(); return <-done }, done
}

// untilEnd leads until it is to end.
func untilEnd(ctx context.Context) error { <-ctx.Done(); return nil }

// lastWrite is that of the watcher's default settings.
const lastWrite = 10 * time.Second

func elector(id string, rt http.RoundTripper) *Elector {
	c := For(lastWrite)
	c.Namespace, c.Name, c.Identity = "ns", "k8s-watch", id
	return newElector(leases{cfg: c, client: &http.Client{Transport: rt}, base: "http://api"}, slog.New(slog.DiscardHandler))
}

// The leader is cut off from the apiserver, at any moment between two renewals: it stops
// at the deadline, and what it sent last is applied before the other one begins.
func TestPartition(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for at := time.Duration(0); at < 2*time.Second; at += 130 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				s, w := &server{}, &watch{t: t, leading: map[string]bool{}}
				link := &link{next: s, silent: silent}
				a, b := elector("a", link), elector("b", s)
				var stopped atomic.Pointer[time.Time]
				_, adone := runs(t, a, func(ctx context.Context) error {
					context.AfterFunc(ctx, func() { at := time.Now(); stopped.Store(&at) })
					return w.lead("a", lastWrite)(ctx)
				})
				synctest.Wait()
				endB, _ := runs(t, b, w.lead("b", 0))
				time.Sleep(30*time.Second + at)
				link.cut(true)
				began := time.Now()
				if err := <-adone; !errors.Is(err, ErrLost) {
					t.Errorf("got %v, want ErrLost", err)
				}
				if d := stopped.Load().Sub(s.renewedBy("a")); d > a.cfg.RenewDeadline {
					t.Errorf("cut %s after the 30 s: stopped %s after the last renewal, want %s", at, d, a.cfg.RenewDeadline)
				}
				for !b.Leading() {
					time.Sleep(100 * time.Millisecond)
				}
				if d := time.Since(began); d > 18*time.Second {
					t.Errorf("take-over after %s, want 18 s at most", d)
				}
				if err := endB(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// link is the way to the apiserver: where it is cut, requests are refused or, silent, never answered.
type link struct {
	server
	next   http.RoundTripper
	silent bool
}

func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	switch {
	case down && l.silent:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case down:
		return nil, errors.New("no route to host")
	}
	return l.next.RoundTrip(r)
}

// A leader that sees another holder stops at its next renewal.
func TestSeesAnotherHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := elector("a", s)
		cut := make(chan bool, 1)
		_, done := runs(t, a, func(ctx context.Context) error {
			<-ctx.Done()
			if a.Permit() == nil {
				t.Error("a write may leave beside another holder's")
			}
			cut <- lifecycle.EndedAtOnce(ctx)
			return nil
		})
		time.Sleep(31 * time.Second)
		s.edit(func(le *lease) { le.Spec.HolderIdentity = "b" })
		began := time.Now()
		if err := <-done; !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), `"b" holds it`) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d > a.cfg.RetryPeriod {
			t.Errorf("stopped after %s, want %s", d, a.cfg.RetryPeriod)
		}
		if !<-cut {
			t.Error("it was to drain")
		}
	})
}

// A leader that was frozen for longer than the lease may not write when it wakes, even
// if nothing of the elector has run yet.
func TestFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		thaw := make(chan struct{})
		freezer := &freezer{next: s, thaw: thaw}
		a, b := elector("a", freezer), elector("b", s)
		_, adone := runs(t, a, untilEnd)
		time.Sleep(time.Second)
		endB, _ := runs(t, b, untilEnd)
		time.Sleep(9 * time.Second)
		if err := a.Permit(); err != nil {
			t.Fatal(err)
		}
		freezer.frozen.Store(true)
		for b.Permit() != nil {
			if a.Permit() == nil && time.Since(s.renewedBy("a")) >= a.cfg.RenewDeadline {
				t.Fatal("it may write after the deadline")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if a.Permit() == nil || a.Refused() == 0 {
			t.Error("both may write")
		}
		close(thaw)
		if err := <-adone; !errors.Is(err, ErrLost) {
			t.Error(err)
		}
		_ = endB()
	})
}

// freezer stops the elector in the middle of a request, whatever its context says.
type freezer struct {
	next   http.RoundTripper
	frozen atomic.Bool
	thaw   chan struct{}
}

func (f *freezer) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.frozen.Load() {
		<-f.thaw
	}
	return f.next.RoundTrip(r)
}

// The time that the machine slept counts, though the runtime's clock knows nothing of it.
func TestSleepCounts(t *testing.T) {
	i := now()
	i.boot -= time.Hour
	if d := i.since(); d < time.Hour {
		t.Errorf("%s", d)
	}
}

// A Lease that was deleted is not free before it would have expired, and its holder makes it again.
func TestDeletedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &server{}, &watch{t: t, leading: map[string]bool{}}
		a, b := elector("a", s), elector("b", s)
		endA, _ := runs(t, a, w.lead("a", 0))
		synctest.Wait()
		endB, _ := runs(t, b, w.lead("b", 0))
		for range 20 {
			time.Sleep(3100 * time.Millisecond)
			s.edit(nil)
		}
		if w.count() != 1 || !a.Leading() {
			t.Errorf("terms %v", w.terms)
		}
		if err := errors.Join(endB(), endA()); err != nil {
			t.Error(err)
		}
	})
}

// A leader that drains for longer than its lease keeps it, and one that ends with
// requests of unknown outcome leaves it to expire when they have been applied.
func TestOrderlyEnd(t *testing.T) {
	for _, tc := range []struct{ drain, settling time.Duration }{{time.Second, 0}, {time.Minute, 0}, {0, 5 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s, w := &server{}, &watch{t: t, leading: map[string]bool{}}
			a, b := elector("a", s), elector("b", s)
			a.cfg.Settling = func() time.Duration { return tc.settling }
			endA, _ := runs(t, a, w.lead("a", tc.drain))
			synctest.Wait()
			taken := s.spec()
			endB, _ := runs(t, b, w.lead("b", 0))
			time.Sleep(30 * time.Second)
			if w.count() != 1 || !a.Leading() || b.Leading() {
				t.Fatalf("terms %v", w.terms)
			}
			kept := s.spec()
			if kept.RenewTime == taken.RenewTime || kept.AcquireTime != taken.AcquireTime || kept.LeaseTransitions != taken.LeaseTransitions {
				t.Errorf("taken as %+v, renewed as %+v", taken, kept)
			}
			if err := endA(); err != nil {
				t.Error(err)
			}
			ended := time.Now()
			for !b.Leading() {
				time.Sleep(100 * time.Millisecond)
			}
			if d := time.Since(ended); d < tc.settling || d > tc.settling+3*time.Second {
				t.Errorf("%+v: the next one leads after %s", tc, d)
			}
			if next := s.spec(); next.AcquireTime == taken.AcquireTime || next.LeaseTransitions != taken.LeaseTransitions+1 {
				t.Errorf("taken as %+v, by the next one as %+v", taken, next)
			}
			if err := endB(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One connection that dies costs no term: the next try has a new one. Other requests to
// the apiserver, such as watches, do not keep it in use.
func TestDeadConnection(t *testing.T) {
	s := &server{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := s.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	deadly := &deadly{Listener: srv.Listener}
	srv.Listener, srv.EnableHTTP2 = deadly, true
	srv.StartTLS()
	defer srv.Close()
	defer deadly.kill()
	c := For(0)
	c.Namespace, c.Name, c.Identity = "ns", "k8s-watch", "a"
	c.RenewDeadline, c.RetryPeriod, c.RequestTimeout = 3*time.Second, 500*time.Millisecond, 500*time.Millisecond
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	e, err := New(c, &rest.Config{Host: srv.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	end, done := runs(t, e, untilEnd)
	time.Sleep(time.Second)
	if !e.Leading() {
		t.Fatal("it does not lead")
	}
	deadly.silence()
	select {
	case err := <-done:
		t.Fatalf("the term ended: %v", err)
	case <-time.After(4 * time.Second):
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// deadly is a listener whose connections can fall silent for good.
type deadly struct {
	net.Listener
	mu    sync.Mutex // guards conns
	conns []*mute
}

type mute struct {
	net.Conn
	silent atomic.Bool
	ended  chan struct{}
}

func (d *deadly) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	m := &mute{Conn: c, ended: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = append(d.conns, m)
	return m, nil
}

// silence is for the connections that there are.
func (d *deadly) silence() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.silent.Store(true)
	}
}

func (d *deadly) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		close(c.ended)
		_ = c.Close()
	}
}

func (m *mute) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.silent.Load() {
		<-m.ended
		return 0, net.ErrClosed
	}
	return n, err
}

// forbidden refuses whatever is asked of the Lease, as where the rights to it are missing.
type forbidden struct {
	server
	open atomic.Bool
}

func (m *forbidden) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.open.Load() {
		return m.server.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no right")), Request: r}, nil
}

// A candidate that cannot ask for the Lease could never follow: it says so, in the log once a minute.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, w := &forbidden{}, &watch{t: t, leading: map[string]bool{}}
		var said strings.Builder
		a := elector("a", api)
		a.log = slog.New(slog.NewTextHandler(&said, nil))
		end, _ := runs(t, a, w.lead("a", 0))
		if err := a.Trouble(); err == nil {
			t.Error("no trouble before the first answer")
		}
		time.Sleep(a.cfg.LeaseDuration / 2)
		if err := a.Trouble(); err == nil || !strings.Contains(err.Error(), "no right") {
			t.Errorf("never answered: %v", err)
		}
		time.Sleep(3 * time.Minute)
		if err := a.Trouble(); err == nil || !strings.Contains(err.Error(), "no right") {
			t.Errorf("after 3 minutes: %v", err)
		}
		if n := strings.Count(said.String(), "no right"); n < 3 || n > 4 {
			t.Errorf("%d lines in 3 minutes", n)
		}
		api.open.Store(true)
		time.Sleep(10 * time.Second)
		if err := a.Trouble(); err != nil || !a.Leading() {
			t.Errorf("with the right: leading %v, %v", a.Leading(), err)
		}
		if err := end(); err != nil {
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

// The same with a real apiserver.
func TestRealLease(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	w := &watch{t: t, leading: map[string]bool{}}
	run := func(id string) (*Elector, func()) {
		c := For(0)
		c.Namespace, c.Name, c.Identity = ns, "k8s-watch", id
		c.LeaseDuration, c.RenewDeadline, c.RetryPeriod, c.RequestTimeout = 3*time.Second, 2*time.Second, 200*time.Millisecond, 900*time.Millisecond
		e, err := New(c, env.Config, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		end, _ := runs(t, e, w.lead(id, 0))
		return e, func() {
			if err := end(); err != nil {
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

// TestGatewayIsNoLease: what answers every request with 200 and some JSON makes nobody the leader.
func TestGatewayIsNoLease(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"code":401,"message":"log in"}`))
	}))
	defer gateway.Close()
	c := For(time.Second)
	c.Namespace, c.Name, c.Identity = "ns", "lease", "me"
	e, err := New(c, &rest.Config{Host: gateway.URL}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err = e.Run(ctx, func(context.Context) error {
		t.Error("it leads")
		return nil
	})
	if err != nil || e.Trouble() == nil {
		t.Errorf("Run: %v, trouble: %v", err, e.Trouble())
	}
}
