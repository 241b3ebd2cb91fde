package leader

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/call"
)

// ErrLost ends Run when the Lease could not be renewed in time, or is another's.
var ErrLost = errors.New("the leader's lease was lost")

// ErrNotLeading is Permit's refusal.
var ErrNotLeading = errors.New("this replica does not lead")

// Config of an election. The package's doc has the arithmetic of its times.
type Config struct {
	Namespace, Name string
	Identity        string // unique per process
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration // from the start of one renewal to that of the next
	RequestTimeout  time.Duration // of each request to the apiserver
	// LastWrite is how long after the leader sent it a write may still be applied.
	LastWrite time.Duration
	// Settling is asked when the leader has ended: for how long what it sent last may
	// still be applied. nil: not at all.
	Settling func() time.Duration
	// Shared is for a Lease that all replicas of this Identity hold together: each renews it, and none gives it back.
	Shared bool
}

// margin covers clocks of different rates, and the time from Permit to the write.
const margin = time.Second

// For returns the times for leaders whose writes may be applied up to lastWrite after they were sent.
func For(lastWrite time.Duration) Config {
	c := Config{RenewDeadline: 5 * time.Second, RetryPeriod: 2 * time.Second, RequestTimeout: 1500 * time.Millisecond,
		LastWrite: lastWrite}
	c.LeaseDuration = time.Duration(wholeSeconds(c.RenewDeadline+lastWrite+margin)) * time.Second
	return c
}

// wholeSeconds rounds up: a Lease counts whole seconds, and must not end early.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Elector takes part in one election.
type Elector struct {
	leases
	log     *slog.Logger
	renewed atomic.Pointer[instant] // start of the last renewal; nil while this replica does not lead
	refused atomic.Uint64
	ran     atomic.Bool
	contact
	seen *sight // of the Lease; only Run's goroutine uses it
	held *lease // as last written by this replica; so is this
}

// contact says how well the apiserver answers for Leases.
type contact struct {
	trouble atomic.Pointer[trouble] // nil while it does
	reached atomic.Bool             // it has at least once
	asking  rate.Sometimes          // limits what is logged
}

// trouble is a series of requests that all failed.
type trouble struct {
	since time.Time // the first
	err   error     // of the last
}

// says is the least time between two log lines about the same trouble.
const says = time.Minute

func (c *contact) complain(log *slog.Logger, err error) {
	t := trouble{since: time.Now(), err: err}
	if before := c.trouble.Load(); before != nil {
		t.since = before.since
	}
	c.asking.Do(func() { log.Warn("leader election", "error", err) })
	c.trouble.Store(&t)
}

func (c *contact) fine() {
	c.trouble.Store(nil)
	c.reached.Store(true)
}

// lasting is the trouble that began before the first answer, or has lasted for long.
func (c *contact) lasting(long time.Duration) error {
	if t := c.trouble.Load(); t != nil && (!c.reached.Load() || time.Since(t.since) >= long) {
		return fmt.Errorf("leader election: %w", t.err)
	}
	return nil
}

// Trouble says why this replica could not take over: it has not read the Lease yet, or not for a lease's duration.
func (e *Elector) Trouble() error {
	if err := e.lasting(e.cfg.LeaseDuration); err != nil || e.reached.Load() {
		return err
	}
	return fmt.Errorf("leader election: the Lease %s/%s is not read yet", e.cfg.Namespace, e.cfg.Name)
}

// New connects to nothing.
func New(c Config, kube *rest.Config, log *slog.Logger) (*Elector, error) {
	api, err := connect(c, kube)
	return newElector(api, log), err
}

func connect(c Config, kube *rest.Config) (leases, error) {
	kube = rest.CopyConfig(kube)
	// A connection that times out ends with its request only in HTTP/1.1: one of HTTP/2
	// would take the next tries too, until its pings find out.
	kube.NextProtos = []string{"http/1.1"}
	if kube.Dial == nil && kube.Transport == nil { // connections of its own
		kube.Dial = (&net.Dialer{Timeout: c.RequestTimeout}).DialContext
	}
	client, base, err := call.APIServer(kube)
	if err != nil {
		return leases{}, fmt.Errorf("leader election: %w", err)
	}
	return leases{cfg: c, client: client, base: strings.TrimSuffix(base.String(), "/")}, nil
}

func newElector(api leases, log *slog.Logger) *Elector {
	return &Elector{leases: api, log: log, contact: contact{asking: rate.Sometimes{Interval: says}}, seen: &sight{}}
}

// left is how long this process may go on without a renewal.
func (e *Elector) left() time.Duration {
	r := e.renewed.Load()
	if r == nil {
		return 0
	}
	return e.cfg.RenewDeadline - r.since()
}

// Leading reports whether this process leads now.
func (e *Elector) Leading() bool { return e.left() > 0 }

// Permit is nil while a write may leave. Ask right before each: a process that was frozen
// does not know of it until it looks at the clock.
func (e *Elector) Permit() error {
	if e.left() > 0 {
		return nil
	}
	e.refused.Add(1)
	return ErrNotLeading
}

// Refused is how often Permit has refused.
func (e *Elector) Refused() uint64 { return e.refused.Load() }

