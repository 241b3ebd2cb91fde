package virtual

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
)

const (
	cluster     = "BCS-K8S-90001"
	mockAddr    = "127.0.0.1:50024"
	watcherHost = "127.0.0.1"
	healthPort  = 8080
	metricPort  = 8081
	canary      = "c4n4ry-9f31d7"
)

// setup is what one run is made of.
type setup struct {
	seed     uint64
	ops      int
	span     time.Duration // of the load
	latency  string        // of storage; empty is 5ms
	capacity string        // of storage; empty is unlimited
	mode     string        // of storage; empty is faithful
	storage  string        // faults of storage, in its grammar, from the start of the load on
	watch    string        // faults of the watch side
	early    bool          // the faults are in force before the watcher starts
	noCache  bool          // the apiserver lists in pages at version 0 too
	edit     func(*config.Config, *config.Filter)
	hooks    []hook
	// after runs once everything has converged.
	after func(*world)
	// recreate makes most operations delete and create again.
	recreate bool
	// bulk is how many more Pods there are from the beginning.
	bulk int
	// touch changes every object after the faults are gone.
	touch bool
	// bookmarks is the apiserver's period; 0 is a minute.
	bookmarks time.Duration
}

// hook is something done while the load runs.
type hook struct {
	at  time.Duration
	run func(*world)
}

// world is one run.
type world struct {
	t     *testing.T
	setup setup
	api   *apisim.Server
	mock  *storagemock.Server
	admin http.Handler
	net   *network
	cfg   config.Config
	filt  config.Filter
	began time.Time // of the load

	mu       sync.Mutex // guards the rest
	ops      []oplog.Record
	marks    []history.Mark
	procs    []*process
	logs     bytes.Buffer
	queued   []float64 // events, at looks at the watcher while it works
	problems []string
}

