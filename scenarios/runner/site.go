package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// site has what failpoints see of a cell: its record, apiserver, storage and watchers.
type site struct {
	r      *Runner
	dir    string // cells/<id>
	logs   string // logs/<id>
	s      *spec.Scenario
	record history.Cell // cell.json
	rules  check.Rules
	ignore []string // namespaces that were there before
	setup  faults.Setup
	faults *faults.Set
	pods   *party.Pods  // nil: the parties are processes of this machine
	skew   atomic.Int64 // storage's clock less this machine's, in nanoseconds, where it is a Pod

	api      *party.APIServer
	storage  *party.Storage
	proxy    *party.Proxy
	serving  *party.Serving // of the watcher that is judged
	watcher  *party.Watcher
	others   []*party.Watcher          // replicas, or a second watcher
	all      []*party.Watcher          // that were started
	live     atomic.Pointer[[]metered] // the watchers that work, for the sampler
	launched int
	leases   leaseLog
	asked    atomic.Int64 // requests to watchers
	refusals int          // watchers that were to refuse their configuration

	sampler  *sampler
	before   []byte // the watcher's metrics as the load began, as text
	marks    []history.Mark
	canaries []string
}

var _ faults.Cell = (*site)(nil)

func (c *site) Scenario() *spec.Scenario { return c.s }
func (c *site) Run() string              { return c.r.cellRunID(c.record.ID) }
func (c *site) Seed() uint64             { return c.record.Seed }
func (c *site) Dir() string              { return c.dir }
func (c *site) Setup() *faults.Setup     { return &c.setup }
func (c *site) API() *party.APIServer    { return c.api }
func (c *site) Storage() *party.Storage  { return c.storage }
func (c *site) Proxy() *party.Proxy      { return c.proxy }
func (c *site) Watcher() *party.Watcher  { return c.watcher }
func (c *site) Rules() check.Rules       { return c.rules }
func (c *site) AddCanary(secret string)  { c.canaries = append(c.canaries, secret) }

// Note shows what is done to the parties.
func (c *site) Note(text string) { c.r.progress.note(text) }

func (c *site) Others() []*party.Watcher { return slices.Clone(c.others) }

// SetWatchers makes main the watcher whose counters are read.
func (c *site) SetWatchers(main *party.Watcher, others []*party.Watcher) {
	live := []metered{main}
	if c.s.Shared() {
		for _, w := range others {
			live = append(live, w)
		}
	}
	if before := c.live.Load(); before != nil && c.sampler != nil {
		for _, former := range *before {
			if w, ok := former.(*party.Watcher); ok && w.Ended() && !slices.Contains(live, former) {
				c.sampler.ended(w, w.CPU())
			}
		}
	}
	c.watcher, c.others = main, others
	c.live.Store(&live)
	c.record.Watcher.Command = main.Argv
	// One account cannot separate the requests of two watchers.
	c.record.Watcher.Joined = c.record.Watcher.Joined || len(others) > 0 && !c.s.Watcher.LeaderElection
}

// Mark notes when something was done; every start of a watcher after the first is a restart.
func (c *site) Mark(m history.Mark) {
	if m.Time == 0 {
		m.Time = c.now().UnixNano()
	}
	switch m.What {
	case history.MarkStarted:
		if c.record.Watcher.Started != 0 {
			c.record.Watcher.Restarts++
		}
		c.record.Watcher.Started = m.Time
	case history.MarkReady:
		c.record.Watcher.Ready = m.Time
	}
	c.marks = append(c.marks, m)
}

// Launch starts a watcher without waiting for its first lists.
func (c *site) Launch(ctx context.Context, queues int) (*party.Watcher, error) {
	w, err := party.StartWatcher(ctx, c.watcherSetup(queues))
	if err == nil {
		c.all = append(c.all, w)
	}
	return w, err
}

// watcherSetup configures the next watcher.
func (c *site) watcherSetup(queues int) party.WatcherSetup {
	w := c.s.Watcher
	if queues > 0 {
		w.PodQueueNum = queues
	}
	c.launched++
	name := party.WatcherName
	if c.launched > 1 {
		name += "-" + strconv.Itoa(c.launched)
	}
	setup := party.WatcherSetup{
		Bin: c.r.opts.Binaries.Watcher, Name: name, Cell: c.dir, Logs: c.logs, Kubeconfig: c.kubeconfig(),
		Endpoints: c.storage.Endpoints, Ignore: c.ignore, Spec: w, Kinds: c.s.Kinds(), Customs: c.setup.Customs,
		Listed: c.setup.Listed, Masks: c.rules.Masks,
		Conditional: c.s.Storage.Mode == check.ModeConditional, CAFile: c.setup.CAFile, Patience: c.patience(0),
		Asked: &c.asked, Pods: c.pods,
	}
	if c.launched == 1 {
		setup.Serving = c.serving
	}
	if labels := c.s.Labels(c.launched - 1); len(labels) > 0 {
		setup.Selectors = map[string]string{"Pod": fmt.Sprintf("%s in (%s)", party.ShardLabel, strings.Join(labels, ","))}
	}
	if w.LeaderElection {
		setup.Lease = faults.Lease(c.Run())
		i := c.freeInstance()
		setup.Endpoints, setup.Instance = c.storage.Endpoints[i:i+1], i
	}
	return setup
}