// Run waits for the Lease, then calls lead with a context that ends with ctx, or at once (lifecycle.AtOnce) when the
// Lease is lost. It keeps the Lease until lead has returned, and gives it back. It returns lead's error, ErrLost, or
// a *tls.CertificateVerificationError if the first answer comes from a server that cannot be trusted.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	if e.ran.Swap(true) {
		return errors.New("leader election: Run called twice")
	}
	defer utilnet.CloseIdleConnectionsFor(e.client.Transport)
	began := now()
	for !e.try(ctx) {
		if t := e.trouble.Load(); t != nil && !e.reached.Load() {
			if _, untrusted := errors.AsType[*tls.CertificateVerificationError](t.err); untrusted {
				return t.err
			}
		}
		if lifecycle.Pause(ctx, e.untilNextTry()) != nil {
			return nil
		}
		began = now()
	}
	return e.hold(ctx, began, lead)
}

// hold is Run once a try, begun then, has taken the Lease.
func (e *Elector) hold(ctx context.Context, began instant, lead func(context.Context) error) error {
	e.renewed.Store(&began)
	e.log.Info("leading", "lease", e.cfg.Namespace+"/"+e.cfg.Name, "identity", e.cfg.Identity)

	lctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	rctx, ended := context.WithCancel(context.WithoutCancel(ctx)) // renewed while it drains, too
	done := make(chan error, 1)                                   // lead's one result
	go func() {
		defer ended()
		done <- lead(lctx)
	}()
	lost := e.renew(rctx)
	if lost == nil {
		err := <-done
		e.renewed.Store(nil)
		if !e.cfg.Shared {
			e.release(e.log)
		}
		return err
	}
	e.renewed.Store(nil) // no write leaves from here on
	cut(lifecycle.AtOnce(lost))
	e.log.Error("stopping at once", "error", lost)
	return errors.Join(lost, <-done)
}

// renew keeps the Lease until ctx ends; its error says how the Lease was lost.
func (e *Elector) renew(ctx context.Context) error {
	pause := e.cfg.RetryPeriod - e.renewed.Load().since()
	log, told := rate.Sometimes{Interval: says}, false
	for {
		if lifecycle.Pause(ctx, min(pause, e.left())) != nil {
			return nil
		}
		left := e.left()
		if left <= 0 {
			return fmt.Errorf("%w: not renewed for %s", ErrLost, e.cfg.RenewDeadline)
		}
		began := now()
		tctx, cancel := context.WithTimeout(ctx, left)
		err := e.keep(tctx)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLost):
			return err
		case err != nil:
			log.Do(func() {
				told = true
				e.log.Warn("lease not renewed", "error", err, "left", e.left())
			})
			pause = e.cfg.RetryPeriod / 8
		case e.left() > 0:
			if told {
				e.log.Info("lease renewed again")
			}
			told = false
			e.renewed.Store(&began)
			pause = e.cfg.RetryPeriod - began.since()
		}
	}
}

// keep renews the Lease, and reads it only if somebody has written it since.
func (e *Elector) keep(ctx context.Context) error {
	for {
		le, err := e.claim(ctx, e.held)
		if err != nil {
			return err
		}
		if le != nil {
			e.held = le
			return nil
		}
		switch le, err = e.get(ctx); {
		case errors.Is(err, errNotFound): // deleted: a replica that saw it waits until it would have expired
		case err != nil:
			return err
		case le.Spec.HolderIdentity != "" && le.Spec.HolderIdentity != e.cfg.Identity:
			return fmt.Errorf("%w: %q holds it", ErrLost, le.Spec.HolderIdentity)
		}
		e.held = le
	}
}

// try takes the Lease if it may, and reports whether it is held.
func (e *Elector) try(ctx context.Context) bool {
	err := e.attempt(ctx)
	if err == nil {
		e.fine()
	} else if ctx.Err() == nil {
		e.complain(e.log, err)
	}
	return e.held != nil
}

// attempt takes the Lease unless it is another's.
func (e *Elector) attempt(ctx context.Context) error {
	le, err := e.get(ctx)
	if err == nil {
		e.seen.update(le.Spec)
	} else if !errors.Is(err, errNotFound) {
		return err
	}
	if e.expiresIn() > 0 { // also of one that is gone: its holder may still lead
		return nil
	}
	e.held, err = e.claim(ctx, le)
	return err
}

// sight is what was last seen of a Lease, and when it was seen to change.
type sight struct {
	spec spec
	at   time.Time
}

func (s *sight) update(now spec) {
	if now != s.spec {
		s.spec, s.at = now, time.Now()
	}
}

// ends is since when the Lease is free, or when it will be, by what was seen of it.
func (s *sight) ends() time.Time {
	if s.spec.HolderIdentity == "" {
		return s.at
	}
	return s.at.Add(time.Duration(s.spec.LeaseDurationSeconds) * time.Second)
}

func (s *sight) left() time.Duration { return max(0, time.Until(s.ends())) }

// expiresIn is how long the Lease is another's.
func (e *Elector) expiresIn() time.Duration {
	if e.seen.spec.HolderIdentity == e.cfg.Identity {
		return 0
	}
	return e.seen.left()
}

// untilNextTry ends with the Lease at the latest, which may be given back before.
func (e *Elector) untilNextTry() time.Duration {
	pause := e.cfg.RetryPeriod/4 + rand.N(e.cfg.RetryPeriod/4)
	if left := e.expiresIn(); left > 0 && left < pause {
		return left
	}
	return pause
}
