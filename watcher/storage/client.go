package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
)

// Client is the StorageAction. It is safe for concurrent use.
type Client struct {
	cfg       Config
	set       Settings
	endpoints atomic.Pointer[[]*endpoint]
	next      atomic.Uint32 // round robin over the endpoints
	metrics   *Metrics
	up        *prometheus.GaugeVec
	traffic   traffic
	running   atomic.Bool
	looks     chan struct{} // size 1: one token says "an endpoint may want a probe"
	change    sync.Mutex    // held by SetEndpoints
}

// New checks the configuration and opens nothing.
func New(cfg Config, set Settings) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if set.Dial == nil {
		set.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	c := &Client{cfg: cfg, set: set, looks: make(chan struct{}, 1), up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: metric.StorageUp, Help: "1 while the storage endpoint answers as it should.",
	}, []string{"endpoint"})}
	var err error
	if c.metrics, err = NewMetrics(set.Registry, cfg.ClusterID, c.traffic.in.Load, c.traffic.out.Load); err != nil {
		return nil, err
	}
	if err := meter.Register(set.Registry, c.up); err != nil {
		return nil, fmt.Errorf("register storage metrics: %w", err)
	}
	c.endpoints.Store(&[]*endpoint{})
	return c, c.SetEndpoints(cfg.Endpoints)
}

// SetEndpoints replaces the endpoints; those that stay keep their connections. An
// empty list is ignored: the known ones stay (contract §8). Addresses that cannot be used
// are left out and named in the error; if none is left, the known ones stay.
func (c *Client) SetEndpoints(addrs []string) error {
	if len(addrs) == 0 {
		return nil
	}
	c.change.Lock()
	defer c.change.Unlock()
	old := map[string]*endpoint{}
	for _, ep := range *c.endpoints.Load() {
		old[ep.name] = ep
	}
	var eps []*endpoint
	var errs []error
	for _, a := range addrs {
		if slices.ContainsFunc(eps, func(ep *endpoint) bool { return ep.name == a }) {
			continue
		}
		ep, known := old[a]
		if !known {
			var err error
			if ep, err = c.newEndpoint(a); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		eps = append(eps, ep)
	}
	if len(eps) == 0 {
		return errors.Join(errs...)
	}
	for _, ep := range eps {
		delete(old, ep.name)
	}
	c.endpoints.Store(&eps)
	for name, ep := range old {
		ep.reap(time.Now(), true)
		c.up.DeleteLabelValues(name)
	}
	return errors.Join(errs...)
}

func (c *Client) newEndpoint(addr string) (*endpoint, error) {
	u, err := parseEndpoint(addr)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return &endpoint{
		client: c, name: addr, url: u, prefix: strings.TrimRight(u.EscapedPath(), "/"),
		hostLine: []byte("Host: " + u.Host + "\r\n"),
		addr:     net.JoinHostPort(u.Hostname(), port), up: c.up.WithLabelValues(addr),
	}, nil
}

// Run closes idle connections in time, and all of them when ctx ends, and probes endpoints
// that are down.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("storage client: Run called twice")
	}
	var probes sync.WaitGroup
	defer func() {
		probes.Wait()
		for _, ep := range *c.endpoints.Load() {
			ep.reap(time.Now(), true)
		}
	}()
	tick := time.NewTicker(c.cfg.IdleTimeout / 2)
	defer tick.Stop()
	probe := time.NewTimer(0)
	defer probe.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			for _, ep := range *c.endpoints.Load() {
				ep.reap(now, false)
			}
			continue
		case <-c.looks:
		case <-probe.C:
		}
		now := time.Now()
		wait := maxDown
		for _, ep := range *c.endpoints.Load() {
			switch at := ep.due(now); {
			case at.IsZero():
			case at.After(now):
				wait = min(wait, at.Sub(now))
			default:
				probes.Go(func() { ep.probe(ctx) })
			}
		}
		probe.Reset(wait)
	}
}

// Reachable is nil unless every endpoint is down, or none is known.
func (c *Client) Reachable() error {
	all := *c.endpoints.Load()
	if len(all) == 0 {
		return errNoServer
	}
	if down := c.Down(); len(down) == len(all) {
		return errors.Join(down...)
	}
	return nil
}

// Down says of each endpoint that is down why.
func (c *Client) Down() (why []error) {
	for _, o := range c.Outages() {
		why = append(why, fmt.Errorf("storage %s: %w", o.Endpoint, o.Err))
	}
	return why
}

// Outage is an endpoint that is down.
type Outage struct {
	Endpoint string
	Since    time.Time
	Err      error
}

// Outages are the endpoints that are down, in the order in which they are configured.
func (c *Client) Outages() (all []Outage) {
	for _, ep := range *c.endpoints.Load() {
		if since, err := ep.down(); err != nil {
			all = append(all, Outage{ep.name, since, err})
		}
	}
	return all
}

var errNoServer = errors.New("no storage server is known")

// Put stores an object, replacing what is there. See errors.go for its errors.
func (c *Client) Put(ctx context.Context, o *object.Object) error {
	r, err := buildPut(c.cfg.ClusterID, o)
	if err != nil {
		return err
	}
	return c.write(ctx, r)
}

