package watchfault

import (
	"encoding/json"
	"time"
)

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

// step draws the faults whose time has come, and does what is due. It returns when there is more to do by time, zero
// for never, and a channel that is closed when the faults change.
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
	silent := false
	var noBookmark *active
	for _, a := range faults {
		p := x.in.Phase(a, now)
		soon(p.Edge)
		if !p.Open {
			continue
		}
		c := x.course(a, p.Began)
		switch over := !c.to.IsZero() && !now.Before(c.to); {
		case !c.hit || over:
		case now.Before(c.from):
			soon(c.from)
		case a.Spec.Effect == NoBookmark: // fires when the bookmark comes
			noBookmark = a
		case c.fired || x.in.fire(a, x.req.path):
			c.fired = true
			soon(c.to)
			silent = silent || a.Spec.Effect == Silent
			switch a.Spec.Effect {
			case Close:
				x.endLocked(endClose)
			case Reset:
				x.endLocked(endReset)
			}
		}
	}
	if silent != x.silent || noBookmark != x.noBookmark {
		x.silent, x.noBookmark = silent, noBookmark
		close(x.wake)
		x.wake = make(chan struct{})
	}
	return next, changed
}

// course is what a fault does to this exchange in one window. It is drawn once. The caller holds mu.
func (x *exchange) course(a *active, began time.Time) *course {
	if a.Spec.Effect == Silent && x.req.verb == Stream && x.listed.IsZero() {
		return &course{} // its time comes with the closing bookmark
	}
	window := uint64(began.UnixNano())
	c := x.courses[occasion{a.ID, window}]
	if c != nil {
		return c
	}
	c = &course{hit: x.in.hits(a, x.req.verb+x.req.path, x.n, window), from: latest(x.opened, began)}
	switch a.Spec.Effect {
	case Close, Reset:
		spread := x.in.draw(a, "until"+x.req.verb+x.req.path, x.n, window)
		c.from = c.from.Add(a.Spec.After + time.Duration(spread*float64(a.Spec.Until-a.Spec.After)))
	case Silent:
		if c.from = latest(c.from, x.listed); a.Spec.Hold > 0 {
			c.to = c.from.Add(a.Spec.Hold)
		}
	}
	x.courses[occasion{a.ID, window}] = c
	return c
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func objectOf(line []byte) string {
	var f struct {
		Object struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	_ = json.Unmarshal(line, &f) // of no form: no name
	return f.Object.Metadata.Namespace + "/" + f.Object.Metadata.Name
}
