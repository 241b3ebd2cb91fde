package pipeline

import "time"

// pool makes the entries and slots of one kind, and keeps free ones for reuse. Its lane's mutex
// guards it.
type pool struct {
	start time.Time // of the queues' clock
	keys  map[name]*entry
	peak  int // most keys since keys was made
	seq   int64

	weighs bool  // bytes are counted
	bytes  int64 // of the objects in the slots in use

	freeSlots   *slot
	freeEntries *entry
	free        int // slots and entries in the two lists together
}

// maxFree bounds the slots and entries kept for reuse per kind; about 250 bytes each.
const maxFree = 2048

func (p *pool) newEntry(key name, q *partition) *entry {
	e := p.freeEntries
	if e != nil {
		p.freeEntries, e.next = e.next, nil
		p.free--
	} else {
		e = &entry{}
	}
	e.key, e.part = key, q
	p.keys[key] = e
	p.peak = max(p.peak, len(p.keys))
	return e
}

func (p *pool) forget(e *entry) {
	if !e.vacant() || p.keys[e.key] != e {
		return
	}
	delete(p.keys, e.key)
	if len(p.keys) == 0 && p.peak > maxFree { // a map never shrinks, and the burst is over
		p.keys, p.peak = make(map[name]*entry), 0
	}
	*e = entry{}
	if p.free < maxFree {
		e.next, p.freeEntries = p.freeEntries, e
		p.free++
	}
}

func (p *pool) newSlot(e *Event, ent *entry, now int64) *slot {
	s := p.freeSlots
	if s != nil {
		p.freeSlots, s.next = s.next, nil
		p.free--
	} else {
		s = &slot{}
	}
	p.seq++
	s.ev, s.ent, s.seq, s.entered = *e, ent, p.seq, now
	s.since = now
	if !e.Received.IsZero() {
		s.since = min(now, int64(e.Received.Sub(p.start)))
	}
	p.weigh(s)
	return s
}

func (p *pool) freeSlot(s *slot) {
	p.bytes -= int64(s.size)
	*s = slot{}
	if p.free < maxFree {
		s.next, p.freeSlots = p.freeSlots, s
		p.free++
	}
}

// weigh accounts for the object that a slot has now.
func (p *pool) weigh(s *slot) {
	if !p.weighs {
		return
	}
	n := 0
	if s.ev.Object != nil {
		n = s.ev.Object.Size()
	}
	p.bytes += int64(n - s.size)
	s.size = n
}
