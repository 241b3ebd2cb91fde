package plan

import (
	"iter"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Plan is a validated Config that can be iterated, by several at once, each from the beginning.
type Plan struct {
	cfg   Config
	shard Shard
	steps []step
	hot   []*Target // by rank; of a profile they are in its world

	tuning Tuning    // of a profile
	made   []*Target // that exist before a profile's load, in the order of Setup; read only
}

// New checks cfg and makes it a Plan.
func New(cfg Config) (*Plan, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{cfg: cfg, shard: Whole, steps: cfg.steps()}
	if cfg.Profile != "" {
		p.tuning = cfg.ResolvedTuning()
		p.newWorld(&p.made)
		return p, nil
	}
	p.hot = p.hotPods()
	return p, nil
}

// Config returns the Config that New was given.
func (p *Plan) Config() Config { return p.cfg }

// Random streams: changing one part does not shift the others. The last three have a thread's number added.
const (
	streamNames = iota
	streamArrival
	streamPrefill
	streamOpen
	streamWarmupNames
	streamPrefillNames
	streamHotNames
	streamHotPods
	streamHotStart
	streamWorld
	streamLives
	streamThread = 1 << 20
	streamWarmup = 1 << 40
	streamHot    = 1 << 41
)

func (p *Plan) rng(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(p.cfg.Seed, stream)) }

// Planned is the number of load operations of the plan or of its part, or 0 for a closed loop bounded by time alone.
func (p *Plan) Planned() int64 {
	n := int64(0)
	switch {
	case p.cfg.Model == ModelClosed:
		for k := range p.shard.Threads(p.cfg.Threads) {
			n += part(p.cfg.Operations, k, p.cfg.Threads)
		}
	case p.cfg.Profile != "" || p.shard.Divides():
		for range p.Timed() {
			n++
		}
	default:
		for range p.cfg.arrivals(p.rng(streamArrival)) {
			n++
		}
	}
	return n
}

func part(operations int64, k, threads int) int64 {
	n := operations / int64(threads)
	if int64(k) < operations%int64(threads) {
		n++
	}
	return n
}

// Thread yields what thread k of the closed loop sends, without end unless operations are limited.
func (p *Plan) Thread(k int) iter.Seq[Op] {
	return p.loop(loopSpec{
		phase: oplog.PhaseLoad, firstID: idLoad, thread: k, threads: p.cfg.Threads,
		total: p.cfg.Operations, stream: streamThread, names: newNamer(p.rng(streamNames), ""), hot: p.hot,
	})
}

// WarmupThreads is how many threads warm up: the closed loop's, or four before an open one; at most one per operation.
func (p *Plan) WarmupThreads() int {
	threads := p.cfg.Threads
	if p.cfg.Model == ModelOpen {
		threads = 4
	}
	return int(min(int64(threads), p.cfg.Warmup.Operations))
}

// WarmupThread yields what thread k sends during the warm-up. It is a closed loop for both models.
func (p *Plan) WarmupThread(k int) iter.Seq[Op] {
	return p.loop(loopSpec{
		phase: oplog.PhaseWarmup, firstID: idWarmup, thread: k, threads: p.WarmupThreads(),
		total: p.cfg.Warmup.Operations, stream: streamWarmup, names: newNamer(p.rng(streamWarmupNames), "warm-"),
		lane: laneWarmup,
	})
}

// loopSpec is one closed loop as seen by one of its threads.
type loopSpec struct {
	phase           string
	firstID         int64
	thread, threads int
	total           int64 // over all threads; 0: no limit
	stream          uint64
	names           namer
	lane            int64     // of its first pod
	hot             []*Target // that bursts hit
}

func (p *Plan) loop(s loopSpec) iter.Seq[Op] {
	return func(yield func(Op) bool) {
		limit := int64(idPrepare-idLoad) / int64(s.threads) // ids must not run into the next part
		if s.total > 0 {
			limit = part(s.total, s.thread, s.threads)
		}
		lives := p.newLives(p.rng(s.stream+uint64(s.thread)), s)
		var l life
		var hot *bursts
		if s.hot != nil {
			hot = p.newBursts(s.thread, s.threads, s.hot)
		}
		for i := range limit {
			op, _, isHot := hot.next()
			if !isHot {
				if l.done() {
					l = lives.next(l)
				}
				op = l.advance()
			}
			op.ID = s.firstID + i*int64(s.threads) + int64(s.thread)
			op.Phase, op.Thread = s.phase, s.thread
			if !yield(op) {
				return
			}
		}
	}
}

// Timed yields the operations of the open loop by their intended times. At each the pod that has waited longest for its
// next stage gets it, else a new pod begins. A burst's patches are all due with the first of them.
func (p *Plan) Timed() iter.Seq[Op] {
	if p.cfg.Profile != "" {
		return p.own(p.profileTimed)
	}
	return p.own(p.plainTimed())
}

