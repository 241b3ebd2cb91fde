package pipeline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// VirtualStorage receives the requests of a Virtual. Times are since its start.
type VirtualStorage interface {
	// Begin takes a request and returns how long it takes and how it will end: nil, or an
	// error as a Sender returns it.
	Begin(e *Event, now time.Duration) (took time.Duration, err error)
	// End is called when that time has passed, before the queues learn of it.
	End(e *Event, began, now time.Duration, err error)
}

// Virtual is a Pipeline in virtual time, for simulations: the same queues, with one loop in
// place of the workers', the timekeepers' and the sources' goroutines. Time passes in Enqueue
// and Drain only, and from one thing that happens to the next. What happens at the same
// nanosecond does so in this order: answers, in the order of their requests;
// backoffs, fences and timeouts; arrivals. With one seed and one storage every run is
// the same.
//
// It is not safe for concurrent use.
type Virtual struct {
	p         *Pipeline
	storage   VirtualStorage
	now       int64
	sources   []*source // one for each kind, in the order of their first events
	woken     []worker
	exchanges heap[exchange]
	begun     int64 // requests

	maxInFlight, maxWriter int
}

type worker struct {
	lane *lane
	part *partition
}

type exchange struct {
	worker
	began int64
	slot  *slot
	probe bool
	err   error
}

// source is the watch of one kind: events come one after the other, and those behind one
// that finds no room wait in the watch.
type source struct {
	lane     *lane
	on       *waiter
	waits    bool // head waits for room
	head     Event
	until    int64 // Drop: when head is discarded; 0: never
	behind   []Event
	passed   int // of these
	maxDepth int
}

// NewVirtual makes one that stands at 0. The seed is of the jitter of backoffs.
func NewVirtual(c Config, s VirtualStorage, seed uint64) (*Virtual, error) {
	c.Backoff.jitter = rand.New(rand.NewPCG(seed, 0))
	p, err := New(c, Settings{Sender: noSender{}})
	if err != nil {
		return nil, err
	}
	v := &Virtual{p: p, storage: s}
	p.start, p.virtual, p.running = time.Unix(0, 0), v, true
	return v, nil
}

// noSender is never used: Virtual speaks to its storage itself.
type noSender struct{}

func (noSender) Send(context.Context, Event) error {
	return errors.New("a virtual pipeline sends nothing")
}

// Enqueue lets time pass until at, or none if that is past, and hands an event to the queues,
// as the watch of its kind does: where it waits for room, so do the later ones of the kind.
// Received is set to at.
func (v *Virtual) Enqueue(at time.Duration, e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	v.play(int64(at))
	e.Received = v.p.start.Add(at)
	s := v.source(e.Key.Kind)
	if s.waits {
		s.behind = append(s.behind, e)
		return nil
	}
	v.offer(s, &e)
	v.settle()
	return nil
}

// Drain lets time pass until all events are settled, or until a time; it reports whether they
// are.
func (v *Virtual) Drain(until time.Duration) bool {
	for !v.idle() {
		next := v.next()
		if next > int64(until) {
			v.play(int64(until))
			return false
		}
		v.play(next)
	}
	return true
}

// Now is the time that has passed.
func (v *Virtual) Now() time.Duration { return time.Duration(v.now) }

// Stats returns the counts of all kinds together. Events that Unread counts are not in it.
func (v *Virtual) Stats() Stats { return v.p.Stats() }

// Unread is the number of events that wait in watches behind one that waits for room.
func (v *Virtual) Unread() (n int) {
	for _, s := range v.sources {
		n += len(s.behind) - s.passed
	}
	return n
}

// Peaks are the largest numbers of events in the Writer and of requests in flight.
func (v *Virtual) Peaks() (writer, inFlight int) {
	return v.maxWriter, v.maxInFlight
}

// WriterFull is how long the Writer was at capacity.
func (v *Virtual) WriterFull() time.Duration {
	v.p.writer.account(v.now)
	return time.Duration(v.p.writer.full)
}

// Kind returns how many events each handler queue of a kind handed to its workers, and the
// largest number that waited in all of them together.
func (v *Virtual) Kind(kind string) (handled []uint64, maxDepth int) {
	for _, s := range v.sources {
		if s.lane.kind != kind {
			continue
		}
		for _, q := range s.lane.parts {
			handled = append(handled, q.meter.Handled)
		}
		maxDepth = s.maxDepth
	}
	return handled, maxDepth
}

