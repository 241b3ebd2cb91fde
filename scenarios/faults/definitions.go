package faults

import (
	"fmt"

	"github.com/watchbench/watchbench/scenarios/spec"
)

// maxDefinitions bounds what one scenario adds: each is a watch of its own, and work for
// the apiserver.
const maxDefinitions = 500

// definitions follows through a timeline which definitions there are.
type definitions struct {
	added    int
	switched []bool // of those that there are, the oldest first
}

// follow does what the event does, or says why it cannot.
func (d *definitions) follow(t *spec.Timeline, e spec.Event) error {
	n, there := e.Number(), len(d.switched)
	enough := func(have int, of string) error {
		if n <= have {
			return nil
		}
		return t.Bad("count", "add more with "+crdAdd+" first, or use a smaller count", "%s of %d, but there are %d %s", e.What, n, have, of)
	}
	switch e.What {
	case crdAdd:
		d.added += n
		d.switched = append(d.switched, make([]bool, n)...)
		if d.added > maxDefinitions {
			return t.Bad("count", fmt.Sprintf("add at most %d in one scenario", maxDefinitions), "%d definitions", d.added)
		}
	case crdSwitch:
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
	case removeVersion:
		if d.added > 0 {
			return t.Bad("what", "use them in two scenarios", "%s beside %s: the definitions of one are found by discovery, those of the other are followed", e.What, crdAdd)
		}
		if n > maxDefinitions {
			return t.Bad("count", fmt.Sprintf("at most %d in one scenario", maxDefinitions), "%d definitions", n)
		}
	case crdUnserve:
		return enough(there, "definitions")
	case crdRemove:
		if err := enough(there, "definitions"); err != nil {
			return err
		}
		d.switched = d.switched[n:]
	case changeCustoms:
		if there == 0 {
			return t.Bad("what", "add one with "+crdAdd+" first", "%s without a definition", e.What)
		}
	}
	return nil
}
