package plan

import "fmt"

// Part is the part of generator i of n: the parts' operations together are the plan's,
// with the same ids. What belongs to one workload is in one part: a Deployment with its
// ReplicaSets, pods, slices and their Events; a plain pod; a thread of a closed loop.
func (p *Plan) Part(i, n int) (*Plan, error) {
	if n < 1 || i < 0 || i >= n {
		return nil, fmt.Errorf("part %d of %d: want 0 to the number of parts", i, n)
	}
	q := *p
	q.part, q.parts = i, n
	return &q, nil
}

// Threads are the numbers of the closed loop's threads that belong to this part.
func (p *Plan) Threads() (mine []int) {
	for k := range p.cfg.Threads {
		if p.mine(k) {
			mine = append(mine, k)
		}
	}
	return mine
}

// mine reports whether a group of objects belongs to this part of the plan.
func (p *Plan) mine(group int) bool { return p.parts <= 1 || group%p.parts == p.part }
