package virtual

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

func processRows() []row {
	return []row{
		{id: "F14", asserted: "COLTS", variants: []variant{
			terminated("up", "", 300*time.Millisecond),
			terminated("down", "refuse(from=2s,for=20s)", 0),
			terminated("silent", "blackhole(from=2s,for=20s)", 0),
		}},
		{id: "F20", asserted: "COLBT", variants: []variant{
			resized("up", ""),
			resized("down", "refuse(from=10s,for=10s)"),
			resized("failing", "503:20%, reset-after:5%"),
		}},
		{id: "F23", asserted: "CO", variants: []variant{
			{name: "conditional", setup: overlap(setup{span: 60 * time.Second, mode: check.ModeConditional})},
			{name: "faithful", setup: overlap(setup{span: 60 * time.Second, edit: synced(10 * time.Second)}), check: map[rune]func(*outcome) error{
				'O': func(*outcome) error { return nil }, // two writers without preconditions
			}},
		}},
	}
}

// queueNumbers are what the watcher is changed to, one after the other.
var queueNumbers = []int{1, 16, 2}

// resized changes the queues of the running watcher eight times, at moments drawn by the
// seed. Queues become at most as long as they were at the start.
func resized(name, faults string) variant {
	const times = 8
	v := variant{name: name, keys: -1}
	v.setup = setup{span: 30 * time.Second, latency: resizedLatency.String(), storage: faults, most: slices.Max(queueNumbers)}
	v.setup.edit = func(c *config.Config, _ *config.Filter) {
		c.BCS.PodQueueNum = queueNumbers[0]
		if c.BCS.Strategy == pipeline.Single { // has no number of queues; row F0 and others have it
			c.BCS.Strategy, c.BCS.AllowUnordered = pipeline.Partitioned, false
		}
	}
	v.setup.hooks = []hook{{0, func(w *world) {
		rng := rand.New(rand.NewPCG(w.setup.seed, 0xf20))
		var moments []time.Duration
		for range times {
			moments = append(moments, time.Duration(rng.Int64N(int64(v.setup.span))))
		}
		slices.Sort(moments)
		for i, at := range moments {
			w.until(at)
			queues, length := queueNumbers[(i+1)%len(queueNumbers)], w.cfg.BCS.HandlerQueueLen
			if rng.IntN(2) == 0 {
				length = min(length, 1+rng.IntN(10))
			}
			w.resize(queues, length)
		}
	}}}
	v.check = map[rune]func(*outcome) error{'L': func(o *outcome) error {
		if ok, failed := value(o.scrape, metric.ConfigReloads, "result", metric.ReloadOK), value(o.scrape, metric.ConfigReloads, "result", metric.ReloadFailed); ok != times || failed != 0 {
			return fmt.Errorf("%g changes took place and %g did not, want %d", ok, failed, times)
		}
		if n := value(o.scrape, metric.EventsDropped); n != 0 {
			return fmt.Errorf("%g events dropped", n)
		}
		return general('L', o)
	}}
	if faults == "" {
		v.check['T'] = freshWithin(time.Second)['T']
	}
	return v
}

// resize has the running watcher read a configuration with other queues.
func (w *world) resize(queues, length int) {
	w.mark(history.MarkResized)
	if err := w.last().watch.Reload(func() (config.Config, config.Filter, error) {
		cfg := w.last().cfg
		cfg.BCS.PodQueueNum, cfg.BCS.HandlerQueueLen = queues, length
		return cfg, w.filt, nil
	}); err != nil {
		w.problem("change to %d queues of %d: %v", queues, length, err)
	}
}

// resizedLatency is what a request takes while queues change.
const resizedLatency = 50 * time.Millisecond

// overlap starts a second watcher in the middle and ends the first 30 s later.
func overlap(s setup) setup {
	s.hooks = []hook{{s.span / 4, func(w *world) {
		first := w.last()
		second := w.start()
		if err := second.ready(time.Minute); err != nil {
			w.t.Error(err)
		}
		time.Sleep(30 * time.Second)
		first.stop()
	}}}
	return s
}

const drainTimeout = 10 * time.Second

// terminated ends the watcher in the middle of the load and starts another one later.
func terminated(name, faults string, slow time.Duration) variant {
	s := setup{span: 40 * time.Second, storage: faults}
	if slow > 0 {
		s.latency = slow.String()
	}
	s.hooks = []hook{{10 * time.Second, func(w *world) {
		p := w.last()
		from := time.Now()
		p.stop()
		w.abandoned(from.Add(-time.Second))
		time.Sleep(15 * time.Second)
		if err := w.start().ready(time.Minute); err != nil {
			w.t.Error(err)
		}
	}}}
	edit := func(c *config.Config, _ *config.Filter) { // deletions while it was away need it
		c.Synchronizer.Disabled, c.Synchronizer.Period = false, config.Duration(15*time.Second)
	}
	s.edit = edit
	return variant{name: name, keys: -1, setup: s, check: map[rune]func(*outcome) error{
		'T': func(o *outcome) error {
			if took := o.took[0]; took > drainTimeout+500*time.Millisecond+closing {
				return fmt.Errorf("it took %s to end, want %s", took, drainTimeout)
			}
			return nil
		},
		'C': func(o *outcome) error {
			if c := o.verdict.Checks["G9"]; c.Verdict != result.Pass {
				return fmt.Errorf("G9 %s: %s %s", c.Verdict, c.Counterexample, c.Note)
			}
			return general('C', o)
		},
	}}
}

