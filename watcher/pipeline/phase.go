package pipeline

import "github.com/watchbench/watchbench/internal/lifecycle"

type phase struct {
	running bool // between the start of Run and the end of its drain
	closed  bool // refuses events
	stopped bool // workers end
	retired bool // the kind is not collected: goroutines end when they have nothing to do
}

// begin lets the lane start goroutines, for what was enqueued before Run too.
func (l *lane) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = true
	l.clock.begin()
	l.wakeWorkers()
}

// retire lets goroutines without work end, or no longer. They are started again when
// there is some.
func (l *lane) retire(retired bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = retired
	if retired {
		l.wakeAll()
	}
}

// wakeAll makes all of the lane's goroutines look.
func (l *lane) wakeAll() {
	for _, q := range l.parts {
		q.wake.Broadcast()
	}
	lifecycle.Signal(l.clock.poke)
}

// stop ends the lane's goroutines as soon as their requests have returned. The mutex
// is held.
func (l *lane) stop() {
	l.stopped = true
	l.wakeAll()
}

// abandon drops everything queued and returns how much. The lane's
// goroutines have ended.
func (l *lane) abandon() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.p.now()
	n := l.queued - l.waiting // an Enqueue that waits counts its event itself
	l.dropped += uint64(n)
	l.queued -= n
	for _, q := range l.parts {
		for s := q.over.head; s != nil; s = s.next {
			l.p.writer.release(now, s.entered, false)
		}
		q.over = slots{}
		q.first, q.last, q.late = nil, nil, nil
		q.meter.Account(q.depth, now)
		q.depth = 0
	}
	l.blocked = nil
	for key, ent := range l.keys {
		for s := ent.head; s != nil; s = s.next {
			ent.part.meter.Left(now - s.entered)
		}
		if ent.parked == nil {
			delete(l.keys, key)
			continue
		}
		ent.head, ent.tail, ent.over = nil, nil, nil
	}
	return n
}