// process is one run of the watcher.
type process struct {
	w      *world
	watch  *watcher.Watcher // nil: the imitation runs
	cfg    config.Config
	cancel context.CancelFunc
	done   chan struct{}
	err    error
	port   uint16
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// Write takes the watcher's log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logs.Write(p)
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{t: t, setup: s, net: newNetwork(canary)}
	var err error
	w.api, err = apisim.New(apisim.Config{Resources: served(), Seed: s.seed, NoWatchCache: s.noCache, BookmarkPeriod: s.bookmarks})
	if err != nil {
		t.Fatal(err)
	}
	mc := storagemock.DefaultConfig()
	mc.Listen, mc.Seed, mc.Latency = mockAddr, s.seed, "5ms"
	if s.latency != "" {
		mc.Latency = s.latency
	}
	if s.capacity != "" {
		mc.Capacity = s.capacity
	}
	if s.mode != "" {
		mc.Mode = s.mode
	}
	registry := prometheus.NewRegistry()
	w.mock, err = storagemock.New(mc, storagemock.Settings{Listen: w.net.listen, Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	w.admin = w.mock.AdminHandler(registry, false)

	cfg := config.Default()
	cfg.Default.ClusterID = cluster
	cfg.Address, cfg.Port, cfg.MetricPort = watcherHost, healthPort, metricPort
	cfg.WatchResource.DisableNetService = true
	cfg.BCS.CustomStorageEndpoints = config.List{"http://" + mockAddr}
	cfg.BCS.PodQueueNum = 4
	cfg.BCS.Conditional = s.mode == check.ModeConditional
	cfg.Synchronizer.Disabled = true
	filter := config.Filter{
		K8sResourceWhiteList: []string{"v1", "apps/v1"}, CRDResourceWhiteList: []string{"example.com/v1", "example.com/v2"},
		ResourceNamespaceFilters: []string{ignored},
		ResourceMaskers:          []config.Masker{{Kind: "Secret", Path: []string{"data"}}},
	}
	if s.edit != nil {
		s.edit(&cfg, &filter)
	}
	w.cfg, w.filt = cfg, filter
	return w
}

// rules are the filter file's, in the judge's words.
func (w *world) rules() check.Rules {
	r := check.Rules{
		IgnoreNamespaces: w.filt.ResourceNamespaceFilters, IgnoreNames: w.filt.ResourceNameFilters,
		Kinds:             []string{"Pod", "ConfigMap", "Secret", "Node", "Event", "Namespace", "ReplicaSet", "Thing"},
		KeepManagedFields: w.filt.KeepManagedFields,
	}
	for _, m := range w.filt.ResourceMaskers {
		r.Masks = append(r.Masks, check.Mask{Kind: m.Kind, Namespace: m.Namespace, Path: m.Path})
	}
	return r
}

// define applies the CustomResourceDefinition of a resource.
func (w *world) define(r apisim.Resource, served bool) {
	w.t.Helper()
	raw := fmt.Sprintf(`{"metadata":{"name":"%s.%s"},"spec":{"group":%q,"scope":"Namespaced","names":{"plural":%q,"kind":%q},`+
		`"versions":[{"name":%q,"served":%t,"storage":true}]},"status":{"conditions":[{"type":"Established","status":"True"}]}}`, r.Name, r.Group, r.Group, r.Name, r.Kind, r.Versions[0], served)
	if _, err := w.api.Apply(definitions.Key(), []byte(raw)); err != nil {
		w.t.Fatal(err)
	}
}

// do performs an operation and records it.
func (w *world) do(o op, phase string) {
	w.t.Helper()
	now := time.Now()
	r := oplog.Record{
		ID: o.id, Phase: phase, Type: o.typ, Kind: o.resource.Kind, Namespace: o.ns, Name: o.name,
		Intended: now.UnixNano(), Started: now.UnixNano(), Finished: now.UnixNano(), Status: http.StatusOK,
	}
	if o.typ == oplog.TypeDelete {
		gone, err := w.api.Delete(o.resource.Key(), o.ns, o.name)
		if err != nil {
			w.t.Error(err)
			return
		}
		r.UID, r.ResourceVersion, r.DeletedVersion = gone.UID, gone.Before, gone.ResourceVersion
	} else {
		var was apisim.Object
		for _, x := range w.api.Objects(o.resource.Key()) {
			if x.Namespace == o.ns && x.Name == o.name {
				was = x
			}
		}
		raw, err := o.object(was.JSON(), canary)
		if err != nil {
			w.t.Error(err)
			return
		}
		made, err := w.api.Apply(o.resource.Key(), raw)
		if err != nil {
			w.t.Error(err)
			return
		}
		r.UID, r.ResourceVersion = made.UID, made.ResourceVersion
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops = append(w.ops, r)
}

func (w *world) mark(what string, key ...string) {
	m := history.Mark{Time: time.Now().UnixNano(), What: what}
	if len(key) == 3 {
		m.Kind, m.Namespace, m.Name = key[0], key[1], key[2]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, m)
}

// start runs a watcher on ports of its own.
func (w *world) start() *process {
	w.t.Helper()
	w.mu.Lock()
	p := &process{w: w, done: make(chan struct{}), port: metricPort + 10*uint16(len(w.procs))}
	w.procs = append(w.procs, p)
	w.mu.Unlock()
	cfg := w.cfg
	cfg.Port, cfg.MetricPort = p.port-1, p.port
	set := watcher.Settings{
		Logger: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})),
		Kube:   &rest.Config{Host: "http://apisim", Transport: direct{pipetest.Direct(w.api)}, QPS: -1},
		Dial:   w.net.dial, Listen: w.net.listen,
	}
	watch, err := watcher.New(cfg, w.filt, set)
	if err != nil {
		w.t.Fatal(err)
	}
	p.watch = watch
	p.cfg = cfg
	w.mark(history.MarkStarted)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		p.err = watch.Run(ctx)
	}()
	return p
}

// direct has no connections that could be idle.
type direct struct{ http.RoundTripper }

func (direct) CloseIdleConnections() {}

