package leader

import (
	"time"

	"golang.org/x/time/rate"
)

// The first outages of a calm time are logged at once; after them there is room for one more
// with each pause.
const (
	loggedAtOnce = 4
	logPause     = 2 * time.Minute
)

// pace limits the lines about one thing that goes and comes back. It is for one goroutine.
type pace struct {
	room       *rate.Limiter
	away, told bool
	untold     int // outages that ended without a line, since the last line
}

func newPace() pace { return pace{room: rate.NewLimiter(rate.Every(logPause), loggedAtOnce)} }

// begins is to be called whenever the thing is found away, and reports whether a line
// should say so: once per outage at most. One that is not logged at its begin is logged later
// if it goes on. attrs are the line's further attributes: how many were not logged before.
func (p *pace) begins(now time.Time) (tell bool, attrs []any) {
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

// isTold reports whether a line has said that the thing is away, and none that it is back.
func (p *pace) isTold() bool { return p.told }

// ends is to be called whenever the thing is there, and reports whether a line should say
// so: if one said that it was away.
func (p *pace) ends() (tell bool) {
	tell = p.told
	if p.away && !p.told {
		p.untold++
	}
	p.away, p.told = false, false
	return tell
}
