package plan

import "fmt"

// Part is the part of generator i of n of an open loop with a profile: the parts' operations
// together are the plan's, with the same ids. What belongs to one workload is in one part: a
// Deployment with its ReplicaSets, pods, slices and their Events.
func (p *Plan) Part(i, n int) (*Plan, error) {
	switch {
	case n < 1 || i < 0 || i >= n:
		return nil, fmt.Errorf("part %d of %d: want 0 to the number of parts", i, n)
	case n > 1 && (p.cfg.Profile == "" || p.cfg.Model != ModelOpen):
		return nil, fmt.Errorf("only the open load of a profile can be divided")
	}
	q := *p
	q.part, q.parts = i, n
	return &q, nil
}

// mine reports whether a group of objects belongs to this part of the plan.
func (p *Plan) mine(group int) bool { return p.parts <= 1 || group%p.parts == p.part }
