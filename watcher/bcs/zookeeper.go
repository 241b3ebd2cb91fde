package bcs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/time/rate"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// sessionTimeout is the original's.
	sessionTimeout = 5 * time.Second
	// firstAnswer is how long a server may take to say anything.
	firstAnswer = 2 * sessionTimeout
	// recheck is how often a missing path is looked for, and the pause after a failure.
	recheck = 5 * time.Second
	// complainAgain is the time between two log lines about the same outage.
	complainAgain = time.Minute
	lookupTimeout = 3 * time.Second
	defaultPort   = "2181"
	// maxZooKeeperAnswer is ZooKeeper's own limit (jute.maxbuffer) four times over: nothing that
	// is not ZooKeeper makes the client reserve more.
	maxZooKeeperAnswer = 4 << 20
)

// Discovery follows one path.
type Discovery struct {
	hosts    []string
	path     string
	auth     []byte
	log      *slog.Logger
	onChange func([]ServerInfo)
	recheck  time.Duration
	lookup   func(ctx context.Context, host string) ([]string, error)
	running  atomic.Bool

	reported []ServerInfo // what onChange was given last
	known    bool         // it was given something
}

// DiscoveryConfig of a Discovery.
type DiscoveryConfig struct {
	Hosts string // host or host:port, several with commas
	Path  string
	// User and Password are sent as digest, as the original does, which has them empty:
	// its servers may register with that digest as their ACL (contract §8).
	User, Password string
	// OnChange is given the servers in their order each time they change; it may
	// be given none. It must not block for long.
	OnChange func([]ServerInfo)
	Logger   *slog.Logger
}

// NewDiscovery checks the configuration and connects to nothing.
func NewDiscovery(c DiscoveryConfig) (*Discovery, error) {
	var hosts []string
	for h := range strings.SplitSeq(c.Hosts, ",") {
		if h = strings.TrimSpace(h); h != "" {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return nil, errors.New("no ZooKeeper host: want host:port, several with commas")
	}
	log := cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Discovery{hosts: hosts, path: c.Path, auth: []byte(c.User + ":" + c.Password), onChange: c.OnChange,
		recheck: recheck,
		lookup:  net.DefaultResolver.LookupHost, log: log.With("path", c.Path)}, nil
}

// Run follows the path until ctx ends.
func (w *Discovery) Run(ctx context.Context) error {
	if !w.running.CompareAndSwap(false, true) {
		return errors.New("discovery: Run called twice")
	}
	complaints := rate.Sometimes{Interval: complainAgain}
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		complaints.Do(func() {
			w.log.Warn("ZooKeeper lookup failed", "hosts", strings.Join(w.hosts, ","), "error", err, "again_in", w.recheck)
		})
		_ = lifecycle.Pause(ctx, w.recheck) // the loop sees an end
	}
	return nil
}

// follow reports over one connection until that is lost. Nothing is asked of a session but
// to learn of changes, so a new one costs little, and with it names are resolved again
// and no server is refused because another had seen more.
func (w *Discovery) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	addrs, unresolved := w.resolve(ctx)
	if len(addrs) == 0 {
		return unresolved
	}
	conn, end, err := connect(addrs, cancel)
	if err != nil {
		return err
	}
	defer end()
	stop := context.AfterFunc(ctx, end) // a call blocks without a session
	defer stop()
	hung := time.AfterFunc(firstAnswer, func() { cancel(errors.New("no answer")) })
	defer hung.Stop()

	err = conn.AddAuth("digest", w.auth)
	for err == nil {
		var changed <-chan zk.Event
		if changed, err = w.look(conn); err != nil {
			break
		}
		if hung.Stop() && unresolved != nil {
			w.log.Warn("some ZooKeeper hosts are left out", "error", unresolved)
		}
		if changed == nil {
			_ = lifecycle.Pause(ctx, w.recheck) // the next look sees an end
			continue
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed:
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // which has made the call fail
	}
	return errors.Join(err, unresolved)
}

// resolve finds the addresses behind the hosts; err is about those that have none.
func (w *Discovery) resolve(ctx context.Context) (addrs []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for _, h := range w.hosts {
		host, port, splitErr := net.SplitHostPort(h)
		if splitErr != nil {
			host, port = h, defaultPort
		}
		ips, lookupErr := w.lookup(ctx, host)
		err = errors.Join(err, lookupErr)
		for _, ip := range ips {
			addrs = append(addrs, net.JoinHostPort(ip, port))
		}
	}
	return addrs, err
}

func connect(addrs []string, lost func(error)) (conn *zk.Conn, end func(), err error) {
	var d dialer
	conn, events, err := zk.Connect(addrs, sessionTimeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithDialer(d.dial), zk.WithMaxBufferSize(maxZooKeeperAnswer), zk.WithEventCallback(func(e zk.Event) {
			if e.Type == zk.EventSession && (e.State == zk.StateDisconnected || e.State == zk.StateExpired) {
				lost(errors.New("connection lost"))
			}
		}))
	if err != nil {
		return nil, nil, err
	}
	return conn, sync.OnceFunc(func() {
		conn.Close() // takes leave of a server that answers
		d.close()
		for range events { // closed when the client has ended
		}
	}), nil
}

// dialer remembers the connection, because the client cannot break one off that hangs in
// its greeting.
type dialer struct {
	mu     sync.Mutex // guards what follows
	conn   net.Conn
	closed bool
}

func (d *dialer) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout) //nolint:noctx // the client's signature
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	d.conn = c
	return c, nil
}

func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.conn != nil {
		_ = d.conn.Close()
	}
}

// look reads the children and reports them; the channel fires at the next change.
func (w *Discovery) look(conn *zk.Conn) (<-chan zk.Event, error) {
	children, _, changed, err := conn.ChildrenW(w.path)
	if errors.Is(err, zk.ErrNoNode) {
		exists, _, appears, err := conn.ExistsW(w.path)
		if err != nil || !exists {
			return appears, err
		}
		return nil, nil // it appeared in between: look again after the pause
	}
	if err != nil {
		return nil, explain(err)
	}
	var servers []ServerInfo
	var denied error
	for _, name := range ordered(children) {
		data, _, err := conn.Get(w.path + "/" + name)
		if errors.Is(err, zk.ErrNoNode) {
			continue // gone in between; changed will fire
		}
		if errors.Is(err, zk.ErrNoAuth) {
			denied = explain(err)
			w.log.Warn("server ignored", "node", name, "error", denied)
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := parse(data)
		if err != nil {
			w.log.Warn("server ignored", "node", name, "error", err)
			continue
		}
		servers = append(servers, s)
	}
	if len(servers) == 0 && denied != nil {
		return nil, denied
	}
	if !w.known || !slices.Equal(servers, w.reported) {
		w.reported, w.known = servers, true
		w.onChange(servers)
	}
	return changed, nil
}

func explain(err error) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("%w: it wants another bcs.zkUser and bcs.zkPassword", err)
	}
	return err
}

// quiet keeps the library's connection chatter out of the log; what matters comes
// back as errors.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
