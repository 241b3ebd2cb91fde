package notify

import (
	"errors"
	"time"

	"github.com/watchbench/watchbench/watcher/notify/delivery"
)

// after decides about a try that failed: when the next one is due and when the target is to
// be tried again at all, or, with a reason, that there is none.
func (s *subscription) after(i *item, err error) (due, hold time.Time, reason delivery.Reason) {
	var permanent *delivery.PermanentError
	var unreachable *delivery.UnreachableError
	var later *delivery.RetryAfterError
	now := time.Now()
	if errors.As(err, &unreachable) {
		// No event is to blame, and the others would fare no better.
		hold = now.Add(s.pauseUnreachable())
	} else {
		s.reached()
	}
	switch {
	case errors.As(err, &permanent):
		return due, hold, permanent.Reason
	case i.tries >= s.Retry.Tries:
		return due, hold, delivery.Tries
	case now.Sub(i.first) >= time.Duration(s.Retry.Age):
		return due, hold, delivery.Age
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

// pauseUnreachable is how long the target is left alone.
func (s *subscription) pauseUnreachable() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreachable++
	return jitter(time.Duration(s.Retry.Initial), time.Duration(s.Retry.Max), s.unreachable-1)
}

// reached notes that the target answered.
func (s *subscription) reached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreachable = 0
}
