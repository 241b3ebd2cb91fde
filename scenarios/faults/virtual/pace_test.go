package virtual

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// steady is a load of patches of so many Pods, in random order at a mean rate, against a
// storage of a latency that serves so many requests at a time.
type steady struct {
	latency  string
	inFlight int
	rate     float64 // changes per second
	span     time.Duration
	strategy pipeline.Strategy // empty is the default
	storage  string            // faults
}

var paceFlag = flag.Bool("pace", false, "compare the strategies under steady load")

const steadyPods = 400

func (l steady) run(t *testing.T) *outcome {
	s := setup{seed: 1, ops: 10, span: l.span, latency: l.latency, capacity: fmt.Sprintf("inflight=%d", l.inFlight), storage: l.storage}
	s.edit = func(c *config.Config, _ *config.Filter) {
		c.BCS.PodQueueNum = config.Default().BCS.PodQueueNum
		if l.strategy != "" {
			c.BCS.Strategy = l.strategy
		}
	}
	s.hooks = []hook{{0, func(w *world) {
		rng := rand.New(rand.NewPCG(7, 7))
		at := 0.0
		for i := int64(0); at < l.span.Seconds(); i++ {
			w.until(time.Duration(at * float64(time.Second)))
			w.do(op{id: 500_000 + i, typ: oplog.TypePatch, resource: apisim.Pods, ns: "a", name: fmt.Sprint("steady-", rng.IntN(steadyPods)), size: 100}, oplog.PhaseLoad)
			at += rng.ExpFloat64() / l.rate
		}
	}}}
	return simulate(t, s)
}

// served is the 99th percentile of what storage took for a write during the load.
func served99(o *outcome) time.Duration {
	var all []int64
	for _, e := range o.entries {
		if e.Kind == apisim.Pods.Kind && e.Acked() && e.Received > o.began.UnixNano() {
			all = append(all, e.Responded-e.Received)
		}
	}
	slices.Sort(all)
	return time.Duration(all[(len(all)*99-1)/100])
}

// lastWrite is the end of the last write of a Pod.
func lastWrite(o *outcome) time.Time {
	last := slices.MaxFunc(o.entries, func(a, b ledger.Entry) int { return int(a.Responded - b.Responded) })
	return time.Unix(0, last.Responded)
}

// judge returns the figures of a run, logs them, and reports what was lost or reordered.
func (l steady) judge(t *testing.T, o *outcome) (p99, storage, catchUp time.Duration, queued float64) {
	t.Helper()
	p99, worst := o.freshness(func(r oplog.Record) bool { return r.Kind == apisim.Pods.Kind })
	storage = served99(o)
	catchUp = max(0, lastWrite(o).Sub(o.began.Add(l.span)))
	for _, n := range o.queued {
		queued = max(queued, n)
	}
	t.Logf("%s, %.0f changes/s: freshness p99 %s, worst %s; storage p99 %s; %.0f queued, caught up after %s, %d writes, %d connections",
		cmp.Or(l.strategy, "default"), l.rate, p99.Round(time.Millisecond), worst.Round(time.Millisecond), storage.Round(time.Millisecond), queued, catchUp.Round(time.Millisecond), len(o.entries), o.peak)
	for _, g := range o.failures("G1", "G2", "G3", "G4", "G5", "G6") {
		t.Error(g)
	}
	return p99, storage, catchUp, queued
}

// storages serve 600, 500 and 345 writes a second.
var storages = []struct {
	latency  string
	inFlight int
	perSec   float64
}{
	{"lognormal(mean=5ms,p99=10ms)", 3, 600}, {"lognormal(mean=20ms,p99=40ms)", 10, 500}, {"lognormal(mean=87ms,p99=174ms)", 30, 345},
}

// The default settings carry 70 % of what storage can take without a queue worth mentioning, and with half as much
// again as it can take they lag by no more than the keys that wait. TestPaceOfStrategies compares.
func TestDefaultsKeepPace(t *testing.T) {
	for _, s := range storages {
		t.Run(s.latency, func(t *testing.T) {
			l := steady{latency: s.latency, inFlight: s.inFlight, rate: 0.7 * s.perSec, span: 30 * time.Second}
			if p99, storage, _, _ := l.judge(t, l.run(t)); p99 > 3*storage {
				t.Errorf("at 70 %%: freshness p99 %s, want at most three times storage's, %s", p99, storage)
			}
			l.rate = 1.5 * s.perSec
			_, _, catchUp, queued := l.judge(t, l.run(t))
			if queued > steadyPods {
				t.Errorf("at 150 %%: %.0f queued, want at most one of each of %d Pods", queued, steadyPods)
			}
			if limit := time.Duration(queued/s.perSec*float64(time.Second)) + 5*time.Second; catchUp > limit {
				t.Errorf("at 150 %%: caught up %s after the load, want at most %s", catchUp, limit)
			}
		})
	}
}

// A storage that becomes five times slower for a while, and fast again.
func TestDefaultsFollowLatency(t *testing.T) {
	l := steady{latency: "20ms", inFlight: 60, rate: 400, span: 60 * time.Second, storage: "stall(80ms,from=20s,for=20s)"}
	o := l.run(t)
	l.judge(t, o)
	at := func(from, to time.Duration) time.Duration {
		p99, _ := o.freshness(func(r oplog.Record) bool {
			began := time.Unix(0, r.Intended).Sub(o.began)
			return r.Kind == apisim.Pods.Kind && began >= from && began < to
		})
		return p99
	}
	for _, x := range []struct{ from, to, storage time.Duration }{
		{5 * time.Second, 20 * time.Second, 20 * time.Millisecond},
		{25 * time.Second, 39 * time.Second, 100 * time.Millisecond},
		{45 * time.Second, 60 * time.Second, 20 * time.Millisecond},
	} {
		if p99 := at(x.from, x.to); p99 > 3*x.storage {
			t.Errorf("from %s to %s: freshness p99 %s, want at most three times storage's %s", x.from, x.to, p99, x.storage)
		}
	}
}

// TestPaceOfStrategies prints what the default is chosen by; see docs/watcher.md.
func TestPaceOfStrategies(t *testing.T) {
	if !*paceFlag {
		t.Skip("asked for with -pace")
	}
	for _, strategy := range []pipeline.Strategy{pipeline.Partitioned, pipeline.Keyed, pipeline.Dedup, pipeline.Adaptive} {
		for _, s := range storages {
			for _, share := range []float64{0.7, 1.5} {
				l := steady{latency: s.latency, inFlight: s.inFlight, rate: share * s.perSec, span: 30 * time.Second, strategy: strategy}
				l.judge(t, l.run(t))
			}
		}
	}
}
