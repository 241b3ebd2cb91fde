package spec

// Decide ends the repetitions of a run when they have an answer; see result.Decided.
type Decide struct {
	Figure string   `json:"figure" jsonschema:"enum=freshness.p99,enum=handler.drainSeconds" jsonschema_description:"Figure by which points that differ in their watcher alone are ranked. After each repetition from the third on the run ends if of any two that follow each other it is known that they differ, or that they are the same within 10 %."`
	Budget Duration `json:"budget" range:"10s.." jsonschema_description:"Time for the cells: no repetition is begun that would end later."`
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
