package pipeline

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/watchbench/watchbench/watcher/object"
)

// A refusal is about one object's body, unless several different objects, of whatever
// kinds, are refused alike within a short time and nothing is taken in between: then
// something before storage refuses whatever comes, which is an outage. An object that was
// refused before, in its last state or in such an outage, says nothing new after it.
const (
	alike       = 4
	alikeWithin = int64(10e9)
)

// refusals is the row of different objects that were refused alike since the last success.
type refusals struct {
	any    atomic.Bool // keys is not empty
	mu     sync.Mutex  // guards the rest
	status int
	begun  int64
	keys   []object.Key // at most alike
}

// add notes a refusal with that HTTP status, 0 where nothing was sent, and reports
// whether it belongs to an outage, and whether that has just been found out. again: the
// state before it was refused too.
func (r *refusals) add(key object.Key, status int, again bool, now int64) (outage, begins bool) {
	if status == 0 {
		return false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == alike {
		return true, false
	}
	if again {
		return false, false
	}
	if status != r.status || now-r.begun > alikeWithin {
		r.status, r.begun, r.keys = status, now, r.keys[:0]
	}
	if !slices.Contains(r.keys, key) {
		r.keys = append(r.keys, key)
	}
	r.any.Store(true)
	outage = len(r.keys) == alike
	return outage, outage
}

func (r *refusals) end() {
	if !r.any.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = r.keys[:0]
	r.any.Store(false)
}

// release takes back what was parked a short time ago, since it turned out to be an outage.
func (l *lane) release(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ent := range l.keys {
		s := ent.parked
		if s == nil || ent.head != nil || now-s.entered > alikeWithin || l.stopped {
			continue
		}
		ent.parked, s.again = nil, true
		ent.recordFailure(&l.health).round = l.gate.round - 1 // which is not this one
		l.parked--
		l.queued++
		q := ent.part
		q.meter.Account(q.depth, now)
		q.depth++
		s.entered = now
		ent.push(s)
		l.resume(ent, now)
	}
}
