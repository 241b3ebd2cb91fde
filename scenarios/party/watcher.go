package party

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/pod"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// ProfileLegacy has watchlegacy run, by the original's rules, instead of k8s-watch.
const ProfileLegacy = "legacy"

// Watcher is a process under test.
type Watcher struct {
	*Process
	Argv []string
	Own  bool // our k8s-watch, which has /readyz and metrics of its own
	// Instance of storage that it writes to, where replicas have one each.
	Instance int

	setup   WatcherSetup
	ports   []int
	health  string // base URL
	metrics string // URL
	http    *http.Client
}

// WatcherSetup configures a watcher.
type WatcherSetup struct {
	Bin         string
	Name        string // of the process, its log and its files
	Cell        string // folder of the cell, for the rendered files
	Logs        string
	Kubeconfig  string
	Endpoints   []string
	Ignore      []string // namespaces
	Spec        spec.Watcher
	Kinds       []string
	Customs     []string // group/versions of custom resources to follow; none: no CRD watcher
	Listed      []string // group/versions that discovery is to find, with all their kinds
	Masks       []check.Mask
	Conditional bool
	CAFile      string // of storage
	Lease       string // name of the Lease; empty disables leader election
	Instance    int
	Selectors   map[string]string // label selectors by kind
	Patience    time.Duration     // for its first lists, beyond SyncLimit
	Serving     *Serving          // nil: its resource watcher is off
	Pods        *Pods
	Asked       *atomic.Int64 // counts every request to its metrics and health; nil counts nothing
}

// asking counts requests on their way.
type asking struct {
	*http.Transport
	n *atomic.Int64
}

func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	a.n.Add(1)
	return a.Transport.RoundTrip(r)
}

// client asks the watcher.
func (s *WatcherSetup) client(p *Process) *http.Client {
	c := p.client()
	if s.Asked != nil {
		c.Transport = asking{c.Transport.(*http.Transport), s.Asked}
	}
	return c
}

// portTries bounds the restarts after a port was taken in between.
const portTries = 3

// metricsWait is how long another watcher, whose metrics are optional, gets to serve them.
const metricsWait = 2 * time.Second

// StartWatcher starts the watcher and returns once its metrics answer. Another watcher may have none.
func StartWatcher(ctx context.Context, s WatcherSetup) (*Watcher, error) {
	for try := 1; ; try++ {
		w, err := s.startOnce(ctx)
		if err == nil || try == portTries || !strings.Contains(err.Error(), portTaken) {
			return w, err
		}
	}
}

func (s WatcherSetup) startOnce(ctx context.Context) (*Watcher, error) {
	w, err := SpawnWatcher(s)
	if err != nil {
		return nil, err
	}
	limit := startLimit
	if !w.Own {
		limit = metricsWait
	}
	if err := w.settled(ctx); err != nil {
		w.Kill()
		return nil, err
	}
	err = w.Await(ctx, "the watcher's metrics endpoint", 10*time.Millisecond, limit, func(ctx context.Context) bool {
		_, err := w.Scrape(ctx)
		return err == nil
	})
	if _, late := errors.AsType[*TimeoutError](err); late && !w.Own {
		err = nil
	}
	if err != nil {
		w.Kill()
		return nil, err
	}
	return w, nil
}

// SpawnWatcher starts the watcher and waits for nothing: it may not listen yet, and may
// end because a port was taken in between.
func SpawnWatcher(s WatcherSetup) (*Watcher, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	config, err := s.renderConfig(ports)
	if err != nil {
		return nil, err
	}
	if s.Serving != nil {
		if err := s.Serving.write(ports[2]); err != nil {
			return nil, err
		}
	}
	program := s.Bin
	if s.Spec.Profile == ProfileLegacy {
		program = filepath.Join(filepath.Dir(s.Bin), "watchlegacy")
	}
	argv, dir, title := []string{program, "-f", config}, s.Cell, ""
	if s.Spec.Command != "" {
		if argv, err = (Binaries{Watcher: s.Bin}).Command(s.Spec, config); err != nil {
			return nil, err
		}
		dir, title = "", s.Spec.Label() // its relative paths are the user's
	}
	c := child{name: s.Name, title: title, argv: argv, logs: s.Logs, dir: dir}
	if s.Pods != nil {
		argv[0] = "/" + programWatcher // as in its image
		c, err = s.Pods.place(c, programWatcher, pod.Spec{ServiceAccount: pod.AccountWatcher,
			Files: []string{config, filepath.Join(s.Cell, s.file("filter")), s.Kubeconfig}})
		if err != nil {
			return nil, err
		}
	}
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		Process: p, Argv: argv, Own: s.Spec.Command == "", Instance: s.Instance, setup: s, ports: ports, http: s.client(p),
		health:  "http://127.0.0.1:" + strconv.Itoa(ports[0]),
		metrics: "http://127.0.0.1:" + strconv.Itoa(ports[1]) + "/metrics",
	}, nil
}

