package spec

import (
	"fmt"
	"slices"
)

// customEvents are the events of CustomResourceDefinitions and their objects.
var customEvents = []string{EventCRDAdd, EventCRDSwitch, EventCRDUnserve, EventCRDRemove, EventChangeCustoms}

// MaxDefinitions bounds what one scenario adds: each is a watch of its own, and work
// for the apiserver.
const MaxDefinitions = 500

// Definitions is how many CustomResourceDefinitions the events add in all.
func (s *Scenario) Definitions() (n int) {
	for _, e := range s.Events {
		if e.What == EventCRDAdd {
			n += e.Number()
		}
	}
	return n
}

// HasCustoms reports whether the events concern custom resources.
func (s *Scenario) HasCustoms() bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return slices.Contains(customEvents, e.What) })
}

// definitions follows through a timeline which definitions there are.
type definitions struct {
	added    int
	switched []bool // of those that there are, the oldest first
}

// follow does what the event does, or says why it cannot.
func (d *definitions) follow(at string, e Event) error {
	n, there := e.Number(), len(d.switched)
	enough := func(have int, of string) error {
		if n <= have {
			return nil
		}
		return bad(at+".count", "add more with "+EventCRDAdd+" first, or use a smaller count", "%s of %d, but there are %d %s", e.What, n, have, of)
	}
	switch e.What {
	case EventCRDAdd:
		d.added += n
		d.switched = append(d.switched, make([]bool, n)...)
		if d.added > MaxDefinitions {
			return bad(at+".count", fmt.Sprintf("add at most %d in one scenario", MaxDefinitions), "%d definitions", d.added)
		}
	case EventCRDSwitch:
		var old []int
		for i, already := range d.switched {
			if !already {
				old = append(old, i)
			}
		}
		if err := enough(len(old), "definitions on v1"); err != nil {
			return err
		}
		for _, i := range old[:n] {
			d.switched[i] = true
		}
	case EventCRDUnserve:
		return enough(there, "definitions")
	case EventCRDRemove:
		if err := enough(there, "definitions"); err != nil {
			return err
		}
		d.switched = d.switched[n:]
	case EventChangeCustoms:
		if there == 0 {
			return bad(at+".what", "add one with "+EventCRDAdd+" first", "%s without a definition", e.What)
		}
	}
	return nil
}
