package notify

import (
	"errors"
	"time"
)

// after decides about a try that failed: when the next one is due and when the target is to
// be tried again at all, or, with a reason, that there is none.
func (s *subscription) after(i *item, err error) (due, hold time.Time, reason Reason) {
	var permanent *PermanentError
	var unreachable *UnreachableError
	var later *RetryAfterError
	now := time.Now()
	old := now.Sub(i.first) >= time.Duration(s.Retry.Age)
	if errors.As(err, &unreachable) {
		// No event is to blame: this does not count as a try, and others would fail too.
		i.tries--
		if old {
			reason = Age
		}
		hold = s.leaveAlone(now)
		return hold, hold, reason
	}
	s.reached()
	switch {
	case errors.As(err, &permanent):
		return due, hold, permanent.Reason
	case i.tries >= s.Retry.Tries:
		return due, hold, Tries
	case old:
		return due, hold, Age
	}
	pause := jitter(time.Duration(s.Retry.Initial), time.Duration(s.Retry.Max), i.tries-1)
	if errors.As(err, &later) {
		pause += later.After // never before, and not all at once
		if later.All {
			hold = now.Add(later.After)
		}
	}
	return now.Add(pause), hold, ""
}

// leaveAlone returns until when the target is left alone. Workers that fail together say so once.
func (s *subscription) leaveAlone(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.alone) {
		s.alone = now.Add(jitter(time.Duration(s.Retry.Initial), time.Duration(s.Retry.Max), s.unreachable))
		s.unreachable++
	}
	return s.alone
}

func (s *subscription) reached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreachable = 0
}
