package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// scenario is a small open load with settings of the test's own.
func scenario(t testing.TB, sets ...string) *spec.Scenario {
	t.Helper()
	return parsed(t, "{model: open, rate: 400, duration: 5s, arrival: poisson, survivors: 0.2, recreate: 0.1}", sets...)
}

// parsed is one with another load.
func parsed(t testing.TB, load string, sets ...string) *spec.Scenario {
	t.Helper()
	const file = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: mine}
cluster: {provider: simulated}
storage: {latency: 'lognormal(p50=40ms,p99=90ms)', capacity: {inflight: 300}}
load: %s
watcher: {strategy: keyed, podQueueNum: 12}
drainTimeout: 1h
seed: 7
`
	f, err := spec.Format{}.Parse("mine.yaml", fmt.Appendf(nil, file, load), sets...)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Cells()[0].Scenario
	return &s
}

func run(t testing.TB, s *spec.Scenario, o Options) *Outcome {
	t.Helper()
	out, err := Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ofArrivals is the outcome of given arrivals.
func ofArrivals(t testing.TB, s *spec.Scenario, o Options, all iter.Seq[Arrival]) *Outcome {
	t.Helper()
	out, err := play(t.Context(), s, o, all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDeterministic: one seed, one outcome; another seed, another one.
func TestDeterministic(t *testing.T) {
	for _, strategy := range spec.Strategies {
		for _, full := range []string{"coalesce", "block", "drop"} {
			t.Run(strategy+"/"+full, func(t *testing.T) {
				s := scenario(t, "watcher.strategy="+strategy, "watcher.queueFull="+full, "watcher.handlerQueueLen=20", "watcher.writerQueueLen=30")
				a, b, other := run(t, s, Options{}), run(t, s, Options{}), run(t, s, Options{Seed: 8})
				if d := cmp.Diff(a, b); d != "" {
					t.Error(d)
				}
				if cmp.Equal(a, other) {
					t.Errorf("the seed changes nothing: %+v", a)
				}
				if a.Events != a.Requests+a.Coalesced+a.Dropped {
					t.Errorf("%d events, %d requests, %d coalesced, %d dropped", a.Events, a.Requests, a.Coalesced, a.Dropped)
				}
				if a.Dropped == 0 && a.Freshness.Count != a.Events {
					t.Errorf("%d of %d changes have arrived", a.Freshness.Count, a.Events)
				}
				if (full == "drop" && strategy == "single") != (a.Dropped > 0) && strategy == "single" {
					t.Errorf("%d dropped", a.Dropped)
				}
			})
		}
	}
}

// TestFigures: where the figures are known by arithmetic they are what they must be.
func TestFigures(t *testing.T) {
	at := func(yield func(Arrival) bool) {
		for i := range 100 {
			if !yield(Arrival{At: time.Duration(i) * time.Millisecond, Kind: podKind, Namespace: "n", Name: fmt.Sprint("p-", i), UID: "u"}) {
				return
			}
		}
	}
	s := scenario(t, "watcher.strategy=single", "storage.latency=10ms")
	o := ofArrivals(t, s, Options{Overhead: time.Millisecond}, at)
	want := &Outcome{
		Events: 100, Requests: 100, LoadSeconds: 0.099, DrainSeconds: new(1.1), DrainAfterLoadSeconds: new(1.001), StorageQPS: new(99 / 1.089), Efficiency: 99 / 1.089 / 100,
		HandlerMaxDepth: 90, MaxInFlight: 1,
	}
	if o.Freshness == nil || o.Freshness.Max < 1.0 || o.Freshness.Max > 1.002 || o.Freshness.Count != 100 {
		t.Errorf("freshness %+v", o.Freshness)
	}
	o.Freshness = nil
	near := cmp.Comparer(func(a, b float64) bool { d := a - b; return d < 1e-9 && d > -1e-9 })
	if d := cmp.Diff(want, o, near); d != "" {
		t.Error(d)
	}
}

// TestStrategies: partitions are uneven, dedup sends less, more workers drain sooner.
func TestStrategies(t *testing.T) {
	load := []string{"load.rate=600", "load.hotkeys={share: 0.5, objects: 5, burst: 20}"}
	of := map[string]*Outcome{}
	for _, strategy := range spec.Strategies {
		of[strategy] = run(t, scenario(t, append(load, "watcher.strategy="+strategy)...), Options{})
	}
	if p := of["partitioned"]; p.Imbalance <= 1.05 || of["keyed"].Imbalance != 0 {
		t.Errorf("imbalance %g, of keyed %g", p.Imbalance, of["keyed"].Imbalance)
	}
	if of["dedup"].Requests >= of["keyed"].Requests || of["dedup"].Coalesced == 0 {
		t.Errorf("dedup sends %d of %d", of["dedup"].Requests, of["keyed"].Requests)
	}
	if *of["single"].DrainSeconds < 5**of["unordered"].DrainSeconds || *of["partitioned"].DrainSeconds < *of["unordered"].DrainSeconds {
		t.Errorf("drain: single %g, unordered %g, partitioned %g", *of["single"].DrainSeconds, *of["unordered"].DrainSeconds, *of["partitioned"].DrainSeconds)
	}
	if of["single"].Events != of["dedup"].Events {
		t.Errorf("%d and %d events of one plan", of["single"].Events, of["dedup"].Events)
	}
}

// TestClosed: threads wait for the apiserver, so that its latency is the pace.
func TestClosed(t *testing.T) {
	closed := func(load string) *Outcome {
		return run(t, parsed(t, load, "cluster.provider=embedded", "watcher.podQueueNum=200"), Options{API: 20 * time.Millisecond})
	}
	o := closed("{model: closed, threads: 4, operations: 2000}")
	if o.LoadSeconds < 9.9 || o.LoadSeconds > 10.1 {
		t.Errorf("2000 writes of 4 threads at 20ms take %g s", o.LoadSeconds)
	}
	if o = closed("{model: closed, threads: 4, operations: 2000, thinkTime: 30ms}"); o.LoadSeconds < 24.5 || o.LoadSeconds > 25.1 {
		t.Errorf("2000 writes of 4 threads at 20ms, and 30ms between, take %g s", o.LoadSeconds)
	}
	if o = closed("{model: closed, threads: 4, duration: 3s}"); o.LoadSeconds < 2.9 || o.LoadSeconds > 3.03 {
		t.Errorf("3 s last %g s", o.LoadSeconds)
	}
}

// TestClosedBurst: the writes of a burst are sent at once, and the next when all are answered;
// threads that write at one time do so in the order of their numbers.
func TestClosedBurst(t *testing.T) {
	const api, think = 20 * time.Millisecond, 30 * time.Millisecond
	s := parsed(t, "{model: closed, threads: 3, operations: 900, thinkTime: 30ms, hotkeys: {share: 0.5, objects: 2, burst: 10}}", "cluster.provider=embedded")
	p, err := plan.New(s.Load.Plan("simulated", 7))
	if err != nil {
		t.Fatal(err)
	}
	cfg := p.Config()
	r := reader{cfg: &cfg, api: api}
	last := map[int]timedOp{}
	inBursts, before := 0, timedOp{}
	for x := range r.closed(p) {
		if x.at < before.at || x.at == before.at && x.op.Thread < before.op.Thread {
			t.Fatalf("thread %d writes at %s, after thread %d at %s", x.op.Thread, x.at, before.op.Thread, before.at)
		}
		before = x
		was, known := last[x.op.Thread]
		last[x.op.Thread] = x
		want := think
		switch {
		case known && was.op.Hot && was.op.Burst > 0:
			want = was.at
			inBursts++
		case known:
			want = was.at + api + think + x.op.Gap
		}
		if x.at != want {
			t.Fatalf("thread %d: %+v at %s, want %s after %+v at %s", x.op.Thread, x.op, x.at, want, was.op, was.at)
		}
	}
	if inBursts < 300 {
		t.Errorf("%d writes in bursts: the test shows little", inBursts)
	}
	// The end of the load is the first time at which nothing is sent.
	if o := run(t, parsed(t, "{model: closed, threads: 1, duration: 100ms}", "cluster.provider=embedded"), Options{API: api}); o.Freshness.Count != 5 {
		t.Errorf("%d writes in 100 ms at 20 ms", o.Freshness.Count)
	}
}

// TestBystander: its updates come between those of the load, at their own times, and are not
// counted in its freshness.
func TestBystander(t *testing.T) {
	s := scenario(t, "load.bystander={kind: ConfigMap, rate: 10}")
	all, err := planned(s, 7, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	n, last := 0, time.Duration(0)
	for a := range all {
		if a.At < last {
			t.Fatalf("%+v after %s", a, last)
		}
		if last = a.At; a.Kind != bystanderKind {
			continue
		}
		if n++; !a.Uncounted || a.Name == "" || a.Lag != time.Millisecond || a.Version == 0 {
			t.Errorf("%+v", a)
		}
	}
	if n < 45 || n > 51 {
		t.Errorf("%d updates in 5 s at 10/s", n)
	}
	with, without := run(t, s, Options{}), run(t, scenario(t), Options{})
	if with.Events != without.Events+int64(n) || with.Freshness.Count != without.Freshness.Count {
		t.Errorf("%d events, %d fresh; without it %d and %d", with.Events, with.Freshness.Count, without.Events, without.Freshness.Count)
	}
}

// TestOfPods: the drain and the storage rate are those of Pods, and efficiency is by the least of
// workers and storage's places.
func TestOfPods(t *testing.T) {
	s := scenario(t, "watcher.resources=[Pod,ConfigMap]", "storage.latency=10ms")
	o := ofArrivals(t, s, Options{}, slices.Values([]Arrival{
		{Kind: podKind, Name: "p", UID: "u"}, {At: time.Second, Kind: "ConfigMap", Name: "c", UID: "c"},
	}))
	if *o.DrainSeconds != 0.01 || o.LoadSeconds != 1 || o.Requests != 2 {
		t.Errorf("%+v: the Pod's drain is 10 ms", o)
	}
	o = run(t, scenario(t, "storage.latency=40ms", "storage.capacity={inflight: 4}"), Options{})
	if o.Efficiency < 0.98 || o.Efficiency > 1.001 || o.MaxInFlight != 12 {
		t.Errorf("%+v: four places are always busy", o)
	}
}

// TestAsked: an apiserver writes a Pod's deletion time once, and who was asked is forgotten.
func TestAsked(t *testing.T) {
	e := ends{true, map[string]struct{}{}}
	gone := &Arrival{Kind: podKind, UID: "a", Delete: true}
	if e.first(&Arrival{Kind: podKind, UID: "a"}, oplog.TypeTerminate) || e.first(gone, oplog.TypeDelete) || len(e.asked) > 0 {
		t.Errorf("asked before: %v", e.asked)
	}
	if !e.first(gone, oplog.TypeDelete) || e.first(&Arrival{Kind: podKind, UID: "b"}, oplog.TypePatch) || e.first(&Arrival{Kind: "Node", Delete: true}, oplog.TypeDelete) {
		t.Error("only a Pod's deletion makes two events")
	}
}

// TestEnds: a real apiserver's deletion of a Pod makes two events of one operation, and freshness is by operation.
func TestEnds(t *testing.T) {
	const load = "{model: open, rate: 400, duration: 2s, stages: [{stage: create}, {stage: patch}, {stage: delete}]}"
	replay := run(t, parsed(t, load), Options{})
	whole := run(t, parsed(t, load, "cluster.provider=embedded"), Options{})
	if whole.Events < replay.Events+100 || replay.Freshness.Count != replay.Events || whole.Freshness.Count != replay.Events {
		t.Errorf("%d events, %d fresh; on a real apiserver %d and %d", replay.Events, replay.Freshness.Count, whole.Events, whole.Freshness.Count)
	}
}

// TestUnsent: deletions of Events, and kinds that are not watched, never reach the queues.
func TestUnsent(t *testing.T) {
	s := scenario(t, "watcher.resources=[Pod,Event]")
	o := ofArrivals(t, s, Options{}, slices.Values([]Arrival{
		{Kind: "Event", Name: "a", UID: "a"}, {Kind: "Event", Name: "a", UID: "a", Delete: true}, {Kind: "Node", Name: "n"}, {Kind: podKind, Name: "p", Delete: true},
	}))
	if o.Events != 2 || o.Requests != 2 {
		t.Errorf("%d events, %d requests: want an Event's creation and a Pod's deletion", o.Events, o.Requests)
	}
}

// TestTimeout: an answer that comes too late fences its key, and the state is sent again.
func TestTimeout(t *testing.T) {
	quiet := []string{"load.rate=20", "load.duration=5m", "watcher.podQueueNum=200", "storage.latency=mix(0.99=20ms,0.01=7s)"}
	for timeout, want := range map[string]float64{"1s": 6, "6s": 12, "8s": 7} { // twice 6s: a fence is no shorter than a request may last; 8s: none is late
		o := run(t, scenario(t, append(quiet, "watcher.storageTimeout="+timeout)...), Options{})
		if got := o.Freshness.P99; got < 0.95*want || got > want+1.5 {
			t.Errorf("timeout %s: freshness p99 is %g s, want about %g", timeout, got, want)
		}
	}
}

// TestRefused: what cannot be simulated is said, with the field.
func TestRefused(t *testing.T) {
	for set, want := range map[string]string{
		"watcher.profile=legacy":         "watcher.profile",
		"watcher.command=other {config}": "watcher.command",
		"storage.faults=['503:1%']":      "storage.faults",
		"storage.instances=2":            "storage.instances",
		"load.speed=unlimited":           "unlimited",
	} {
		_, err := Run(t.Context(), scenario(t, set), Options{})
		if !badinput.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := Run(ctx, scenario(t), Options{}); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCut: at drainTimeout a simulation ends as a cell of a run does: what only the whole drain
// shows is unknown, and absent for programs.
func TestCut(t *testing.T) {
	sets := []string{"watcher.strategy=single", "load.rate=40"} // the drain ends some 4 s after the load
	whole, cut := run(t, scenario(t, sets...), Options{}), run(t, scenario(t, append(sets, "drainTimeout=1s")...), Options{})
	if whole.Cut || whole.Left != 0 || whole.DrainSeconds == nil || whole.DrainAfterLoadSeconds == nil || whole.StorageQPS == nil {
		t.Errorf("drained: %+v", whole)
	}
	if !cut.Cut || cut.Left == 0 || cut.Events != whole.Events || cut.Requests+cut.Left != cut.Events || cut.Requests == 0 {
		t.Errorf("cut: %+v", cut)
	}
	if cut.DrainSeconds != nil || cut.DrainAfterLoadSeconds != nil || cut.StorageQPS != nil || cut.Freshness != nil || cut.Efficiency != 0 {
		t.Errorf("cut, and known: %+v", cut)
	}
	data, err := json.Marshal(cut)
	if err != nil || !strings.Contains(string(data), `"cut":true`) || strings.Contains(string(data), "drain") || strings.Contains(string(data), "storageQPS") {
		t.Errorf("%v: %s", err, data)
	}
}

// BenchmarkRun is the cost of one event, plan included.
func BenchmarkRun(b *testing.B) {
	for _, strategy := range spec.Strategies {
		b.Run(strategy, func(b *testing.B) {
			s := scenario(b, "load.rate=20000", "load.duration=5s", "storage.latency=lognormal(p50=18ms,p99=40ms)", "storage.capacity={inflight: 4096}",
				"watcher.podQueueNum=2000", "watcher.strategy="+strategy)
			for b.Loop() {
				if o := run(b, s, Options{}); o.Events < 90_000 {
					b.Fatal(o.Events)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/event")
		})
	}
}