// freeInstance returns an instance of storage that no replica writes to, so that the ledger shows who wrote.
func (c *site) freeInstance() int {
	for i := range c.storage.Endpoints {
		if !slices.ContainsFunc(c.all, func(w *party.Watcher) bool { return w.Instance == i && !w.Ended() }) {
			return i
		}
	}
	return 0 // more replicas than instances: a scenario with so many is refused
}

// patience grows with what exists before the load: a busy machine handles a thousand objects in a second.
func (c *site) patience(limit time.Duration) time.Duration {
	return limit + time.Duration(c.s.Load.Prefill)*time.Millisecond
}

// kubeconfig is the watcher's way to the apiserver.
func (c *site) kubeconfig() string {
	switch {
	case c.setup.Kubeconfig != "":
		return c.setup.Kubeconfig
	case c.proxy != nil && (c.launched == 1 || !c.s.Watch.Leader):
		return c.proxy.Kubeconfig
	}
	return c.within()
}

// within is the parties' way to the apiserver.
func (c *site) within() string {
	if c.pods != nil {
		return c.pods.Kubeconfig()
	}
	return c.apiserver()
}

// now is the time of the record: the clock of storage, which with the generator's makes most of it.
func (c *site) now() time.Time { return time.Now().Add(time.Duration(c.skew.Load())) }

// apiserver is the way to the apiserver itself.
func (c *site) apiserver() string {
	if c.s.Simulated() {
		return party.SimulatedKubeconfig(c.dir)
	}
	return c.r.cluster.Kubeconfig
}

// Begin starts the watcher that is judged and waits for its first lists.
func (c *site) Begin(ctx context.Context, queues int) error {
	w, err := c.Launch(ctx, queues)
	if err != nil {
		return err
	}
	c.Mark(history.Mark{What: history.MarkStarted, Time: w.Began().UnixNano() + c.skew.Load()})
	c.SetWatchers(w, c.others)
	if err := w.AwaitReady(ctx); err != nil {
		return err
	}
	c.Mark(history.Mark{What: history.MarkReady})
	return nil
}

// Spawn starts the watcher that is judged, in the place of one that has ended, and waits for nothing.
func (c *site) Spawn(_ context.Context) error {
	c.Mark(history.Mark{What: history.MarkStarted})
	w, err := c.spawn()
	if err == nil {
		c.SetWatchers(w, c.others)
	}
	return err
}

// spawn starts a watcher and waits for nothing.
func (c *site) spawn() (*party.Watcher, error) {
	w, err := party.SpawnWatcher(c.watcherSetup(0))
	if err == nil {
		c.all = append(c.all, w)
	}
	return w, err
}

// Resumed reads the counters of a watcher that took the place of the first as those from which the figures begin.
func (c *site) Resumed(ctx context.Context) error {
	return c.readMetrics(ctx, &c.before)
}

// metrics are the watcher's or, of replicas that divide the work, those of all.
func (c *site) metrics(ctx context.Context) ([]byte, history.Scrape, error) {
	of := *c.live.Load()
	if !c.s.Watcher.Divided() {
		of = of[:1]
	}
	return joined(ctx, of)
}

// readMetrics keeps the watcher's metrics; another watcher may have none.
func (c *site) readMetrics(ctx context.Context, into *[]byte) error {
	text, _, err := c.metrics(ctx)
	if err == nil {
		*into = text
	} else if c.watcher.Own {
		return c.watcher.Lost(ctx, err)
	}
	return nil
}

// startWitness records the controllers' writes. It runs after the watcher's first lists, so the watcher sees them all.
func (c *cell) startWitness(ctx context.Context) (err error) {
	if !c.s.Cluster.Controllers {
		return nil
	}
	c.witness, err = party.StartWitness(ctx, c.bench(), c.r.cluster.Kubeconfig, c.record.Kinds, c.ignore)
	return err
}

// lastWrites is how long a request that a controller had on its way may take.
const lastWrites = 300 * time.Millisecond

// hold stops the controllers at the end of the load, so that the state that storage is to
// reach stands still, and completes the witness's record of what they did.
func (c *cell) hold(ctx context.Context) error {
	if c.witness == nil {
		return nil
	}
	if err := c.r.cluster.Hold(); err != nil {
		return err
	}
	if err := lifecycle.Pause(ctx, lastWrites); err != nil {
		return err
	}
	return c.witness.End()
}

// release has the controllers go on and ends the witness, whatever state the cell is in.
func (c *cell) release() error {
	if c.witness == nil {
		return nil
	}
	return errors.Join(c.r.cluster.Release(), c.witness.End())
}

// RestartAPIServer kills kube-apiserver, starts it again and waits until it is ready.
func (c *site) RestartAPIServer(ctx context.Context) error {
	return c.restarted(c.r.cluster.RestartAPIServer(ctx))
}

// restarted has the sampler look at the new processes of the cluster.
func (c *site) restarted(err error) error {
	if err == nil {
		c.sampler.cluster(c.r.cluster.PIDs)
	}
	return err
}

// Backup copies what the apiserver holds.
func (c *site) Backup(ctx context.Context) error {
	if !c.s.Simulated() {
		return c.r.cluster.Backup()
	}
	_, err := c.api.Send(ctx, http.MethodPost, apisim.PathSave, nil)
	return err
}

// Restore puts the last backup back.
func (c *site) Restore(ctx context.Context) error {
	if !c.s.Simulated() {
		return c.restarted(c.r.cluster.Restore(ctx))
	}
	_, err := c.api.Send(ctx, http.MethodPost, apisim.PathRestore, nil)
	return err
}
