package plan

import (
	"iter"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Expected is what a load writes of one kind.
type Expected struct {
	Writes int64 // each is one watch event
	// Bytes is the mean size of the states, as JSON with managedFields, by their targets; 0
	// where it is not known, as of EndpointSlices, which grow.
	Bytes float64
}

// Expect plays the load without a cluster, an open one up to a time and a closed one for so
// many operations, and returns what is written of each kind.
func (p *Plan) Expect(length time.Duration, operations int64) map[string]Expected {
	all := map[string]Expected{}
	if p.cfg.Model == ModelOpen {
		for op := range p.Timed() {
			if op.At > length {
				break
			}
			expect(all, op)
		}
		return all
	}
	threads := int64(p.cfg.Threads)
	for k := range threads {
		left := (operations + threads - 1 - k) / threads
		next, stop := iter.Pull(p.Thread(int(k)))
		for ; left > 0; left-- {
			op, ok := next()
			if !ok {
				break
			}
			expect(all, op)
		}
		stop()
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

// PodBytes is about the mean size of a pod's states.
func (c *Load) PodBytes() float64 {
	if c.Profile == "" {
		return float64(c.ObjectBytes)
	}
	return c.ResolvedTuning().Sizes.Pod.Mean() * meanOfStages
}
