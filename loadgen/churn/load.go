package churn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Warmup sends the plan's warm-up, if it has one, as a closed loop.
func (e *Engine) Warmup(ctx context.Context) error {
	threads := e.plan.WarmupThreads()
	if threads == 0 {
		return nil
	}
	e.enter(oplog.PhaseWarmup)
	err := e.besideBystander(ctx, oplog.PhaseWarmup, func(ctx context.Context) error {
		s := e.sender(ctx)
		return s.closedLoop(threads, func(k int) (*Thread, func()) { return s.thread(e.plan.WarmupThread(k), 0) })
	})
	if err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	return nil
}

// Load sends the plan's load. begun, unless nil, gets the time at which it begins, in Unix nanoseconds.
func (e *Engine) Load(ctx context.Context, begun func(started int64)) (Stats, error) {
	return e.LoadBy(ctx, begun, func(_ context.Context, s *Sender) error {
		if e.cfg.Model == plan.ModelOpen {
			return s.openLoop()
		}
		return s.closedLoop(e.cfg.Threads, s.Thread)
	})
}

// LoadBy is Load for a caller with threads of its own, such as k6; the load is over when drive returns.
func (e *Engine) LoadBy(ctx context.Context, begun func(started int64), drive func(context.Context,
	*Sender) error) (Stats, error) {
	last, err := e.meet(ctx, "ready", true)
	if err == nil {
		err = lifecycle.Pause(ctx, time.Until(last.Add(meetLead)))
	}
	if err != nil {
		return e.Progress(), err
	}
	e.enter(oplog.PhaseLoad)
	e.loadStarted.Store(e.clock.now())
	if begun != nil {
		begun(e.loadStarted.Load())
	}
	err = e.besideBystander(ctx, oplog.PhaseLoad, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(errOver)
		s := e.sender(ctx)
		var stop func()
		s.timed, stop = iter.Pull(e.plan.Timed())
		defer stop()
		defer s.lanes.wait()
		return drive(ctx, s)
	})
	e.loadFinished.Store(e.clock.now())
	e.enter(oplog.PhaseDrain)
	if err != nil {
		err = fmt.Errorf("sending the load: %w", err)
	}
	first := e.plan.Shard().First() // which removes the namespaces, so it waits for the others
	_, late := e.meet(ctx, "over", first)
	if late != nil && first {
		e.Inherit()
	}
	return e.Progress(), errors.Join(err, late)
}

func (e *Engine) besideBystander(ctx context.Context, phase string, send func(context.Context) error) error {
	ctx, stop := e.health.watch(ctx)
	defer stop()
	trickle, done := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { e.trickle(trickle, phase) })
	err := send(ctx)
	done()
	beside.Wait()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// Sender sends operations of a load when its caller says so. Its methods may be called from any goroutine.
type Sender struct {
	engine *Engine
	ctx    context.Context // the load's
	lanes  *lanes

	mu    sync.Mutex // guards what follows, and the order in which lanes are filled
	timed func() (plan.Op, bool)
}

func (e *Engine) sender(ctx context.Context) *Sender {
	limit := concurrency(e.plan)
	if h := e.cfg.Hotkeys; h != nil {
		limit = max(limit, e.plan.Shard().Share(e.cfg.Threads)*h.Burst) // all threads may be in a burst
	}
	return &Sender{engine: e, ctx: ctx, lanes: newLanes(limit)}
}

// Sent is the outcome of one operation. Times are Unix nanoseconds; Started is 0 if it was not sent.
type Sent struct {
	Op                          plan.Op
	Intended, Started, Finished int64
	Err                         error // nil: acknowledged
}

var errOver = errors.New("the load is over")

// Now is the generator's clock, that of the op log, in Unix nanoseconds.
func (s *Sender) Now() int64 { return s.engine.clock.now() }

// openLoop dispatches every operation at its time, whether or not former ones were answered.
func (s *Sender) openLoop() error {
	start := s.engine.loadStarted.Load()
	for {
		op, ok := s.timed()
		intended := start + int64(op.At)
		if !ok || !s.engine.clock.sleepUntil(s.ctx, intended) {
			break
		}
		s.submit(op, intended)
	}
	s.lanes.wait()
	return s.ctx.Err()
}

// Next sends the next operation of an open plan at its time after start, in Unix ns; false when there is none.
func (s *Sender) Next(start int64) (Sent, bool) {
	s.mu.Lock()
	op, ok := s.timed()
	if !ok || s.ctx.Err() != nil {
		s.mu.Unlock()
		return Sent{}, false
	}
	sent := s.submit(op, start+int64(op.At))
	s.mu.Unlock()
	r := <-sent
	return r, s.ctx.Err() == nil || r.Err == nil
}

