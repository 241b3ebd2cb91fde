package measure

import (
	"iter"

	"github.com/watchbench/watchbench/scenarios/history"
)

// freshness is the age of the cluster's state at the moment storage had it.
type freshness struct {
	load      *Histogram // changes of the loaded kind
	bystander *Histogram
	acked     int64 // changes of the load whose state arrived
	missing   int64 // those whose state did not
	writes    rate  // when the apiserver answered them
}

// freshnessOf goes through the changes of the load, counted from the intended time.
// What arrived after the drain did not arrive.
func freshnessOf(changes iter.Seq[history.Change], from, to int64) freshness {
	f := freshness{load: NewHistogram(), bystander: NewHistogram()}
	for c := range changes {
		arrived := c.Stored != 0 && c.Arrived <= to
		h := f.load
		if c.Bystander {
			h = f.bystander
		}
		if arrived {
			h.Add(c.Stored - c.Intended)
		}
		switch {
		case c.Bystander:
			continue
		case arrived:
			f.acked++
		default:
			f.missing++
		}
		f.writes.add(c.Finished - from)
	}
	return f
}
