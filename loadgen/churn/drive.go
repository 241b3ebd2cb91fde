package churn

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// LoadBy is Load for a caller with threads of its own, as k6's virtual users are: drive
// gets a Sender, and the load is over when drive returns.
func (e *Engine) LoadBy(ctx context.Context, begun func(started int64), drive func(context.Context, *Sender) error) (Stats, error) {
	return e.load(ctx, begun, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(errOver)
		limit := concurrency(&e.cfg)
		if h := e.cfg.Hotkeys; h != nil {
			limit = max(limit, e.cfg.Threads*h.Burst) // as in Load, all threads may be in a burst
		}
		s := &Sender{engine: e, ctx: ctx, lanes: newLanes(limit)}
		s.timed, s.stop = iter.Pull(e.plan.Timed())
		defer s.stop()
		err := drive(ctx, s)
		s.lanes.wait()
		return err
	})
}

// Sender sends operations of a load when its caller says so. Its methods may be called
// from any goroutine; each returns when what it sent was answered.
type Sender struct {
	engine *Engine
	ctx    context.Context // the load's
	lanes  *lanes
	stop   func()

	mu    sync.Mutex // guards what follows, and the order in which lanes are filled
	timed func() (plan.Op, bool)
}

// Sent is what became of one operation. Times are Unix nanoseconds;
// Started is 0 if it was not sent.
type Sent struct {
	Op                          plan.Op
	Intended, Started, Finished int64
	Err                         error // nil: acknowledged
}

var errOver = errors.New("the load is over")

// Now is the generator's clock, that of the op log, in Unix nanoseconds.
func (s *Sender) Now() int64 { return s.engine.clock.now() }

// Do sends an operation of plan.Life. A pod's operations come in the order of its life,
// its creation first.
func (s *Sender) Do(op plan.Op, intended int64) Sent {
	s.engine.stats.begin(op)
	s.mu.Lock()
	sent := s.submit(op, intended)
	s.mu.Unlock()
	return <-sent
}

// Next sends the next operation of an open plan at its time after start, in Unix
// nanoseconds; false when there is none or the load was ended.
func (s *Sender) Next(start int64) (Sent, bool) {
	s.mu.Lock()
	op, ok := s.timed()
	if !ok || s.ctx.Err() != nil {
		s.mu.Unlock()
		return Sent{}, false
	}
	s.engine.stats.begin(op)
	sent := s.submit(op, start+int64(op.At))
	s.mu.Unlock()
	r := <-sent
	return r, s.ctx.Err() == nil || r.Err == nil
}

// submit puts op into its lane, where it waits for its time and for those before it. The
// caller holds mu.
func (s *Sender) submit(op plan.Op, intended int64) <-chan Sent {
	e, done := s.engine, make(chan Sent, 1)
	o, lane := e.targetLane(op)
	s.lanes.submit(lane, func() {
		s.inTime(op, intended, done, func() (int64, error) { return e.carry(s.ctx, op, o, intended, s.lanes) })
	})
	return done
}

// inTime sends by send, which returns when it did, at the intended time, and says on done
// what became of it.
func (s *Sender) inTime(op plan.Op, intended int64, done chan<- Sent, send func() (int64, error)) {
	r := Sent{Op: op, Intended: intended}
	if s.engine.clock.sleepUntil(s.ctx, intended) {
		r.Started, r.Err = send()
	} else {
		r.Err = context.Cause(s.ctx)
	}
	if r.Started != 0 {
		r.Finished = s.engine.clock.now()
	}
	done <- r
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
	e := s.engine
	t = &Thread{sender: s, free: e.clock.now()}
	if e.cfg.Duration > 0 {
		t.ends = e.loadStarted.Load() + int64(e.cfg.Duration)
	}
	t.next, stop = iter.Pull(e.plan.Thread(k))
	return t, stop
}

// Step sends the thread's next operation, or all patches of a burst; false when there is
// none or the load was ended.
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
		}
		if t.sender.ctx.Err() != nil || t.ends != 0 && (e.clock.now() >= t.ends || intended >= t.ends) {
			break
		}
		e.stats.begin(op)
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
