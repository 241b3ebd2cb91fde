package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// sessionTimeout is the original's.
	sessionTimeout = 5 * time.Second
	// recheck is how often a missing path is looked for, and the pause after a failure.
	recheck = 5 * time.Second
)

// Watch follows one path.
type Watch struct {
	hosts    []string
	path     string
	log      *slog.Logger
	onChange func([]ServerInfo)
	recheck  time.Duration
	running  atomic.Bool
}

// Config of a Watch.
type Config struct {
	Hosts string // host:port, several with commas
	Path  string
	// OnChange is given the servers in their order each time they change; it may
	// be given none. It must not block for long.
	OnChange func([]ServerInfo)
	Logger   *slog.Logger
}

// New checks the configuration and connects to nothing.
func New(c Config) (*Watch, error) {
	var hosts []string
	for h := range strings.SplitSeq(c.Hosts, ",") {
		if h = strings.TrimSpace(h); h != "" {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return nil, errors.New("no ZooKeeper host: want host:port, several with commas")
	}
	log := c.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watch{hosts: hosts, path: c.Path, onChange: c.OnChange, recheck: recheck,
		log: log.With("path", c.Path)}, nil
}

// Run follows the path until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	if !w.running.CompareAndSwap(false, true) {
		return errors.New("discovery: Run called twice")
	}
	conn, _, err := zk.Connect(w.hosts, sessionTimeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return fmt.Errorf("ZooKeeper %s: %w", strings.Join(w.hosts, ","), err)
	}
	defer conn.Close()
	// A call blocks while there is no session; closing the connection ends it.
	stop := context.AfterFunc(ctx, conn.Close)
	defer stop()
	for ctx.Err() == nil {
		changed, err := w.look(conn)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			w.log.Warn("ZooKeeper lookup failed", "error", err, "again_in", w.recheck)
			changed = nil
		}
		if changed == nil {
			_ = lifecycle.Pause(ctx, w.recheck) // the loop sees an end
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return nil
}

// look reads the children and reports them; the channel fires at the next change.
func (w *Watch) look(conn *zk.Conn) (<-chan zk.Event, error) {
	children, _, changed, err := conn.ChildrenW(w.path)
	if errors.Is(err, zk.ErrNoNode) {
		exists, _, appears, err := conn.ExistsW(w.path)
		if err != nil || !exists {
			return appears, err
		}
		return nil, nil // it appeared in between: look again after the pause
	}
	if err != nil {
		return nil, err
	}
	var servers []ServerInfo
	for _, name := range ordered(children) {
		data, _, err := conn.Get(w.path + "/" + name)
		if errors.Is(err, zk.ErrNoNode) {
			continue // gone in between; changed will fire
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
	w.onChange(servers)
	return changed, nil
}

// quiet keeps the library's connection chatter out of the log; what matters comes
// back as errors.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
