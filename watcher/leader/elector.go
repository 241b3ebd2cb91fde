package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// ErrLost ends Run when the Lease could not be renewed in time.
var ErrLost = errors.New("the leader's lease was lost")

// Config of an election.
type Config struct {
	Namespace, Name string
	Identity        string // unique per process
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration
}

// Default gives times with which a killed leader is followed within 15 seconds.
func Default() Config {
	return Config{LeaseDuration: 10 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 2 * time.Second}
}

// Validate refuses times that cannot keep two leaders apart.
func (c Config) Validate() error {
	switch {
	case c.Namespace == "" || c.Name == "" || c.Identity == "":
		return errors.New("leader election: namespace, name and identity must be given")
	case c.LeaseDuration < 2*time.Second:
		return fmt.Errorf("leader election: lease duration is %s, want at least 2s", c.LeaseDuration)
	case c.RenewDeadline >= c.LeaseDuration:
		return fmt.Errorf("leader election: renew deadline %s must be shorter than the lease, %s", c.RenewDeadline, c.LeaseDuration)
	case c.RetryPeriod <= 0 || c.RetryPeriod >= c.RenewDeadline:
		return fmt.Errorf("leader election: retry period %s must be shorter than the renew deadline, %s", c.RetryPeriod, c.RenewDeadline)
	}
	return nil
}

// Elector takes part in one election.
type Elector struct {
	cfg     Config
	api     leases
	log     *slog.Logger
	leading atomic.Bool
	ran     atomic.Bool

	// What was last seen of the Lease, and when it was seen to change. Only Run's
	// goroutine uses them.
	seen   spec
	seenAt time.Time
	held   *lease
}

// New connects to nothing.
func New(c Config, kube *rest.Config, log *slog.Logger) (*Elector, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(kube)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(kube)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return newElector(c, client, strings.TrimSuffix(base.String(), "/"), log), nil
}

func newElector(c Config, client *http.Client, base string, log *slog.Logger) *Elector {
	return &Elector{cfg: c, log: log, api: leases{client: client, base: base, namespace: c.Namespace, name: c.Name}}
}

// Leading reports whether this process leads now.
func (e *Elector) Leading() bool { return e.leading.Load() }

// Run waits for the Lease, then calls lead with a context that ends with ctx or
// before the Lease may be another's, and gives the Lease back afterwards. It
// returns lead's error, or ErrLost.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	if e.ran.Swap(true) {
		return errors.New("leader election: Run called twice")
	}
	defer e.api.client.CloseIdleConnections()
	for !e.try(ctx) {
		if lifecycle.Pause(ctx, e.cfg.RetryPeriod/2+rand.N(e.cfg.RetryPeriod)) != nil {
			return nil
		}
	}
	e.leading.Store(true)
	e.log.Info("leading", "lease", e.cfg.Namespace+"/"+e.cfg.Name, "identity", e.cfg.Identity)

	lctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1) // lead's one result
	go func() { done <- lead(lctx) }()
	lost := e.renew(lctx, done)
	cancel()
	err := <-done
	e.leading.Store(false)
	if lost {
		return errors.Join(ErrLost, err)
	}
	e.release()
	return err
}

// renew keeps the Lease until ctx ends or lead has returned, which it puts back;
// it reports true when the Lease could not be renewed in time.
func (e *Elector) renew(ctx context.Context, done chan error) (lost bool) {
	renewed := time.Now()
	tick := time.NewTicker(e.cfg.RetryPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case err := <-done:
			done <- err
			return false
		case <-tick.C:
		}
		deadline := renewed.Add(e.cfg.RenewDeadline)
		tctx, cancel := context.WithDeadline(ctx, deadline)
		started := time.Now()
		if e.try(tctx) {
			renewed = started
		}
		cancel()
		if ctx.Err() == nil && !time.Now().Before(deadline) && renewed != started {
			e.log.Error("lease not renewed in time, stopping", "since", renewed)
			return true
		}
	}
}

// try takes or renews the Lease if it may, and reports whether it is held.
func (e *Elector) try(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.RenewDeadline)
	defer cancel()
	le, err := e.attempt(ctx)
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			e.log.Warn("leader election", "error", err)
		}
		return false
	}
	e.held = le
	return le != nil
}

// attempt gives the written Lease, or nil while it is another's.
func (e *Elector) attempt(ctx context.Context) (*lease, error) {
	mine := spec{
		HolderIdentity: e.cfg.Identity, LeaseDurationSeconds: int(e.cfg.LeaseDuration / time.Second),
		AcquireTime: now(), RenewTime: now(),
	}
	le, err := e.api.get(ctx)
	if errors.Is(err, errNotFound) {
		return ifWon(e.api.create(ctx, mine))
	}
	if err != nil {
		return nil, err
	}
	if le.Spec != e.seen {
		e.seen, e.seenAt = le.Spec, time.Now()
	}
	switch s := le.Spec; {
	case s.HolderIdentity == e.cfg.Identity:
		mine.AcquireTime, mine.LeaseTransitions = s.AcquireTime, s.LeaseTransitions
	case s.HolderIdentity != "" && time.Now().Before(e.seenAt.Add(time.Duration(s.LeaseDurationSeconds)*time.Second)):
		return nil, nil
	default:
		mine.LeaseTransitions = s.LeaseTransitions + 1
	}
	le.Spec = mine
	return ifWon(e.api.update(ctx, le))
}

func ifWon(le *lease, err error) (*lease, error) {
	if errors.Is(err, errConflict) {
		return nil, nil
	}
	return le, err
}

// release lets the next leader begin at once.
func (e *Elector) release() {
	if e.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.RetryPeriod)
	defer cancel()
	le, err := e.api.get(ctx)
	if err == nil && le.Spec.HolderIdentity == e.cfg.Identity {
		le.Spec.HolderIdentity, le.Spec.LeaseDurationSeconds, le.Spec.RenewTime = "", 1, now()
		_, err = e.api.update(ctx, le)
	}
	if err != nil {
		e.log.Warn("lease not released", "error", err)
	}
}
