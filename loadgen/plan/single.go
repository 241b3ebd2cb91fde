package plan

import "github.com/watchbench/watchbench/loadgen/oplog"

// Life is the whole life of the i-th of an endless number of pods, from 0, for a caller
// that decides itself when it begins one: k6's scripts. Ids follow from i. What Survivors
// and Recreate say does not apply; hot pods and profiles have no part in it.
func (p *Plan) Life(i int64) []Op {
	rng := p.rng(streamSingle + uint64(i))
	l := life{steps: p.steps, pod: Pod{
		Lane: i, Name: newNamer(p.rng(streamNames), "").name(i),
		Namespace: rng.IntN(p.cfg.Namespaces), Node: rng.IntN(p.cfg.Nodes),
	}}
	ops := make([]Op, 0, len(p.steps))
	for !l.done() {
		op := l.advance()
		op.ID, op.Phase = idLoad+i*int64(len(p.steps))+int64(len(ops)), oplog.PhaseLoad
		ops = append(ops, op)
	}
	return ops
}
