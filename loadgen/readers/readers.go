package readers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/hookfault"
	"github.com/watchbench/watchbench/loadgen/readlog"
)

// Log takes the records; *readlog.Writer is one. It is called by several goroutines.
type Log interface{ Append(readlog.Record) }

// Access are the two servers that are read from.
type Access struct {
	Target *rest.Config
	// Control is the apiserver, whose watch says what happened.
	Control *rest.Config
}

// Conductor says what comes next. Reading goes through the phases Listening, Connect,
// Ready, Go, Stop, Stopped and Done.
type Conductor interface {
	// Say reports that a phase is reached; listen are the receivers' addresses.
	Say(phase string, listen []string)
	// Await returns when a phase is asked for, or with an error when ctx ends or nobody
	// will ask any more.
	Await(ctx context.Context, phase string) error
	// Access is asked for once, after Connect.
	Access() (Access, error)
}

// Phases, in their order. The first is said, and so are those that end in a d or y.
const (
	Listening = "listening"
	Connect   = "connect" // asked for: list, and open the watches
	Ready     = "ready"
	Go        = "go" // asked for: begin with the queries and the receivers' faults
	Stop      = "stop"
	Stopped   = "stopped"
	Done      = "done" // asked for: wait for what is still to come, and end
)

// Readers are all that read. Use them once.
type Readers struct {
	cfg    Config
	log    Log
	hooks  []*hook
	faults *hookfault.Set
	// SettleLimit bounds the wait for what is still to come; Quiet is how long no receiver
	// may have heard anything before that is believed.
	settleLimit, quiet time.Duration

	gets, lists, watches, control *endpoint
	names                         []named
	watchers                      []*watcher // the control first
	since                         uint64     // where the control began
}

const (
	settleLimit = 10 * time.Second
	quiet       = 500 * time.Millisecond
	// opening is how many watches are opened at once.
	opening = 16
)

// New binds the receivers' addresses, on loopback; Run serves them.
func New(cfg Config, log Log) (*Readers, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Readers{cfg: cfg, log: log, settleLimit: settleLimit, quiet: quiet}
	specs, err := hookfault.Parse(cfg.WebhookFaults)
	if err != nil {
		return nil, err
	}
	if r.faults, err = hookfault.NewSet(cfg.Seed, specs); err != nil {
		return nil, err
	}
	for i := range cfg.Webhooks {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.unbind()
			return nil, fmt.Errorf("listen for webhooks: %w", err)
		}
		h := &hook{id: i + 1, listen: l, log: log, faults: r.faults}
		if cfg.Secret != "" {
			if h.key, err = secretKey(cfg.Secret); err != nil {
				return nil, err
			}
		}
		r.hooks = append(r.hooks, h)
	}
	return r, nil
}

func (r *Readers) unbind() {
	for _, h := range r.hooks {
		_ = h.listen.Close()
	}
}

// Run reads as the conductor says, and returns when all is over. The receivers answer
// until then.
func (r *Readers) Run(ctx context.Context, c Conductor) error {
	all, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	for _, h := range r.hooks {
		all.Go(func() error { return h.serve(ctx) })
	}
	err := r.conduct(ctx, all, c)
	end()
	err = errors.Join(err, all.Wait())
	for _, e := range []*endpoint{r.gets, r.lists, r.watches, r.control} {
		if e != nil {
			e.close()
		}
	}
	return err
}

func (r *Readers) conduct(ctx context.Context, all *errgroup.Group, c Conductor) error {
	var listen []string
	for _, h := range r.hooks {
		listen = append(listen, h.listen.Addr().String())
	}
	c.Say(Listening, listen)
	if err := c.Await(ctx, Connect); err != nil {
		return err
	}
	access, err := c.Access()
	if err != nil {
		return err
	}
	if err := r.connect(ctx, all, access); err != nil {
		return err
	}
	c.Say(Ready, nil)
	if err := c.Await(ctx, Go); err != nil {
		return err
	}
	if err := r.query(ctx, c); err != nil {
		return err
	}
	c.Say(Stopped, nil)
	if err := c.Await(ctx, Done); err != nil {
		return err
	}
	return r.settle(ctx)
}

