package pipeline

import (
	"time"

	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
)

// Stats are the event counts of one kind, or of all.
type Stats = meter.Stats

// counts are a kind's events, by what has become of them.
type counts struct {
	direct                                      uint64 // found room in their handler queue at once
	received, sent, coalesced, dropped, retried uint64
	discarded, shed                             uint64 // of the dropped ones, by a full queue, and beyond the bound
	parked, queued, inFlight                    int
	waiting                                     int // Enqueue calls that wait for room
	freshness                                   meter.Histogram
}

func (c *counts) stats() Stats {
	return Stats{
		Received: c.received, Sent: c.sent, Coalesced: c.coalesced, Dropped: c.dropped, Retried: c.retried,
		Parked: c.parked, Queued: c.queued, InFlight: c.inFlight,
	}
}

// held is how many wait or are parked.
func (c *counts) held() int { return c.queued - c.waiting - c.inFlight + c.parked }

// Stats returns the counts of all kinds together.
func (p *Pipeline) Stats() Stats {
	var sum Stats
	for _, l := range *p.lanes.Load() {
		l.mu.Lock()
		sum = sum.Plus(l.stats())
		l.mu.Unlock()
	}
	return sum
}

// Idle reports that every event is settled; parked ones are.
func (p *Pipeline) Idle() bool {
	for _, l := range *p.lanes.Load() {
		l.mu.Lock()
		n := l.queued
		l.mu.Unlock()
		if n > 0 {
			return false
		}
	}
	return true
}

// oldest is when the oldest change was received that storage lacks, and whether there
// is one. Parked events are given up and not counted.
func (l *lane) oldest() (at int64, ok bool) {
	note := func(s *slot) {
		if s != nil && (!ok || s.since < at) {
			at, ok = s.since, true
		}
	}
	for _, q := range l.parts {
		if q.first != nil {
			note(q.first.head)
		}
		if len(q.late) > 0 {
			note(q.late[0].item.head)
		}
		note(q.over.head)
	}
	for _, key := range l.blocked {
		note(key.item.head)
	}
	for _, s := range l.sends {
		note(s)
	}
	return at, ok
}

// Lag is the age of the oldest change of a kind that storage lacks, parked or not; 0 if it
// lacks none.
func (p *Pipeline) Lag(kind string) time.Duration {
	l := (*p.lanes.Load())[kind]
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := p.now()
	at, ok := l.oldest()
	if !ok {
		at = now
	}
	if l.parked > 0 && l.bound == nil { // else nothing is ever to come of it
		for _, ent := range l.keys {
			if ent.parked != nil {
				at = min(at, ent.parked.since)
			}
		}
	}
	return time.Duration(now - at)
}

// Paced is a kind of which one request at a time is sent, since storage answers none.
type Paced struct {
	Kind  string
	Since time.Time
	Err   error // of the last request
}

// Paced returns the kinds that are paced, sorted.
func (p *Pipeline) Paced() (all []Paced) {
	for _, l := range p.sorted() {
		l.mu.Lock()
		if l.gate.down != 0 {
			all = append(all, Paced{l.kind, p.start.Add(time.Duration(l.gate.down)), l.gate.why})
		}
		l.mu.Unlock()
	}
	return all
}

// Pending reports whether something of an object is on its way: waiting, in flight, or
// held by a backoff or fence. What is parked is not: it would stay away from storage
// for as long as its object does not change, so a comparison may bring it back.
func (p *Pipeline) Pending(key object.Key) bool {
	return p.asks(key, func(e *entry) bool { return e.head != nil || e.over != nil || e.inFlight > 0 })
}

// Refused reports whether storage refused the last event of an object, which is parked
// until the object changes.
func (p *Pipeline) Refused(key object.Key) bool {
	return p.asks(key, func(e *entry) bool { return e.parked != nil })
}

func (p *Pipeline) asks(key object.Key, is func(*entry) bool) bool {
	l := (*p.lanes.Load())[key.Kind]
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[name{key.Namespace, key.Name}]
	return e != nil && is(e)
}