// portTaken is how a watcher's log and its failure say that it could not listen.
const portTaken = "address already in use"

// PortTaken reports whether a watcher ended because it could not listen.
func (w *Watcher) PortTaken() bool { return strings.Contains(LastLine(w.Log), portTaken) }

// Scrape reads the watcher's metrics.
func (w *Watcher) Scrape(ctx context.Context) (history.Scrape, error) {
	_, s, err := w.Metrics(ctx)
	return s, err
}

// Metrics reads the watcher's metrics, as text and parsed.
func (w *Watcher) Metrics(ctx context.Context) ([]byte, history.Scrape, error) {
	return scrape(ctx, w.http, w.metrics)
}

// Probe asks /healthz on a connection of its own, as a kubelet does, and returns how long the answer took.
func (w *Watcher) Probe(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	client := w.setup.client(w.Process)
	defer client.CloseIdleConnections()
	_, err := answer(get(ctx, client, w.health+"/healthz"))
	return time.Since(began), err
}

// Resources is the URL of the watcher's resource watcher; empty where it is off.
func (w *Watcher) Resources() string {
	if w.setup.Serving == nil {
		return ""
	}
	return w.setup.Serving.base(w.ports[2])
}

// SaveMetrics writes the watcher's metrics and its health page to files.
func (w *Watcher) SaveMetrics(ctx context.Context, metrics, health string) error {
	if err := save(ctx, w.http, w.metrics, metrics); err != nil {
		return err
	}
	return save(ctx, w.http, w.health+"/healthz", health)
}

// Named reports whether a Lease's holder of that identity, host-pid-random, is this replica.
func (w *Watcher) Named(identity string) bool {
	parts := strings.Split(identity, "-")
	return len(parts) > 2 && parts[len(parts)-2] == strconv.Itoa(w.PID())
}

// Leads reports whether a replica is at work, by what it has received.
func (w *Watcher) Leads(ctx context.Context) bool {
	s, err := w.Scrape(ctx)
	return err == nil && s.Value(metric.EventsReceived) > 0
}

// AwaitReady waits until the watcher has completed its first lists. A watcher that is not ours has no way to say so.
func (w *Watcher) AwaitReady(ctx context.Context) error {
	if !w.Own {
		return nil
	}
	return w.Await(ctx, "the watcher's readiness", 20*time.Millisecond, SyncLimit+w.setup.Patience, w.ready)
}

// ready asks /readyz.
func (w *Watcher) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err := answer(get(ctx, w.http, w.health+"/readyz"))
	return err == nil
}

// Configure writes a changed configuration for the running watcher, which is not told.
func (w *Watcher) Configure(change func(*spec.Watcher)) error {
	change(&w.setup.Spec)
	_, err := w.setup.renderConfig(w.ports)
	return err
}

// Spec is the configuration that the watcher runs with now.
func (w *Watcher) Spec() spec.Watcher { return w.setup.Spec }

// Counters is the watcher's account in the judge's form, nil if it gives none.
func Counters(s history.Scrape, started, finished int64) *check.Counters {
	total := measure.EventsOf(s)
	if total == nil {
		return nil
	}
	c := &check.Counters{
		ScrapeStarted: started, ScrapeFinished: finished,
		Total: *total, Kinds: measure.EventsByKind(s),
		Relists:        Whole(s.By(metric.Relists, "kind")),
		FreshnessCount: Whole(s.By(metric.Freshness+"_count", "kind")),
	}
	if s.Has(metric.StorageRequests) {
		c.StorageSucceeded, c.StorageFailed = map[string]int64{}, map[string]int64{}
	}
	for _, p := range s[metric.StorageRequests] {
		to := c.StorageFailed
		if p.Labels["status"] == "success" {
			to = c.StorageSucceeded
		}
		if m := p.Labels["method"]; m == "PUT" || m == "DELETE" {
			to[p.Labels["resource_type"]] += int64(p.Value)
		}
	}
	for _, p := range s[metric.OldestUnsent] {
		if c.OldestUnsent == nil || p.Value > *c.OldestUnsent {
			c.OldestUnsent = new(p.Value)
		}
	}
	return c
}

// Whole returns counters as whole numbers; nil stays nil.
func Whole(m map[string]float64) map[string]int64 {
	if m == nil {
		return nil
	}
	out := make(map[string]int64, len(m))
	for k, v := range m {
		out[k] = int64(v)
	}
	return out
}
