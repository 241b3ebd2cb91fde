package plan

import (
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// recorder is one source of Events about one object, with the limits that client-go's has:
// alike ones are counted in one, similar ones are combined, and a flood is cut.
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
func (w *world) record(r *recorder, reason, text string) {
	if !r.begun {
		r.begun, r.tokens, r.refill = true, w.tn.Events.Burst, w.now
		r.exact, r.similar = map[string]*event{}, map[string]*series{}
	}
	key := reason + "/" + text
	s := r.similar[reason]
	if s == nil || w.now-s.since > w.tn.Events.Window.Std() {
		s = &series{since: w.now}
		r.similar[reason] = s
	}
	e := r.exact[key]
	if e == nil {
		s.count++
	}
	if s.count > w.tn.Events.Similar {
		e = s.combined
	}
	if every := w.tn.Events.Refill.Std(); r.tokens < w.tn.Events.Burst && every > 0 {
		n := min(int((w.now-r.refill)/every), w.tn.Events.Burst-r.tokens)
		r.tokens += n
		r.refill += time.Duration(n) * every
	}
	if r.tokens == 0 {
		return
	}
	if r.tokens == w.tn.Events.Burst {
		r.refill = w.now
	}
	r.tokens--
	if e != nil && !e.gone {
		e.count++
		w.emit(e.object, oplog.TypeUpdate, State{Count: e.count})
		return
	}
	e = w.event(r.about, reason, false)
	if s.count > w.tn.Events.Similar {
		s.combined = e
	} else {
		r.exact[key] = e
	}
}

// event writes a new Event; once says that it is not repeated.
func (w *world) event(about *object, reason string, once bool) *event {
	e := &event{count: 1, object: w.object(about.group, Target{
		Kind: "Event", Namespace: about.Namespace, Name: eventName(about.Name, w.index), Seed: w.rng.Uint64(),
		Bytes: w.tn.Sizes.Event.Draw(w.rng), Subject: about.Target, Reason: reason,
	})}
	ttl := w.tn.Events.TTL.Std()
	expires := !w.closed && ttl < w.end-w.now
	w.put(e.object, oplog.TypeCreate, State{Count: 1}, once && !expires, about)
	if expires {
		w.after(ttl, func() { w.expire(e, ttl) })
	}
	return e
}

// expire deletes an Event that was not written for its time to live.
func (w *world) expire(e *event, ttl time.Duration) {
	if left := e.last + ttl - w.now; left > 0 {
		w.after(left, func() { w.expire(e, ttl) })
		return
	}
	w.emit(e.object, oplog.TypeDelete, State{Count: e.count})
}

// once writes an Event that is not repeated.
func (w *world) once(about *object, reason string) { w.event(about, reason, true) }
