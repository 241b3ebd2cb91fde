package synchronizer

import (
	"slices"
	"sync"
	"time"
)

// kindState is what is known of a kind beside its records.
type kindState struct {
	retired bool      // it is watched no more: storage should hold nothing of it
	tries   int       // comparisons that it has left before the next period
	dealt   time.Time // when its first list was dealt with
	held    time.Time // since when its rows wait for the record to name it

	// Of a first list that was taken over and is not dealt with:
	lists    int       // more than one if the kind went and came meanwhile, or is to be compared again
	since    time.Time // the first of them
	compared bool
	running  bool
}

// kindStates are those of all kinds.
type kindStates struct {
	mu sync.Mutex
	of map[string]*kindState // guarded by mu
}

// with changes the state of a kind.
func (s *kindStates) with(kind string, do func(*kindState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[kind] == nil {
		s.of[kind] = &kindState{}
	}
	do(s.of[kind])
}

// state returns that of a kind.
func (s *kindStates) state(kind string) (now kindState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[kind]; k != nil {
		now = *k
	}
	return now
}

// those returns the kinds for which is holds, sorted.
func (s *kindStates) those(is func(*kindState) bool) (kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, k := range s.of {
		if is(k) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Uncompared are the kinds whose first list was taken over and is not compared yet.
func (s *kindStates) Uncompared() []string {
	return s.those(func(k *kindState) bool { return k.lists > 0 && !k.compared })
}

// FirstSince is when a first list was taken over that is not compared and handed over yet; zero if there is none.
func (s *kindStates) FirstSince(kind string) time.Time { return s.state(kind).since }

func (s *kindStates) markCompared(kind string) {
	s.with(kind, func(k *kindState) { k.compared = true })
}