// get asks one of the process's HTTP servers.
func (p *process) get(port uint16, path string) (string, error) {
	client := http.Client{Transport: &http.Transport{DialContext: p.w.net.dial, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get(fmt.Sprintf("http://%s:%d%s", watcherHost, port, path)) //nolint:noctx // it has a timeout
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", resp.Status, b.String())
	}
	return b.String(), nil
}

func (p *process) scrape() (history.Scrape, error) {
	text, err := p.get(p.port, "/metrics")
	if err != nil {
		return nil, err
	}
	if strings.Contains(text, canary) {
		p.w.problem("the canary is in the metrics")
	}
	return history.ParseScrape(strings.NewReader(text))
}

// ready waits for the first lists.
func (p *process) ready(limit time.Duration) error {
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		select {
		case <-p.done:
			return fmt.Errorf("the watcher ended: %w", p.err)
		default:
		}
		if _, err = p.get(p.port-1, "/readyz"); err == nil {
			p.w.mark(history.MarkReady)
			return nil
		}
	}
	return fmt.Errorf("the watcher is not ready after %s: %w", limit, err)
}

// stop is SIGTERM.
func (p *process) stop() {
	select {
	case <-p.done:
		return
	default:
	}
	p.w.mark(history.MarkTerminated)
	p.cancel()
	<-p.done
	p.w.mark(history.MarkExited)
	if p.err != nil && !errors.Is(p.err, context.Canceled) {
		p.w.problem("the watcher ended with: %v", p.err)
	}
}

// last is the process that was started last.
func (w *world) last() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.procs[len(w.procs)-1]
}

// firing tells which faults have hit something.
type firing struct {
	Spec  string `json:"spec"`
	Fired int    `json:"fired"`
	Keys  int    `json:"keys"`
}

func (w *world) fired() []firing {
	rec := httptest.NewRecorder()
	w.admin.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/faults", nil))
	var all []firing
	if err := json.Unmarshal(rec.Body.Bytes(), &all); err != nil {
		w.t.Fatalf("the mock's faults: %v in %s", err, rec.Body)
	}
	for _, f := range w.api.Faults().List() {
		all = append(all, firing{f.Spec, f.Fired, f.Keys})
	}
	return all
}

func (w *world) addFaults() {
	w.t.Helper()
	if w.setup.storage != "" {
		if err := w.mock.AddFaults(w.setup.storage); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.setup.watch != "" {
		if err := w.api.Faults().Add(w.setup.watch); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) heal() {
	rec := httptest.NewRecorder()
	w.admin.ServeHTTP(rec, httptest.NewRequest(http.MethodDelete, "/faults", nil))
	if rec.Code >= 300 {
		w.t.Fatalf("removing the mock's faults: %d %s", rec.Code, rec.Body)
	}
	if err := w.api.Faults().Remove(0); err != nil {
		w.t.Fatal(err)
	}
}

// tamper changes storage behind the watcher's back.
func (w *world) tamper(method, kind, ns, name, body string) {
	what := map[string]string{http.MethodDelete: history.MarkTamperRemove, http.MethodPut: history.MarkTamperEdit}[method]
	w.mark(what, kind, ns, name)
	rec := httptest.NewRecorder()
	url := fmt.Sprintf("/state?cluster=%s&kind=%s&namespace=%s&name=%s", cluster, kind, ns, name)
	w.admin.ServeHTTP(rec, httptest.NewRequest(method, url, strings.NewReader(body)))
	if rec.Code >= 300 {
		w.t.Errorf("tampering with %s/%s/%s: %d %s", kind, ns, name, rec.Code, rec.Body)
	}
}

func (p *process) value(name string, labels ...string) float64 {
	p.w.t.Helper()
	s, err := p.scrape()
	if err != nil {
		p.w.t.Fatal(err)
	}
	return s.Value(name, labels...)
}

func (w *world) sample() {
	p := w.last()
	select {
	case <-p.done:
		return
	default:
	}
	s, err := p.scrape()
	if err != nil {
		return // it is starting or stopping
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued = append(w.queued, s.Value(metric.EventsQueued))
}
