package readers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Config says what is read, and from where.
type Config struct {
	Seed uint64 `json:"seed"`
	// Target is the kubeconfig of what is read from, which need not be there before Connect; Control that of the
	// apiserver, whose watch says what happened.
	Target  string `json:"target"`
	Control string `json:"control"`
	Record  string `json:"record"` // file that is written

	Get     float64 `json:"get,omitempty"`   // queries per second
	List    float64 `json:"list,omitempty"`  //
	Limit   int     `json:"limit,omitempty"` // page of a LIST, 0 for all objects
	Watches int     `json:"watches,omitempty"`

	Webhooks int `json:"webhooks,omitempty"` // receivers
	// Secret signs the deliveries, in the form of Standard Webhooks (whsec_…).
	Secret string `json:"secret,omitempty"`
}

// Bounds of a Config.
const (
	MaxRate      = 100_000 // queries per second
	MaxWatches   = 10_000
	MaxReceivers = 100
)

// Phases, in their order. A phase that is said is a line of JSON on standard output, with the receivers' addresses in
// listen; one that is asked for is its name on standard input.
const (
	Listening = "listening"
	Connect   = "connect" // asked for: list, and open the watches
	Ready     = "ready"
	Go        = "go" // asked for: begin with the queries
	Stop      = "stop"
	// Stopped is also used in Records: the last query is answered.
	Done = "done" // asked for: wait for what is still to come, and end
)

const collection = "/api/v1/pods"

const (
	// settleLimit bounds the wait for what is still to come; quiet is how long nobody may have heard anything before
	// that is believed.
	settleLimit = 10 * time.Second
	quiet       = 500 * time.Millisecond
	// opening is how many watches are opened at once.
	opening = 16
)

var (
	errNothing = errors.New("no object to get: have some exist before the load")
	errNoMore  = errors.New("standard input ended before the last phase")
)

// Run goes through the phases; the record counts once it has returned nil. The receivers answer until then.
func Run(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	log, err := Create(cfg.Record)
	if err != nil {
		return err
	}
	// The record outlives a signal: what was read belongs to it.
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var both errgroup.Group
	both.Go(func() error { return log.Run(writing) })
	both.Go(func() error {
		defer written()
		return run(ctx, cfg, log, newConductor(in, out))
	})
	return errors.Join(both.Wait(), log.Close())
}

func run(ctx context.Context, cfg Config, log *Writer, c *conductor) error {
	r, err := newReaders(cfg, log)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	for _, h := range r.hooks {
		all.Go(func() error { return h.serve(ctx) })
	}
	err = r.conduct(ctx, all, c)
	cancel()
	err = errors.Join(err, all.Wait())
	for _, e := range []*endpoint{r.target, r.control} {
		if e != nil {
			e.http.CloseIdleConnections()
		}
	}
	return err
}

type conductor struct {
	out   io.Writer
	lines chan string // each is awaited, or the program ends
}

