package virtual

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// outcome is what a run leaves behind.
type outcome struct {
	t        *testing.T
	setup    setup
	verdict  *check.Verdict
	ops      []oplog.Record
	entries  []ledger.Entry
	fired    []firing
	counters *check.Counters
	scrape   history.Scrape
	queued   []float64
	problems []string
	planned  int
	ready    time.Duration // from the watcher's start
	began    time.Time     // of the load
	healed   time.Time     // when the faults were removed
	refused  int           // connections
	settled  time.Time     // when storage was seen to be equal, zero if never
	peak     int           // connections to storage
	leaks    int
	relists  map[string]int64
}

// simulate runs a setup in a bubble of its own.
func simulate(t *testing.T, s setup) (o *outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { o = newWorld(t, s).run() })
	o.t = t
	return o
}

// baseline is another run to compare with.
func (o *outcome) baseline(s setup) *outcome { return simulate(o.t, s) }

// serve runs storage; the function it returns ends that, and every watcher before.
func (w *world) serve() (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.mock.Run(ctx) }()
	return func() {
		for _, p := range w.procs {
			p.stop()
		}
		stop()
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) run() *outcome {
	s := w.setup
	defer w.serve()()
	prepare, load := plan(s)
	for _, ns := range []string{"a", "b", ignored} {
		w.do(op{id: int64(len(load) + 1000), typ: oplog.TypeCreate, resource: apisim.Namespaces, name: ns}, oplog.PhasePrepare)
		w.do(op{id: int64(len(load) + 1001), typ: oplog.TypeCreate, resource: replicaSets, ns: ns, name: "web"}, oplog.PhasePrepare)
	}
	w.define(things, true)
	for i := range s.bulk {
		prepare = append(prepare, op{id: int64(100_000 + i), typ: oplog.TypeCreate, resource: apisim.Pods, ns: "b", name: fmt.Sprintf("bulk-%d", i)})
	}
	for _, o := range prepare {
		w.do(o, oplog.PhasePrepare)
	}
	if s.early {
		w.addFaults()
	}
	started := time.Now()
	p := w.start()
	if err := p.ready(10 * time.Minute); err != nil {
		w.t.Fatal(err)
	}
	ready := time.Now()
	time.Sleep(2 * time.Second)
	w.began = time.Now()
	if !s.early {
		w.addFaults()
	}
	w.load(load)
	w.until(s.span)
	out := &outcome{setup: s, planned: len(load), ready: ready.Sub(started), began: w.began, fired: w.fired()}
	w.heal()
	out.healed = time.Now()
	if s.touch {
		w.touch()
	}
	out.settled = w.settle()
	if s.after != nil {
		s.after(w)
	}
	w.collect(out, ready)
	return out
}

// load performs the operations at their times, and the hooks beside them.
func (w *world) load(ops []op) {
	var side sync.WaitGroup
	for _, h := range w.setup.hooks {
		side.Go(func() {
			w.until(h.at)
			h.run(w)
		})
	}
	const looks = 12
	side.Go(func() {
		for i := range looks {
			w.until(w.setup.span * time.Duration(i+1) / looks)
			w.sample()
		}
	})
	for _, o := range ops {
		w.until(o.at)
		w.do(o, oplog.PhaseLoad)
	}
	side.Wait()
}

// touch changes what there is, and makes again what there was.
func (w *world) touch() {
	type id struct{ kind, ns, name string }
	last := map[id]oplog.Record{}
	var order []id
	for _, r := range w.ops {
		k := id{r.Kind, r.Namespace, r.Name}
		if _, known := last[k]; !known {
			order = append(order, k)
		}
		last[k] = r
	}
	for i, k := range order {
		at := slices.IndexFunc(w.kinds(), func(r apisim.Resource) bool { return r.Kind == k.kind })
		o := op{id: int64(200_000 + i), typ: oplog.TypePatch, resource: w.kinds()[at], ns: k.ns, name: k.name}
		if last[k].Type == oplog.TypeDelete {
			o.typ = oplog.TypeCreate
		}
		w.do(o, oplog.PhaseLoad)
	}
}

// until sleeps until so long after the start of the load.
func (w *world) until(d time.Duration) { time.Sleep(time.Until(w.began.Add(d))) }

// settle waits until storage equals the apiserver and nothing moves, or for the limit, and returns when that was.
func (w *world) settle() time.Time {
	const limit = 10 * time.Minute
	begin := time.Now()
	var equal time.Time
	last := w.mock.Ledger().Len()
	still := time.Now()
	for time.Since(begin) < limit {
		time.Sleep(500 * time.Millisecond)
		if n := w.mock.Ledger().Len(); n != last {
			last, still = n, time.Now()
			equal = time.Time{}
			continue
		}
		if !w.equal() {
			equal = time.Time{}
			continue
		}
		if equal.IsZero() {
			equal = time.Now()
		}
		// Longer than the longest backoff and fence.
		if time.Since(still) > 12*time.Second {
			if s, err := w.last().scrape(); err == nil && s.Value(metric.EventsQueued) == 0 {
				return equal
			}
		}
	}
	return time.Time{}
}

// kinds are the watched resources that the apiserver serves.
func (w *world) kinds() []apisim.Resource {
	return slices.DeleteFunc(served(), func(r apisim.Resource) bool { return r.Kind == definitions.Kind })
}

