package store

import (
	"slices"
	"time"
)

// Clean does what the real server's hourly cleaner does: it purges documents that were flagged PurgeAfter ago and
// events older than MirrorRetention.
func (s *Store) Clean(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.colls[mirrorKind]; c != nil {
		for _, sl := range c.order {
			if sl.rec != nil && sl.rec.Event != nil && now.Sub(time.Unix(sl.rec.Event.EventTime, 0)) > MirrorRetention {
				sl.rec, sl.deleted = nil, now.Add(-2*PurgeAfter)
				s.live--
				s.dead++
			}
		}
	}
	s.purge(now.Add(-PurgeAfter))
}

// limitDeleted keeps the number of flagged documents within MaxDeleted.
func (s *Store) limitDeleted(now time.Time) {
	if s.dead <= MaxDeleted {
		return
	}
	var times []time.Time
	for _, c := range s.colls {
		for _, sl := range c.order {
			if sl.rec == nil {
				times = append(times, sl.deleted)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	s.purge(times[len(times)/2])
	if s.dead > MaxDeleted { // all flagged at one moment
		s.purge(now)
	}
}

// purge forgets documents flagged at or before that time.
func (s *Store) purge(before time.Time) {
	gone := func(sl *slot) bool { return sl.rec == nil && !sl.deleted.After(before) }
	for _, c := range s.colls {
		n := len(c.order)
		for _, sl := range c.order {
			if gone(sl) {
				delete(c.byKey, sl.key)
				if sl.key.namespace != "" {
					c.namespaced--
				}
			}
		}
		c.order = slices.DeleteFunc(c.order, gone)
		s.dead -= n - len(c.order)
	}
}