// connect lists what is there and opens the watches, the control first.
func (r *Readers) connect(ctx context.Context, all *errgroup.Group, access Access) (err error) {
	for _, e := range []struct {
		to    **endpoint
		cfg   *rest.Config
		conns int
	}{{&r.gets, access.Target, r.cfg.Connections}, {&r.lists, access.Target, r.cfg.Connections}, {&r.watches, access.Target, 0}, {&r.control, access.Control, 0}} {
		if *e.to, err = newEndpoint(e.cfg, e.conns); err != nil {
			return err
		}
	}
	there, err := r.control.listAll(ctx, r.cfg.Collection+"?limit=1", nil)
	if err != nil {
		return fmt.Errorf("the apiserver: %w", err)
	}
	turn := make(chan struct{}, opening) // a slot for each watch that is being opened
	var open sync.WaitGroup
	begin := func(w *watcher) {
		w.collection, w.log = r.cfg.Collection, r.log
		r.watchers = append(r.watchers, w)
		open.Add(1)
		once := sync.OnceFunc(open.Done)
		all.Go(func() error {
			defer once() // also where it cannot be opened
			return w.run(ctx, turn, once)
		})
	}
	r.since = there.version
	begin(&watcher{id: readlog.Control, at: r.control, from: there.version})
	open.Wait()
	if r.cfg.Get+r.cfg.List > 0 || r.cfg.Watches > 0 {
		l, err := r.lists.listAll(ctx, r.cfg.Collection, func(item []byte) {
			text := func(key string) string { return jsonscan.Unquote(jsonscan.Lookup(item, "metadata", key)) }
			r.names = append(r.names, named{path: r.cfg.object(text("namespace"), text("name")), uid: text("uid")})
		})
		if err != nil {
			return err
		}
		if len(r.names) == 0 && r.cfg.Get > 0 {
			return errNothing
		}
		for i := range r.cfg.Watches {
			begin(&watcher{id: i + 1, at: r.watches, from: l.version})
		}
	}
	open.Wait()
	return context.Cause(ctx)
}

// query sends the queries until it is told to stop.
func (r *Readers) query(ctx context.Context, c Conductor) error {
	start := time.Now()
	r.log.Append(readlog.Record{What: readlog.Started, Ended: start.UnixNano()})
	r.faults.Start(start)
	stop, stopped := context.WithCancel(ctx)
	defer stopped()
	var asking sync.WaitGroup
	for _, q := range r.queriers() {
		asking.Go(func() { q.run(ctx, stop, r.cfg.Seed, start) })
	}
	err := c.Await(ctx, Stop)
	r.log.Append(readlog.Record{What: readlog.Stopped, Ended: time.Now().UnixNano()})
	stopped()
	asking.Wait()
	return err
}

// settle waits until everyone has seen what the control has, at most to a limit: what did
// not come by then is missing in the record.
func (r *Readers) settle(ctx context.Context) error {
	healthy := slices.DeleteFunc(slices.Clone(r.hooks), func(h *hook) bool {
		all, _ := r.faults.Select(func(s hookfault.Spec) bool { return s.Hits(h.id) })
		return len(all) > 0
	})
	deadline, since := time.Now().Add(r.settleLimit), time.Now()
	for was := r.behind(healthy); time.Now().Before(deadline); {
		if err := lifecycle.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		now := r.behind(healthy)
		if now != was {
			was, since = now, time.Now()
		}
		if now.watches+now.hooks == 0 && time.Since(since) >= r.quiet {
			return nil
		}
	}
	return nil
}

// progress is how many have not seen the control's last version, and what changes while
// anything comes.
type progress struct {
	watches, hooks int
	sum            uint64
}

func (r *Readers) behind(healthy []*hook) (p progress) {
	want := r.watchers[0].last.Load()
	for _, w := range r.watchers {
		v := w.last.Load()
		p.sum += v
		if v < want {
			p.watches++
		}
	}
	for _, h := range healthy {
		v := h.last.Load()
		p.sum += v
		if v < want && want > r.since {
			p.hooks++
		}
	}
	return p
}
