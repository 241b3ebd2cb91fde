package plan

import (
	"math/rand/v2"
	"slices"
	"time"
)

type life struct {
	pod   *Target
	steps []step
	next  int
	again bool // after the last step a new pod takes the name
}

// done is true of the zero life too.
func (l *life) done() bool { return l.next >= len(l.steps) }

func (l *life) gap() time.Duration { return l.steps[l.next].gap }

// advance takes the next step as an Op without id, phase and time.
func (l *life) advance() Op {
	s := l.steps[l.next]
	op := Op{Type: s.kind, N: s.n, Target: l.pod}
	if l.next > 0 || l.pod.Incarnation > 0 {
		op.Gap = s.gap
	}
	l.next++
	op.Last = l.done()
	return op
}

// lives begins one pod after the other. Several may share the numbering by taking every stride-th number each.
type lives struct {
	rng    *rand.Rand
	cfg    *Config
	names  namer
	lane   int64 // of number 0
	index  int64
	stride int64
	whole  []step // with delete, if the lifecycle has one
	kept   []step // without, and without what leads to it
}

func (p *Plan) newLives(rng *rand.Rand, s loopSpec) *lives {
	ls := &lives{rng: rng, cfg: &p.cfg, names: s.names, lane: s.lane, index: int64(s.thread), stride: int64(s.threads),
		whole: p.steps, kept: p.steps}
	if i := slices.IndexFunc(p.steps, func(s step) bool { return slices.Contains(ending, s.kind) }); i >= 0 {
		ls.kept = p.steps[:i]
	}
	return ls
}

// next begins a pod, under the former's name if that asked for it. It always draws as many random values.
func (ls *lives) next(former life) life {
	namespace, node := ls.rng.IntN(ls.cfg.Namespaces), ls.rng.IntN(ls.cfg.Nodes)
	survives := ls.rng.Float64() < ls.cfg.Survivors
	again := ls.rng.Float64() < ls.cfg.Recreate
	l := life{steps: ls.whole}
	if survives || len(ls.kept) == len(ls.whole) {
		l.steps = ls.kept
	} else {
		l.again = again
	}
	if former.again {
		pod := *former.pod
		pod.Incarnation++
		pod.Node = node
		l.pod = &pod
		return l
	}
	l.pod = ls.cfg.plainPod(ls.lane+ls.index, ls.names.name(ls.index), namespace, node)
	ls.index += ls.stride
	return l
}

type due struct {
	at    time.Duration
	order int64 // among equals the one that was touched first
	life  life
}

func (d due) Before(e due) bool { return d.at < e.at || d.at == e.at && d.order < e.order }
