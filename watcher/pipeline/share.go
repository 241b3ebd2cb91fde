package pipeline

// share is one kind's part of MaxInFlight, which all adaptive kinds share. A nil one,
// of a strategy that does not adapt, sets no bounds. Its lane's mutex guards it.
type share struct {
	*climber
	p *Pipeline
}

// full reports that no further request may start now. A kind without one in flight
// may always send, and looks again when its own is answered, so that no kind waits for
// another's answer. An eighth of MaxInFlight is for kinds with less than an even share, so
// that a backlog of one leaves room for the others' changes.
func (s *share) full(inFlight int) bool {
	if s == nil || inFlight == 0 {
		return false
	}
	most := int64(s.p.config.MaxInFlight)
	if n := s.p.sharing.Load(); n > 1 && int64(inFlight) > most/n {
		most -= most / 8
	}
	return inFlight >= s.limit || s.p.adapting.Load() >= most
}

func (s *share) begin(inFlight int) {
	if s == nil {
		return
	}
	s.p.adapting.Add(1)
	if inFlight == 1 {
		s.p.sharing.Add(1)
	}
}

func (s *share) end(inFlight int) {
	if s == nil {
		return
	}
	s.p.adapting.Add(-1)
	if inFlight == 0 {
		s.p.sharing.Add(-1)
	}
}

// learn moves the limit by an outcome; busy says that another event waits.
func (s *share) learn(result outcome, busy bool, now int64) {
	if result == delivered || result == permanent {
		s.answered(now, busy)
	} else {
		s.failed(now, result == throttled)
	}
}
