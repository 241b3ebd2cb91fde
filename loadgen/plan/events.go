package plan

import (
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// recorder is a source of Events about one object, with client-go's limits: alike ones are counted, a flood is cut.
type recorder struct {
	about   *object
	tokens  int
	refill  time.Duration // when the last token was given
	begun   bool
	exact   map[string]*event
	similar map[string]*series
}

type event struct {
	*object
	count int
}

// series are the Events of one reason.
type series struct {
	since    time.Duration
	count    int
	combined *event
}

// record writes an Event, or counts one up. Those of one reason differ by their text.
func (j *journal) record(r *recorder, reason, text string) {
	if !r.begun {
		r.begun, r.tokens, r.refill = true, j.tn.Events.Burst, j.now
		r.exact, r.similar = map[string]*event{}, map[string]*series{}
	}
	key := reason + "/" + text
	s := r.similar[reason]
	if s == nil || j.now-s.since > j.tn.Events.Window.Std() {
		s = &series{since: j.now}
		r.similar[reason] = s
	}
	e := r.exact[key]
	if e == nil {
		s.count++
	}
	if s.count > j.tn.Events.Similar {
		e = s.combined
	}
	if every := j.tn.Events.Refill.Std(); r.tokens < j.tn.Events.Burst && every > 0 {
		n := min(int((j.now-r.refill)/every), j.tn.Events.Burst-r.tokens)
		r.tokens += n
		r.refill += time.Duration(n) * every
	}
	if r.tokens == 0 {
		return
	}
	if r.tokens == j.tn.Events.Burst {
		r.refill = j.now
	}
	r.tokens--
	if e != nil && !e.gone {
		e.count++
		j.emit(e.object, oplog.TypeUpdate, State{Count: e.count})
		return
	}
	e = j.event(r.about, reason, false)
	if s.count > j.tn.Events.Similar {
		s.combined = e
	} else {
		r.exact[key] = e
	}
}

func (j *journal) event(about *object, reason string, once bool) *event {
	e := &event{count: 1, object: j.object(Target{
		Kind: "Event", Namespace: about.Namespace, Name: eventName(about.Name, j.index), Seed: j.rng.Uint64(),
		Bytes: j.tn.Sizes.Event.Draw(j.rng), Subject: about.Target, Reason: reason,
	})}
	ttl := j.tn.Events.TTL.Std()
	expires := ttl < j.end-j.now
	j.put(e.object, oplog.TypeCreate, State{Count: 1}, once && !expires, about)
	if expires {
		j.after(ttl, func() { j.expire(e, ttl) })
	}
	return e
}

// expire deletes an Event that was not written for its time to live.
func (j *journal) expire(e *event, ttl time.Duration) {
	if left := e.last + ttl - j.now; left > 0 {
		j.after(left, func() { j.expire(e, ttl) })
		return
	}
	j.emit(e.object, oplog.TypeDelete, State{Count: e.count})
}

func (j *journal) once(about *object, reason string) { j.event(about, reason, true) }