// Delete removes an object. Removing what is not there succeeds. With
// Config.Conditional and a known uid, an object that was created under the name
// since then stays.
func (c *Client) Delete(ctx context.Context, k object.Key, uid string) error {
	if !c.cfg.Conditional {
		uid = ""
	}
	return c.write(ctx, buildDelete(c.cfg.ClusterID, k, uid))
}

// DeleteOnly removes the record of that name that has that uid. A Delete in the cluster
// scope would also remove every namespaced record of the kind and the name (contract
// §1.5), so without a uid nothing is sent.
func (c *Client) DeleteOnly(ctx context.Context, k object.Key, uid string) error {
	if uid == "" {
		return &PermanentError{Err: fmt.Errorf("delete %s: no uid, and without one storage would remove what other "+
			"namespaces have under the name", k)}
	}
	return c.write(ctx, buildDelete(c.cfg.ClusterID, k, uid))
}

func (c *Client) write(ctx context.Context, r *request) error {
	start := time.Now()
	a, err := c.do(ctx, r)
	if err == nil {
		err = a.judge(time.Now(), r.body[0] != nil)
	}
	c.metrics.Observe(r.handler, r.kind, r.method, err == nil, time.Since(start))
	return err
}

// do sends a request to one endpoint and reads the answer. Another endpoint is
// tried only while nothing has been sent.
func (c *Client) do(ctx context.Context, r *request) (answer, error) {
	last := errNoServer
	for _, ep := range c.order() {
		if err := ctx.Err(); err != nil {
			return answer{}, &TransientError{Err: err}
		}
		a, connected, err := ep.ask(ctx, r)
		if connected {
			return a, err
		}
		if ctx.Err() == nil {
			ep.markDown(reads, time.Now(), err)
		}
		last = fmt.Errorf("%s: %w", ep.url.Host, err)
	}
	return answer{}, &TransientError{Err: last}
}

// order lists the endpoints to try: usable ones round robin, then, if none is
// usable, the others, since an outage must end some time.
func (c *Client) order() []*endpoint {
	all := *c.endpoints.Load()
	n := len(all)
	if n <= 1 {
		return all
	}
	now, first := time.Now(), int(c.next.Add(1))%n
	up := make([]*endpoint, 0, n)
	for i := range n {
		if ep := all[(first+i)%n]; ep.usable(now) {
			up = append(up, ep)
		}
	}
	if len(up) == 0 {
		return all[first : first+1]
	}
	return up
}

// exchange sends a request on a connection, reads the answer, and lets the endpoint learn
// from it.
func (c *Client) exchange(ctx context.Context, ep *endpoint, cn *conn, r *request) (answer, error) {
	sort := writes
	if r.method == methodGet {
		sort = reads
	}
	if c.set.Permit != nil && sort == writes {
		if err := c.set.Permit(); err != nil {
			ep.put(cn)
			return answer{}, &TransientError{Err: err}
		}
	}
	head := ep.hostLine
	if c.set.Token != nil {
		token, err := c.set.Token()
		if err != nil {
			ep.put(cn)
			return answer{}, &TransientError{Err: err}
		}
		head = slices.Concat(head, []byte("Authorization: Bearer "), []byte(token), []byte("\r\n"))
	}
	if sort == writes {
		ep.begin()
	}
	start := time.Now()
	deadline, hurried := start.Add(c.cfg.Timeout), false
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline, hurried = d, true
	}
	_ = cn.raw.SetDeadline(deadline)
	// A context that ends cuts the exchange by moving the deadline into the past.
	stop := context.AfterFunc(ctx, func() { _ = cn.raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if r.page { // a long answer may take its time, as long as something comes
		cn.alive = func() {
			_ = cn.raw.SetDeadline(time.Now().Add(c.cfg.Timeout))
			if ctx.Err() != nil {
				_ = cn.raw.SetDeadline(time.Unix(1, 0))
			}
		}
	}

	used := cn.used
	cn.came = false
	complete, err := cn.send(r, ep.line(r), head)
	var a answer
	var reuse bool
	if err == nil {
		a, reuse, err = cn.read(c.cfg.MaxResponse)
	}
	cn.alive = nil // before another request can have the connection
	if err != nil {
		cn.close()
		stale := used && errors.Is(err, errStray) // another connection decides
		late := errors.Is(err, os.ErrDeadlineExceeded)
		// An answer that stops midway or is too long may only be too large a page.
		slow := late && r.page && cn.came
		if slow {
			err = fmt.Errorf("%w: %w", ErrTooSlow, err)
		}
		excused := slow || stale || hurried && late || errors.Is(err, ErrTooLong)
		if ctx.Err() == nil && !excused {
			ep.judge(sort, start, a, err)
		} else if sort == writes {
			ep.undecided()
		}
		err = fmt.Errorf("%s: %w", ep.url.Host, err)
		if complete {
			return answer{}, &UnknownOutcomeError{Err: err}
		}
		return answer{}, &TransientError{Err: fmt.Errorf("write request: %w", err)}
	}
	ep.judge(sort, start, a, nil)
	if reuse && stop() {
		ep.put(cn)
	} else {
		cn.close()
	}
	return a, nil
}