func (v *Virtual) source(kind string) *source {
	for _, s := range v.sources {
		if s.lane.kind == kind {
			return s
		}
	}
	l := v.p.lane(kind)
	s := &source{lane: l, on: newWaiter(l)}
	l.clock.running = true // next looks at its alarm
	v.sources = append(v.sources, s)
	return s
}

func (v *Virtual) idle() bool {
	for _, s := range v.sources {
		if s.lane.queued > 0 {
			return false
		}
	}
	return true
}

func (v *Virtual) next() int64 {
	at := int64(math.MaxInt64)
	if len(v.exchanges) > 0 {
		at = v.exchanges[0].at
	}
	for _, s := range v.sources {
		if s.lane.clock.at != 0 {
			at = min(at, s.lane.clock.at)
		}
		if s.until != 0 {
			at = min(at, s.until)
		}
	}
	return at
}

func (v *Virtual) play(until int64) {
	for {
		at := v.next()
		if at > until {
			break
		}
		v.now = max(v.now, at)
		for len(v.exchanges) > 0 && v.exchanges[0].at <= v.now {
			v.land(v.exchanges.pop())
		}
		for _, s := range v.sources {
			if s.lane.clock.at != 0 && s.lane.clock.at <= v.now {
				s.lane.tick(v.now)
				v.settle()
			}
			if s.until != 0 && s.until <= v.now {
				s.on.turnAway(true)
				v.moveOn(s)
				v.settle()
			}
		}
	}
	v.now = max(v.now, until)
}

// settle lets woken workers and sources look, until none is left.
func (v *Virtual) settle() {
	for {
		looked := 0
		for looked < len(v.woken) { // work wakes further ones
			v.work(v.woken[looked])
			looked++
		}
		v.woken = v.woken[:0]
		moved := false
		for _, s := range v.sources {
			if !s.waits {
				continue
			}
			select {
			case <-s.on.room:
				v.retry(s)
				moved = true
			default:
			}
		}
		if !moved {
			return
		}
	}
}

// offer is Pipeline.Enqueue, which here leaves the waiting to settle and play.
func (v *Virtual) offer(s *source, e *Event) {
	l := s.lane
	l.received++
	l.queued++
	if l.place(e, v.now, s.on) {
		l.trim(v.now)
		v.note(s)
		return
	}
	s.waits, s.head = true, *e
	if l.p.config.QueueFull == Drop {
		s.until = after(v.now, l.p.config.QueueFullTimeout)
	}
	l.waiting++
}

func (v *Virtual) retry(s *source) {
	l := s.lane
	if !l.place(&s.head, v.now, s.on) {
		return
	}
	l.waiting--
	l.trim(v.now)
	v.note(s)
	v.moveOn(s)
}

// moveOn ends the wait of a source's event, whatever became of it, and hands over those behind.
func (v *Virtual) moveOn(s *source) {
	v.p.writer.forget(s.on)
	s.on.listed = false
	s.waits, s.head, s.until = false, Event{}, 0
	for s.passed < len(s.behind) && !s.waits {
		s.passed++
		v.offer(s, &s.behind[s.passed-1])
	}
	if s.passed > len(s.behind)/2 {
		s.behind = slices.Delete(s.behind, 0, s.passed)
		s.passed = 0
	}
}

// work is one look of a worker; see lane.work.
func (v *Virtual) work(w worker) {
	l, q := w.lane, w.part
	s, probe := l.take(q, v.now)
	if s == nil {
		q.started--
		return
	}
	took, err := v.storage.Begin(&s.ev, time.Duration(v.now))
	v.begun++
	v.exchanges.push(heapItem[exchange]{at: after(v.now, took), tie: v.begun, item: exchange{w, v.now, s, probe, err}})
	v.maxInFlight = max(v.maxInFlight, len(v.exchanges))
}

// land ends a request; its worker looks for the next one before others do.
func (v *Virtual) land(f exchange) {
	v.storage.End(&f.slot.ev, time.Duration(f.began), time.Duration(v.now), f.err)
	r := f.lane.finish(f.slot, f.probe, f.err, v.now)
	if r != nil {
		v.p.act(r)
	}
	v.work(f.worker)
	v.settle()
}

// note keeps the peaks after something was added.
func (v *Virtual) note(s *source) {
	v.maxWriter = max(v.maxWriter, v.p.writer.depth)
	l := s.lane
	depth := l.queued - l.waiting - l.inFlight // of the handler queues, if the Writer is empty
	if depth <= s.maxDepth {
		return
	}
	if v.p.writer.depth > 0 {
		depth = 0
		for _, q := range l.parts {
			depth += q.depth
		}
	}
	s.maxDepth = max(s.maxDepth, depth)
}
