package watchfault

import (
	"encoding/json"
	"slices"
	"time"
)

// supervise lets the faults of the exchange's course come and go in time.
func (x *exchange) supervise() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, changed := x.step(time.Now())
		if x.over() {
			return
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(0, time.Until(next)))
		}
		select {
		case <-timer.C:
		case <-changed:
		case <-x.poke:
		case <-x.ctx.Done():
			return
		}
	}
}

// step draws the faults whose time has come, and does what is due. It returns when
// there is more to do by time, zero for never, and a channel that is closed when the faults change.
func (x *exchange) step(now time.Time) (next time.Time, changed <-chan struct{}) {
	faults, changed := x.in.snapshot(perWatch, x.req)
	refuse, _, edge, _ := x.in.Refusal(now)
	x.mu.Lock()
	defer x.mu.Unlock()
	if refuse {
		x.endLocked(endReset)
		return time.Time{}, changed
	}
	soon := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	soon(edge)
	for _, a := range faults {
		p := x.in.Phase(a, now)
		soon(p.Edge)
		if p.Open {
			x.consider(a, p.Began, p.Edge)
		}
	}
	soon(x.perform(now, faults))
	return next, changed
}

// consider draws a fault once per window. The caller holds mu.
func (x *exchange) consider(a *active, began, end time.Time) {
	if a.Spec.Effect == Silent && x.req.verb == Stream && x.listed.IsZero() {
		return // its time comes with the closing bookmark
	}
	d := draw{a.ID, began.UnixNano()}
	if x.drawn[d] {
		return
	}
	x.drawn[d] = true
	if !x.in.hits(a, x.req.verb+x.req.path, x.n, uint64(d.began)) {
		return
	}
	from := latest(x.opened, began)
	p := course{fault: a, from: from, to: end}
	switch a.Spec.Effect {
	case Close, Reset:
		spread := x.in.draw(a, "until"+x.req.verb+x.req.path, x.n, uint64(d.began))
		p.from = from.Add(a.Spec.After + time.Duration(spread*float64(a.Spec.Until-a.Spec.After)))
	case Silent:
		p.from = latest(from, x.listed)
		if a.Spec.Hold > 0 && (end.IsZero() || p.from.Add(a.Spec.Hold).Before(end)) {
			p.to = p.from.Add(a.Spec.Hold)
		}
	}
	x.plans = append(x.plans, p)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// perform does what is due and returns when more is. The caller holds mu.
func (x *exchange) perform(now time.Time, faults []*active) (next time.Time) {
	silent := false
	var noBookmark *active
	x.plans = slices.DeleteFunc(x.plans, func(p course) bool {
		return !slices.Contains(faults, p.fault) || !p.to.IsZero() && !now.Before(p.to)
	})
	for i := range x.plans {
		p := &x.plans[i]
		if now.Before(p.from) {
			if next.IsZero() || p.from.Before(next) {
				next = p.from
			}
			continue
		}
		if !p.to.IsZero() && (next.IsZero() || p.to.Before(next)) {
			next = p.to
		}
		if p.fault.Spec.Effect == NoBookmark {
			noBookmark = p.fault // fires when the bookmark comes
			continue
		}
		if !p.fired && !x.in.fire(p.fault, x.req.path) {
			p.to = now // used up; dropped by the next step
			continue
		}
		p.fired = true
		switch p.fault.Spec.Effect {
		case Close:
			x.endLocked(endClose)
		case Reset:
			x.endLocked(endReset)
		case Silent:
			silent = true
		}
	}
	if silent != x.silent || noBookmark != x.noBookmark {
		x.silent, x.noBookmark = silent, noBookmark
		close(x.wake)
		x.wake = make(chan struct{})
	}
	return next
}

// objectOf names the object of a frame.
func objectOf(line []byte) string {
	var f struct {
		Object struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	_ = json.Unmarshal(line, &f) // of no form: no name
	return f.Object.Metadata.Namespace + "/" + f.Object.Metadata.Name
}
