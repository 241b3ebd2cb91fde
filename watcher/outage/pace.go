// Package outage bounds how often the log reports something that goes and comes back: the
// first outages get a line each, one that flaps a line now and then.
package outage

import (
	"time"

	"golang.org/x/time/rate"
)

// The first outages of a calm time are logged at once; after them there is room for one more
// with each pause.
const (
	burst = 4
	pause = 2 * time.Minute
)

// Pace limits the lines about one thing that may be away. Make it with NewPace; it is for one
// goroutine.
type Pace struct {
	room       *rate.Limiter
	away, told bool
	untold     int // outages that ended without a line, since the last line
}

// NewPace has room for the first outages.
func NewPace() Pace { return Pace{room: NewRoom()} }

// NewRoom has room for the lines of the first outages, and for one more with each pause.
func NewRoom() *rate.Limiter { return rate.NewLimiter(rate.Every(pause), burst) }

// Begins is to be called whenever the thing is found away, and reports whether a line
// should say so: once per outage at most. One that is not logged at its begin is logged later
// if it goes on. attrs are the line's further attributes: how many were not logged before.
func (p *Pace) Begins(now time.Time) (tell bool, attrs []any) {
	p.away = true
	if p.told || !p.room.AllowN(now, 1) {
		return false, nil
	}
	p.told = true
	if p.untold > 0 {
		attrs = []any{"untold", p.untold}
	}
	p.untold = 0
	return true, attrs
}

// Told reports whether a line has said that the thing is away, and none that it is back.
func (p *Pace) Told() bool { return p.told }

// Ends is to be called whenever the thing is there, and reports whether a line should say
// so: if one said that it was away.
func (p *Pace) Ends() (tell bool) {
	tell = p.told
	if p.away && !p.told {
		p.untold++
	}
	p.away, p.told = false, false
	return tell
}