// submit puts op into its lane. A hot patch, which waits for no other and stops nothing, has a negative one of its own.
func (s *Sender) submit(op plan.Op, intended int64) <-chan Sent {
	e, done := s.engine, make(chan Sent, 1)
	o, lane := e.targets.of(op.Target, e.newTarget), op.Target.Lane
	if op.Hot {
		o, lane = &openObject{object: o.object}, -op.ID
	}
	s.lanes.submit(lane, func() {
		r := Sent{Op: op, Intended: intended}
		if e.clock.sleepUntil(s.ctx, intended) {
			r.Started, r.Err = e.carry(s.ctx, op, o, intended, s.lanes)
		} else {
			r.Err = context.Cause(s.ctx)
		}
		if r.Started != 0 {
			r.Finished = e.clock.now()
		}
		done <- r
	})
	return done
}

// Thread is one thread of a closed plan.
type Thread struct {
	sender *Sender
	next   func() (plan.Op, bool)
	free   int64 // since when it can send again
	ends   int64 // when it sends no more; 0: it is not bounded by time
}

// Thread begins thread k, from 0; each may be begun once. Stop ends it early.
func (s *Sender) Thread(k int) (t *Thread, stop func()) {
	e, ends := s.engine, int64(0)
	if e.cfg.Duration > 0 {
		ends = e.loadStarted.Load() + int64(e.cfg.Duration)
	}
	return s.thread(e.plan.Thread(k), ends)
}

func (s *Sender) thread(ops iter.Seq[plan.Op], ends int64) (t *Thread, stop func()) {
	t = &Thread{sender: s, free: s.Now(), ends: ends}
	t.next, stop = iter.Pull(ops)
	return t, stop
}

// closedLoop runs the shard's threads until they have sent what is theirs, and waits for requests under way at the end.
func (s *Sender) closedLoop(threads int, begin func(int) (*Thread, func())) error {
	var running sync.WaitGroup
	for k := range s.engine.plan.Shard().Threads(threads) {
		t, stop := begin(k)
		running.Go(func() {
			defer stop()
			for ok := true; ok; {
				_, ok = t.Step()
			}
		})
	}
	running.Wait()
	return s.ctx.Err()
}

// Step sends the thread's next operation, or all patches of a burst, when it is free, plus think time and the stage's
// gap; false when there is none.
func (t *Thread) Step() ([]Sent, bool) {
	e := t.sender.engine
	var waiting []<-chan Sent
	for {
		op, ok := t.next()
		if !ok {
			break
		}
		intended := t.free + int64(e.cfg.ThinkTime)
		if !op.Hot {
			intended += int64(op.Gap)
			if e.targets.of(op.Target, e.newTarget).broken { // it is skipped
				intended = e.clock.now()
			}
		}
		if t.sender.ctx.Err() != nil || t.ends != 0 && (e.clock.now() >= t.ends || intended >= t.ends) {
			break
		}
		t.sender.mu.Lock()
		waiting = append(waiting, t.sender.submit(op, intended))
		t.sender.mu.Unlock()
		if !op.Hot || op.Burst == 0 {
			break
		}
	}
	if len(waiting) == 0 {
		return nil, false
	}
	var all []Sent // of a burst that the end cuts, what was sent
	for _, done := range waiting {
		all = append(all, <-done)
	}
	t.free = e.clock.now()
	return all, true
}

const bystanderInFlight = 10

func (e *Engine) trickle(ctx context.Context, phase string) {
	start := e.clock.now()
	l := newLanes(bystanderInFlight)
	for op := range e.plan.Bystander(phase) {
		intended := start + int64(op.At)
		if !e.clock.sleepUntil(ctx, intended) {
			break
		}
		l.submit(op.Target.Lane, func() {
			if l.acquire(ctx) {
				defer l.release()
				e.updateBystander(context.WithoutCancel(ctx), op, intended)
			}
		})
	}
	l.wait()
}

// updateBystander sends one update of the trickle. A failed one is recorded and not repeated: the next is not far.
func (e *Engine) updateBystander(ctx context.Context, op plan.Op, intended int64) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	started := e.clock.now()
	a := e.send(ctx, op, intended)
	o := e.newTarget(op.Target)
	o.uid = a.uid
	e.recordAttempt(op, o, a, 0, times{intended: intended, started: started, finished: e.clock.now()})
}
