package spec

// Decide ends the repetitions of a run when they have an answer; see result.Decided.
type Decide struct {
	Figure string   `json:"figure" jsonschema:"enum=freshness.p99,enum=handler.drainSeconds" jsonschema_description:"Figure that ranks points differing only in their watcher. From the third repetition on, the run ends once each neighboring pair is known to differ, or to be equal within 10 %."`
	Budget Duration `json:"budget" range:"10s.." jsonschema_description:"No repetition is started that would end later."`
}

// On reports whether the scenario asks for it.
func (d Decide) On() bool { return d.Figure != "" || d.Budget != 0 }

func (s *Scenario) checkDecide() error {
	switch d := s.Decide; {
	case !d.On():
	case s.Pair != "":
		return bad("decide", "drop it, or pair", "a pair has blocks of its own")
	case s.Ladder:
		return bad("decide", "drop it, or ladder", "the rungs of a ladder are run once each")
	}
	return nil
}