// state reads both sides.
func (w *world) state() []history.StateRecord {
	w.t.Helper()
	rules := w.rules()
	var all []history.StateRecord
	take := func(raw check.Raw) {
		rec, err := check.Digest(raw, rules)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, rec)
	}
	for _, r := range w.kinds() {
		for _, o := range w.api.Objects(r.Key()) {
			take(check.Raw{Side: history.SideApiserver, Kind: r.Kind, Namespace: o.Namespace, Name: o.Name, JSON: o.JSON()})
		}
	}
	for _, d := range w.mock.Store().All() {
		take(check.Raw{Side: history.SideStorage, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, JSON: d.Data()})
	}
	return all
}

// equal compares both sides by uid and version, Nodes by uid and content.
func (w *world) equal() bool {
	type id struct{ kind, ns, name string }
	rules := w.rules()
	want := map[id]string{}
	rv := func(kind, uid string, v uint64, raw []byte) string {
		if kind != "Node" {
			return uid + "@" + strconv.FormatUint(v, 10)
		}
		rec, err := check.Digest(check.Raw{Side: history.SideApiserver, Kind: kind, JSON: raw}, rules) // without heartbeats
		if err != nil {
			w.t.Fatal(err)
		}
		return uid + rec.Digest
	}
	for _, r := range w.kinds() {
		for _, o := range w.api.Objects(r.Key()) {
			if rules.Wants(r.Kind, o.Namespace, o.Name) {
				want[id{r.Kind, o.Namespace, o.Name}] = rv(r.Kind, o.UID, o.ResourceVersion, o.JSON())
			}
		}
	}
	for _, d := range w.mock.Store().All() {
		k := id{d.Kind, d.Namespace, d.Name}
		if d.Kind == synchronizer.StateKind {
			continue
		}
		have, ok := want[k]
		if d.Kind == "Event" && !ok {
			continue // never deleted
		}
		if !ok || have != rv(d.Kind, d.UID, d.ResourceVersion, d.Data()) {
			return false
		}
		delete(want, k)
	}
	return len(want) == 0
}

// collect scrapes, reads both sides and judges.
func (w *world) collect(out *outcome, ready time.Time) {
	w.t.Helper()
	time.Sleep(time.Second)
	meta := check.Meta{
		Cluster: cluster, Strategy: string(w.cfg.BCS.Strategy), Mode: w.setup.mode, QueueFull: string(w.cfg.BCS.QueueFull),
		Rules: w.rules(), WatcherReady: ready.UnixNano(), LoadStarted: w.began.UnixNano(), LoadFinished: w.began.Add(w.setup.span).UnixNano(),
		StorageTimeout: int64(w.cfg.BCS.StorageTimeout),
	}
	if !w.cfg.Synchronizer.Disabled {
		meta.SyncPeriod = int64(w.cfg.Synchronizer.Period)
	}
	if p := w.last(); !p.ended() {
		now := time.Now()
		s, err := p.scrape()
		if err != nil {
			w.t.Fatal(err)
		}
		out.scrape = s
		c := party.Counters(s, now.UnixNano(), now.UnixNano())
		if c == nil || c.FreshnessCount == nil || c.OldestUnsent == nil { // nothing would be judged of what is missing
			w.t.Fatal("the watcher lacks metrics of its events")
		}
		if c.StorageSucceeded == nil { // it asked for nothing
			c.StorageSucceeded, c.StorageFailed = map[string]int64{}, map[string]int64{}
		}
		meta.Counters = c
		out.relists = meta.Counters.Relists
		meta.Until = now.UnixNano()
	}
	out.counters = meta.Counters
	state := w.state()
	for e := range w.mock.Ledger().From(1) {
		out.entries = append(out.entries, e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out.ops, out.queued, out.problems = w.ops, w.queued, w.problems
	out.peak, out.leaks, out.refused = w.net.peakOf(mockAddr), w.net.leaks, w.net.refusedOf(mockAddr)
	if strings.Contains(w.logs.String(), canary) {
		out.problems = append(out.problems, "the canary is in the logs")
	}
	h := &check.History{Meta: meta, Ops: sequence(out.ops), Ledger: sequence(out.entries), State: sequence(state), Marks: w.marks}
	v, err := check.Judge(context.Background(), h)
	if err != nil {
		w.t.Fatal(err)
	}
	out.verdict = v
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func sequence[T any](all []T) func(func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// failures are the guarantees that failed, with their counterexamples.
func (o *outcome) failures(guarantees ...string) []string {
	var out []string
	for _, g := range guarantees {
		if c := o.verdict.Checks[g]; c.Verdict == result.Fail {
			out = append(out, g+": "+c.Counterexample)
		}
	}
	return out
}

// freshnessAfter counts operations from before t from then.
func (o *outcome) freshnessAfter(t int64) (p99, worst time.Duration) {
	later := *o
	later.ops = slices.Clone(o.ops)
	for i := range later.ops {
		later.ops[i].Intended = max(later.ops[i].Intended, t)
	}
	return later.freshness(func(oplog.Record) bool { return true })
}

// freshness is how long the included operations took to reach storage.
func (o *outcome) freshness(include func(oplog.Record) bool) (p99, worst time.Duration) {
	stored := map[int64]int64{}
	for c := range check.Changes(&check.Meta{}, o.ops, o.entries) {
		stored[c.Operation] = c.Stored
	}
	sent := map[string]bool{} // of an object that was never stored there is no telling
	for _, e := range o.entries {
		sent[e.UID] = true
	}
	var all []time.Duration
	for _, r := range o.ops {
		if r.Phase != oplog.PhaseLoad || r.Namespace == ignored || !sent[r.UID] || r.Type == oplog.TypeHeartbeat ||
			r.Kind == "Event" && r.Type == oplog.TypeDelete || !include(r) {
			continue
		}
		if at := stored[r.ID]; at != 0 {
			all = append(all, time.Duration(at-r.Intended))
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[(len(all)*99-1)/100], all[len(all)-1]
}