func (p *Plan) plainTimed() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		lives := p.newLives(p.rng(streamOpen), loopSpec{names: newNamer(p.rng(streamNames), ""), threads: 1})
		var waiting queue[due]
		id := int64(idLoad)
		hot, burstAt := p.newBursts(0, 1, p.hot), time.Duration(0)
		for t := range p.cfg.arrivals(p.rng(streamArrival)) {
			if op, first, ok := hot.next(); ok {
				if first {
					burstAt = t
				}
				op.ID, op.Phase, op.At = id, oplog.PhaseLoad, burstAt
				id++
				if !yield(op) {
					return
				}
				continue
			}
			var l life
			if len(waiting) > 0 && waiting[0].at <= t {
				l = waiting.take().life
			} else {
				l = lives.next(life{})
			}
			op := l.advance()
			op.ID, op.Phase, op.At = id, oplog.PhaseLoad, t
			id++
			if !yield(op) {
				return
			}
			if l.done() && l.again {
				l = lives.next(l)
			}
			if !l.done() {
				waiting.add(due{at: t + l.gap(), order: op.ID, life: l})
			}
		}
	}
}

// Setup yields what exists before the load, owners first: bystanders, nodes with their Leases, prefilled and hot pods;
// or a profile's workloads with ready pods, config maps and custom resources. The load writes to the same targets.
func (p *Plan) Setup() iter.Seq[Op] { return p.own(p.setup()) }

func (p *Plan) setup() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		if !p.trickled(yield) {
			return
		}
		if p.cfg.Profile != "" {
			p.profileSetup(yield)
			return
		}
		id := int64(idPrepare)
		send := func(kind string, t *Target, last bool) bool {
			id++
			return yield(Op{ID: id - 1, Phase: oplog.PhasePrepare, Type: kind, Thread: ThreadNone, Target: t, Last: last})
		}
		for i := range p.cfg.Nodes {
			node := p.cfg.nodeTarget(i, p.cfg.Seed+uint64(i), 0)
			lease := leaseTarget(&node)
			node.Lane, lease.Lane = laneWorld+2*int64(i), laneWorld+2*int64(i)+1
			if !send(oplog.TypeCreate, &node, true) || !send(oplog.TypeCreate, &lease, true) {
				return
			}
		}
		rng, names := p.rng(streamPrefill), newNamer(p.rng(streamPrefillNames), "base-")
		for i := range int64(p.cfg.Prefill) {
			namespace := rng.IntN(p.cfg.Namespaces)
			pod := p.cfg.plainPod(lanePrefill+i, names.name(i), namespace, rng.IntN(p.cfg.Nodes))
			pod.Bound = true
			if !send(oplog.TypeCreate, pod, true) {
				return
			}
		}
		for _, pod := range p.hot {
			for _, kind := range []string{oplog.TypeCreate, oplog.TypeBind, oplog.TypeRunning, oplog.TypeReady} {
				if !send(kind, pod, false) {
					return
				}
			}
		}
	}
}

func (p *Plan) trickled(yield func(Op) bool) bool {
	if p.cfg.Bystander == nil {
		return true
	}
	for i := range p.cfg.Bystander.Count() {
		op := p.bystander(i, oplog.PhasePrepare, oplog.TypeCreate, &State{})
		op.ID = idTrickled + int64(i)
		if !yield(op) {
			return false
		}
	}
	return true
}

// bystander is an operation on the i-th of the bystander objects, which the plan does not keep.
func (p *Plan) bystander(i int, phase, kind string, s *State) Op {
	t := &Target{
		Kind: p.cfg.Bystander.Kind, Lane: laneBystander + int64(i), Name: p.cfg.BystanderName(i),
		Namespace: i % p.cfg.Namespaces,
		Seed:      p.cfg.Seed + uint64(i), Bytes: int(p.cfg.Bystander.Bytes()), Stripped: true,
	}
	return Op{Phase: phase, Type: kind, Thread: ThreadNone, Target: t, State: s, Last: true, Bystander: true}
}

// Bystander yields the updates of the shard's bystander objects beside the load or the warm-up, in turn, without end.
func (p *Plan) Bystander(phase string) iter.Seq[Op] {
	return func(yield func(Op) bool) {
		b := p.cfg.Bystander
		if b == nil {
			return
		}
		first := int64(idBystander)
		if phase == oplog.PhaseWarmup {
			first = idWarmupBystander
		}
		some := false // after a turn it has some, or none
		for i := 0; some || i < b.Count(); i++ {
			n := i/b.Count() + 1
			op := p.bystander(i%b.Count(), phase, oplog.TypePatch, &State{Count: n})
			if !p.holds(op.Target) {
				continue
			}
			op.ID, op.N, some = first+int64(i), n, true
			op.At = time.Duration(float64(i) / b.Rate * float64(time.Second))
			if !yield(op) {
				return
			}
		}
	}
}