func newConductor(in io.Reader, out io.Writer) *conductor {
	c := &conductor{out: out, lines: make(chan string)}
	go func() { // ends with standard input, or with the program
		defer close(c.lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

// Said is a line on standard output.
type Said struct {
	Phase  string   `json:"phase"`
	Listen []string `json:"listen,omitempty"`
}

func (c *conductor) say(phase string, listen []string) {
	_ = json.NewEncoder(c.out).Encode(Said{phase, listen}) // nobody listens: the next phase will not come either
}

// await returns when a phase is asked for, or with an error when ctx ends or nobody will ask any more.
func (c *conductor) await(ctx context.Context, phase string) error {
	select {
	case line, ok := <-c.lines:
		switch {
		case !ok:
			return errNoMore
		case line != phase:
			return fmt.Errorf("%q on standard input, want %s", line, phase)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type readers struct {
	cfg             Config
	log             *Writer
	hooks           []*hook
	target, control *endpoint
	names           []named
	watchers        []*watcher // the control first
	since           uint64     // where the control began
}

// newReaders binds the receivers' addresses, on loopback.
func newReaders(cfg Config, log *Writer) (r *readers, err error) {
	r = &readers{cfg: cfg, log: log}
	var key []byte
	if cfg.Webhooks > 0 {
		if key, err = secretKey(cfg.Secret); err != nil {
			return nil, err
		}
	}
	for i := range cfg.Webhooks {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("listen for webhooks: %w", err)
		}
		r.hooks = append(r.hooks, &hook{id: i + 1, listen: l, log: log, key: key})
	}
	return r, nil
}

func (r *readers) conduct(ctx context.Context, all *errgroup.Group, c *conductor) error {
	var listen []string
	for _, h := range r.hooks {
		listen = append(listen, h.listen.Addr().String())
	}
	c.say(Listening, listen)
	if err := c.await(ctx, Connect); err != nil {
		return err
	}
	if err := r.connect(ctx, all); err != nil {
		return err
	}
	c.say(Ready, nil)
	if err := c.await(ctx, Go); err != nil {
		return err
	}
	if err := r.query(ctx, c); err != nil {
		return err
	}
	c.say(Stopped, nil)
	if err := c.await(ctx, Done); err != nil {
		return err
	}
	return r.settle(ctx)
}

// connect lists what is there and opens the watches, the control first.
func (r *readers) connect(ctx context.Context, all *errgroup.Group) (err error) {
	if r.target, err = openEndpoint(r.cfg.Target); err != nil {
		return err
	}
	if r.control, err = openEndpoint(r.cfg.Control); err != nil {
		return err
	}
	r.since, err = r.control.list(ctx, collection+"?limit=1", nil)
	if err != nil {
		return fmt.Errorf("the apiserver: %w", err)
	}
	turn := make(chan struct{}, opening) // a slot for each watch that is being opened
	var open sync.WaitGroup
	begin := func(w *watcher) {
		w.log = r.log
		r.watchers = append(r.watchers, w)
		open.Add(1)
		once := sync.OnceFunc(open.Done)
		all.Go(func() error {
			defer once() // also where it cannot be opened
			return w.run(ctx, turn, once)
		})
	}
	begin(&watcher{id: Control, at: r.control, from: r.since})
	open.Wait()
	if r.cfg.Get+r.cfg.List > 0 || r.cfg.Watches > 0 {
		from, err := r.target.list(ctx, collection, func(item []byte) { r.names = append(r.names, nameOf(item)) })
		if err != nil {
			return err
		}
		if len(r.names) == 0 && r.cfg.Get > 0 {
			return errNothing
		}
		for i := range r.cfg.Watches {
			begin(&watcher{id: i + 1, at: r.target, from: from})
		}
	}
	open.Wait()
	return context.Cause(ctx)
}

func (r *readers) query(ctx context.Context, c *conductor) error {
	start := time.Now()
	r.log.Append(Record{What: Started, Ended: start.UnixNano()})
	stop, stopped := context.WithCancel(ctx)
	defer stopped()
	var asking sync.WaitGroup
	for _, q := range r.queriers() {
		asking.Go(func() { q.run(ctx, stop, r.cfg.Seed, start) })
	}
	err := c.await(ctx, Stop)
	r.log.Append(Record{What: Stopped, Ended: time.Now().UnixNano()})
	stopped()
	asking.Wait()
	return err
}

// settle waits until everyone has seen what the control has, at most to a limit: what did not come by then is missing
// in the record.
func (r *readers) settle(ctx context.Context) error {
	deadline, since := time.Now().Add(settleLimit), time.Now()
	for _, was := r.behind(); time.Now().Before(deadline); {
		if err := lifecycle.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		late, now := r.behind()
		if now != was {
			was, since = now, time.Now()
		}
		if late == 0 && time.Since(since) >= quiet {
			return nil
		}
	}
	return nil
}

// behind is how many have not seen the control's last version, and what changes while anything comes.
func (r *readers) behind() (late int, sum uint64) {
	want := r.watchers[0].last.Load()
	look := func(seen uint64) {
		sum += seen
		if seen < want {
			late++
		}
	}
	for _, w := range r.watchers {
		look(w.last.Load())
	}
	if want > r.since {
		for _, h := range r.hooks {
			look(h.last.Load())
		}
	}
	return late, sum
}

func openEndpoint(kubeconfig string) (*endpoint, error) {
	cfg, err := kubeapi.ReadConfig(kubeconfig, "")
	if err != nil {
		return nil, err
	}
	return newEndpoint(cfg)
}
