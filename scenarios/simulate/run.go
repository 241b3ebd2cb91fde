package simulate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/behavior"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

const (
	podKind = "Pod"
	// eventKind is the kind whose deletions a watcher does not send.
	eventKind = "Event"
	// checkEvery is how many events pass between two looks at the context.
	checkEvery = 1 << 12
)

// Run plays one cell's load through the watcher's queue engine in virtual time; what cannot be simulated is bad input.
func Run(ctx context.Context, s *spec.Scenario, o Options) (*Outcome, error) {
	if err := possible(s); err != nil {
		return nil, err
	}
	arrivals, err := planned(s, cmp.Or(o.Seed, s.Seed), cmp.Or(o.API, DefaultAPI))
	if err != nil {
		return nil, err
	}
	return play(ctx, s, o, arrivals)
}

// play hands arrivals, in the order of time, to the queues.
func play(ctx context.Context, s *spec.Scenario, o Options, arrivals iter.Seq[Arrival]) (*Outcome, error) {
	seed := cmp.Or(o.Seed, s.Seed)
	st, err := newStorage(s, seed, o.Overhead)
	if err != nil {
		return nil, err
	}
	v, err := pipeline.NewVirtual(queues(&s.Watcher), st, seed)
	if err != nil {
		return nil, &badinput.Error{What: err.Error()}
	}
	kinds, n, last := s.Kinds(), int64(0), time.Duration(0)
	for a := range arrivals {
		if !slices.Contains(kinds, a.Kind) || a.Delete && a.Kind == eventKind {
			continue
		}
		if a.At < last {
			return nil, fmt.Errorf("simulate: %s %s/%s arrives at %s, after what arrives at %s", a.Kind, a.Namespace, a.Name,
				a.At, last)
		}
		if n%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n++
		last = a.At
		if err := v.Enqueue(a.At, st.event(&a)); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, badinput.New("change the load or watcher.resources",
			"the load has no event of a kind that is watched: %v", kinds)
	}
	end := last + s.DrainTimeout.Std()
	for step := last; !v.Drain(min(step, end)) && step < end; step += drainStep {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return outcome(s, v, st, last)
}

// drainStep is how much of the drain is played between two looks at the context.
const drainStep = 10 * time.Second

// possible refuses what happens outside the queues.
func possible(s *spec.Scenario) error {
	const remedy = "leave it out, or measure with watchbench run"
	switch w := &s.Watcher; {
	case w.Profile == "legacy":
		return badinput.New("use the default profile, or measure with watchbench run",
			"watcher.profile: legacy has another pipeline than the one that is simulated")
	case w.Command != "":
		return badinput.New(remedy, "watcher.command: another watcher's code cannot be simulated")
	case w.Replicas > 1 || w.LeaderElection:
		return badinput.New(remedy, "watcher.replicas: one watcher is simulated")
	case s.Load.LabelShards > 0:
		return badinput.New(remedy, "load.labelShards: one watcher is simulated")
	case len(s.Storage.Faults) > 0:
		return badinput.New(remedy, "storage.faults are not simulated")
	case s.Storage.Instances > 1:
		return badinput.New(remedy, "storage.instances: one instance is simulated")
	case len(s.Events) > 0 || s.Fault != nil || len(s.Watch.Faults) > 0:
		return badinput.New(remedy, "events, faults and watch faults are not simulated")
	case s.Traced():
		return badinput.New("use a load", "cluster.replay.trace is not simulated")
	case !s.Speed().Limited():
		return badinput.New("use a speed like 1x", "at speed unlimited events have no times")
	}
	return nil
}

// queues is the watcher's configuration, as the runner renders it and the watcher reads it.
func queues(w *spec.Watcher) pipeline.Config {
	c := pipeline.Default()
	c.Strategy = pipeline.Strategy(w.Strategy)
	c.AllowUnordered = c.Strategy == pipeline.Unordered
	if c.Strategy != pipeline.Adaptive { // it finds the number
		c.PodQueueNum = w.PodQueueNum
	}
	c.WriterQueueLen, c.HandlerQueueLen = w.WriterQueueLen, w.HandlerQueueLen
	c.QueueFull, c.QueueFullTimeout = pipeline.QueueFull(w.QueueFull), w.QueueFullTimeout.Std()
	c.FenceDelay = max(c.FenceDelay, w.StorageTimeout.Std())
	return c
}

// outcome sums up what the queues and storage have counted.
func outcome(s *spec.Scenario, v *pipeline.Virtual, st *storage, last time.Duration) (*Outcome, error) {
	stats, unread := v.Stats(), v.Unread()
	if !stats.Balanced() || stats.Received+uint64(unread) != st.events {
		return nil, fmt.Errorf("simulate: %d events, %d of them unread, and the queues have %+v: they do not balance",
			st.events, unread, stats)
	}
	o := &Outcome{
		Events: int64(st.events), Requests: st.acked, Coalesced: int64(stats.Coalesced), Dropped: int64(stats.Dropped),
		Left: int64(stats.Queued + unread), LoadSeconds: last.Seconds(), WriterFullSeconds: v.WriterFull().Seconds(),
	}
	o.Cut = o.Left > 0
	handled, depth := v.Kind(podKind)
	o.HandlerMaxDepth = depth
	o.WriterMaxDepth, o.MaxInFlight = v.Peaks()
	if o.Cut {
		return o, nil
	}
	o.DrainSeconds, o.DrainAfterLoadSeconds = new(st.lastChange.Seconds()), new(max(0, st.lastChange-last).Seconds())
	o.StorageQPS, o.Imbalance = new(st.pods.rate()), imbalance(handled)
	inFlight, mean := s.Watcher.Concurrency(), st.model.Mean("PUT", podKind)
	if most := s.Storage.Capacity.Inflight; most > 0 {
		inFlight = min(inFlight, most)
	}
	if s.Watcher.Strategy != string(pipeline.Adaptive) && mean > 0 {
		o.Efficiency = *o.StorageQPS / (float64(inFlight) / mean.Seconds())
	}
	var err error
	if o.Freshness, err = st.freshness.Quantiles(measure.Seconds); err != nil {
		return nil, err
	}
	return o, nil
}

// imbalance is the busiest queue's share ÷ the mean share; 0 with one queue.
func imbalance(handled []uint64) float64 {
	total := uint64(0)
	for _, n := range handled {
		total += n
	}
	if len(handled) < 2 || total == 0 {
		return 0
	}
	return float64(slices.Max(handled)) * float64(len(handled)) / float64(total)
}

var _ pipeline.VirtualStorage = (*storage)(nil)

// storage answers the queues' requests by the mock's rules, and keeps the account of what changes it has.
type storage struct {
	served   *behavior.Stations
	model    *behavior.Model
	timeout  time.Duration
	overhead time.Duration // of each request

	changes    changes
	events     uint64
	acked      int64
	pods       acks
	lastChange time.Duration // the last acknowledgement that brought a change to a Pod
	freshness  *measure.Histogram
}

// acks are acknowledgements.
type acks struct {
	n           int64
	first, last time.Duration
}

func (a *acks) add(now time.Duration) {
	if a.n == 0 {
		a.first = now
	}
	a.n, a.last = a.n+1, now
}

// rate is that between the first and the last; 0 where all came at once.
func (a *acks) rate() float64 {
	if a.n < 2 || a.last == a.first {
		return 0
	}
	return float64(a.n-1) / (a.last - a.first).Seconds()
}

func newStorage(s *spec.Scenario, seed uint64, overhead time.Duration) (*storage, error) {
	m, err := behavior.ParseModel(s.Storage.Latency, seed)
	if err != nil {
		return nil, &badinput.Error{What: "storage.latency: " + err.Error()}
	}
	c, err := behavior.ParseCapacities(s.Storage.Capacity.Text())
	if err != nil {
		return nil, &badinput.Error{What: "storage.capacity: " + err.Error()}
	}
	return &storage{
		served: behavior.NewStations(m, c), model: m, overhead: overhead, timeout: s.Watcher.StorageTimeout.Std(),
		changes: newChanges(), freshness: measure.NewHistogram(),
	}, nil
}

// event makes an arrival the queues' event. Its version is its number, which grows along all arrivals.
func (s *storage) event(a *Arrival) pipeline.Event {
	s.events++
	e := pipeline.Event{Action: pipeline.Put, Key: object.Key{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name},
		UID: a.UID}
	if a.Delete {
		e.Action = pipeline.Delete
	}
	e.ResourceVersion = s.changes.add(e.Key, a)
	return e
}

// Begin implements pipeline.VirtualStorage.
func (s *storage) Begin(e *pipeline.Event, now time.Duration) (time.Duration, error) {
	method := "PUT"
	if e.Action == pipeline.Delete {
		method = "DELETE"
	}
	took, err := s.served.Serve(method, e.Key.Kind, e.Key.Name, now, func() time.Duration { return s.overhead })
	switch {
	case err != nil:
		return s.overhead, fullError(err)
	case took > s.timeout:
		return s.timeout, timeoutError(s.timeout)
	}
	return took, nil
}

// End implements pipeline.VirtualStorage.
func (s *storage) End(e *pipeline.Event, _, now time.Duration, err error) {
	if err != nil {
		return
	}
	s.acked++
	pod := e.Key.Kind == podKind
	if pod {
		s.pods.add(now)
	}
	for _, c := range s.changes.arrived(e) {
		if !c.uncounted {
			s.freshness.Add(int64(now) - c.intended)
		}
		if pod {
			s.lastChange = now
		}
	}
}