// closing is what the HTTP servers may take after the drain.
const closing = 1100 * time.Millisecond

var droppedEvents = regexp.MustCompile(`msg="events dropped".* events=(\d+)`)

// abandoned compares what the ended watcher said it dropped with what is missing.
func (w *world) abandoned(before time.Time) {
	said := 0
	w.mu.Lock()
	for _, m := range droppedEvents.FindAllStringSubmatch(w.logs.String(), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			w.t.Error(err)
		}
		said += n
	}
	w.mu.Unlock()
	if missing := w.behind(before); missing > 0 && said == 0 {
		w.problem("%d objects are not in storage, and the watcher did not say that it dropped an event", missing)
	}
}

// behind counts objects that have not changed since a time and of which storage holds
// something else.
func (w *world) behind(before time.Time) (n int) {
	late := map[string]bool{}
	w.mu.Lock()
	for _, r := range w.ops {
		late[r.Kind+"/"+r.Namespace+"/"+r.Name] = r.Started > before.UnixNano()
	}
	w.mu.Unlock()
	rules := w.rules()
	have := map[string]string{}
	for _, d := range w.mock.Store().All() {
		have[d.Kind+"/"+d.Namespace+"/"+d.Name] = fmt.Sprint(d.UID, d.ResourceVersion)
	}
	for _, r := range w.kinds() {
		for _, o := range w.api.Objects(r.Key()) {
			if !late[r.Kind+"/"+o.Namespace+"/"+o.Name] && rules.Wants(r.Kind, o.Namespace, o.Name) && r.Kind != "Node" && have[r.Kind+"/"+o.Namespace+"/"+o.Name] != fmt.Sprint(o.UID, o.ResourceVersion) {
				n++
			}
		}
	}
	return n
}

func custom(i int, version string) apisim.Resource {
	return apisim.Resource{Group: "example.com", Versions: []string{version}, Name: fmt.Sprintf("kind%ds", i), Kind: fmt.Sprintf("Kind%d", i), Namespaced: true, Custom: true}
}

// serve adds custom resources with their definitions.
func serve(from, to int, version string) func(*world) {
	return func(w *world) {
		for i := from; i < to; i++ {
			r := custom(i, version)
			if err := w.api.SetResource(r); err != nil {
				w.t.Error(err)
			}
			w.define(r, true)
		}
	}
}

func fill(from, to, n int) func(*world) {
	return func(w *world) {
		for i := from; i < to; i++ {
			for k := range n {
				w.mu.Lock()
				id := int64(400_000 + len(w.ops))
				w.mu.Unlock()
				w.do(op{id: id, typ: oplog.TypePatch, resource: custom(i, "v1"), ns: "a", name: fmt.Sprint("c", k)}, oplog.PhaseDrain)
			}
		}
	}
}

func unserve(from, to int) func(*world) {
	return func(w *world) {
		for i := from; i < to; i++ {
			r := custom(i, "v1")
			if _, err := w.api.Delete(definitions.Key(), "", r.Name+".example.com"); err != nil {
				w.t.Error(err)
			}
			if err := w.api.RemoveResource(r.Key()); err != nil {
				w.t.Error(err)
			}
		}
	}
}

func definitionsChange() []variant {
	const seconds = time.Second
	var kinds []string
	for i := range 100 {
		kinds = append(kinds, custom(i, "v1").Kind)
	}
	changing := func(name string, hooks ...hook) variant {
		s := setup{span: 90 * time.Second, hooks: hooks, edit: synced(10 * time.Second), extra: kinds}
		noRelists := relistsAtMost(func(o *outcome) (n int64) {
			for k, v := range o.relists {
				if strings.HasPrefix(k, "Kind") {
					n += v
				}
			}
			return n
		})
		v := variant{name: name, setup: s, plain: true}
		v.check = merge(noRelists, isolated(func(oplog.Record) bool { return false }, setup{}), map[rune]func(*outcome) error{
			'B': func(o *outcome) error {
				if n := len(served()) + len(kinds) + 1; o.open > n {
					return fmt.Errorf("%d watches are open in the end, want at most %d", o.open, n)
				}
				return general('B', o)
			},
		})
		return v
	}
	return []variant{
		changing("added and removed", hook{5 * seconds, serve(0, 1, "v1")}, hook{10 * seconds, fill(0, 1, 3)}, hook{40 * seconds, unserve(0, 1)}),
		changing("switched", hook{5 * seconds, serve(0, 1, "v1")}, hook{10 * seconds, fill(0, 1, 3)}, hook{30 * seconds, serve(0, 1, "v2")}, hook{40 * seconds, fill(0, 1, 3)}),
		changing("unserved", hook{5 * seconds, serve(0, 1, "v1")}, hook{10 * seconds, fill(0, 1, 3)}, hook{30 * seconds, func(w *world) {
			w.define(custom(0, "v1"), false)
			if err := w.api.RemoveResource(custom(0, "v1").Key()); err != nil {
				w.t.Error(err)
			}
		}}),
		changing("100 at once", hook{5 * seconds, serve(0, 100, "v1")}, hook{10 * seconds, fill(0, 100, 1)}, hook{60 * seconds, unserve(50, 100)}),
	}
}
