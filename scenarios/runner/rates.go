package runner

import (
	"fmt"
	"time"
)

// rates are how fast a cell goes just now, for those who watch.
type rates struct {
	writes, requests meter
	backlog          *float64 // events that wait in the watcher
}

// texts are those that a phase has: before the load nothing is written, and after it nothing
// more.
func (r *rates) texts(phase string, now time.Time) (all []string) {
	if phase != PhaseLoad && phase != PhaseDrain {
		return nil
	}
	if v, ok := r.writes.rate(now); ok && phase == PhaseLoad {
		all = append(all, fmt.Sprintf("%.0f writes/s", v))
	}
	if v, ok := r.requests.rate(now); ok {
		all = append(all, fmt.Sprintf("storage %.0f/s", v))
	}
	if r.backlog != nil {
		all = append(all, fmt.Sprintf("backlog %.0f", *r.backlog))
	}
	return all
}

// A meter's rate is that over meterSpan at least, and unknown once nothing was read for
// meterStale.
const (
	meterSpan  = time.Second
	meterStale = 5 * time.Second
)

// meter makes a rate of a counter.
type meter struct {
	from   time.Time // where the span begins
	at     time.Time // of the last reading
	value  float64   // at from
	latest float64
	last   float64 // rate over the last whole span
	known  bool
}

func (m *meter) read(now time.Time, v float64) {
	if m.from.IsZero() || v < m.latest { // another process counts from 0
		*m = meter{from: now, at: now, value: v, latest: v}
		return
	}
	m.at, m.latest = now, v
	if d := now.Sub(m.from); d >= meterSpan {
		m.last, m.known = (v-m.value)/d.Seconds(), true
		m.from, m.value = now, v
	}
}

func (m *meter) rate(now time.Time) (float64, bool) {
	return m.last, m.known && now.Sub(m.at) < meterStale
}
