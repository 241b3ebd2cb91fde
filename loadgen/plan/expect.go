package plan

import (
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Expected describes the writes of one kind in a load.
type Expected struct {
	Writes int64 // each is one watch event
	// Bytes is the mean size of the states, as JSON with managedFields, by their targets; 0
	// where it is not known, as of EndpointSlices, which grow.
	Bytes float64
}

// Expect plays an open load without a cluster, up to a time, and returns what is written of each kind.
func (p *Plan) Expect(length time.Duration) map[string]Expected {
	all := map[string]Expected{}
	for op := range p.Timed() {
		if op.At > length {
			break
		}
		expect(all, op)
	}
	return all
}

func expect(all map[string]Expected, op Op) {
	t := op.Target
	bytes := float64(t.Bytes)
	switch t.Kind {
	case "Pod":
		bytes *= meanOfStages
	case "Lease":
		bytes = leaseBytes
	}
	e := all[t.Kind]
	if op.Type != oplog.TypeDelete { // it has no content
		e.Bytes += (bytes - e.Bytes) / float64(e.Writes+1)
	}
	e.Writes++
	all[t.Kind] = e
}

const (
	// meanOfStages is the mean size of a pod's states that have a content, as a part of the
	// ready one's: 57, 60, 94, 94, 100, 100, 102, 102 and 107 % were recorded.
	meanOfStages = 0.907
	// leaseBytes is the size of what has no distribution.
	leaseBytes = 860
)

// ByTheClock reports whether a kind is written whatever becomes of pods.
func ByTheClock(kind string) bool {
	switch kind {
	case "Lease", "Node", "ConfigMap", "Widget":
		return true
	}
	return false
}
