package plan

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// world plays a profile's workloads, controllers and kubelets in the plan's time, and yields what they write.
type world struct {
	kubelets

	services []*deployment // that scale operations act on
	rolled   []*deployment // that rollouts act on
	daemons  *daemonSet
	widgets  []*object
	configs  []*object
}

// timeline holds future actions, and writes with their times.
type timeline struct {
	cfg    *Config
	tn     Tuning
	rng    *rand.Rand
	now    time.Duration
	end    time.Duration // nothing is due from here on
	gap    time.Duration // least time between two writes of one lane, and after an owner's
	timers queue[timer]
	seq    int64
	writes queue[decided]
}

// registry makes objects: their names, numbers and namespaces.
type registry struct {
	timeline
	names   namer
	index   int64 // of the next object
	targets targetCache
	spaces  dist.Number // a workload's namespace, from 1
}

type journal struct{ registry }

// kubelets take pods through their lives, on nodes.
type kubelets struct {
	journal
	nodes []*node
}

// object is a target with what the world knows of it while it plays.
type object struct {
	*Target
	created time.Duration // when its creation is due; -1 before it
	last    time.Duration // when its last write is due
	gone    bool
}

type timer struct {
	at  time.Duration
	seq int64
	do  func()
}

func (t timer) Before(u timer) bool { return t.at < u.at || t.at == u.at && t.seq < u.seq }

// decided is an operation that was decided and is not yet due.
type decided struct {
	op  Op
	seq int64
}

func (d decided) Before(e decided) bool {
	return d.op.At < e.op.At || d.op.At == e.op.At && d.seq < e.seq
}

func (l *timeline) after(d time.Duration, do func()) {
	l.seq++
	l.timers.add(timer{l.now + min(d, longest), l.seq, do})
}

// longest is more than anything lasts, and so little that times can be added.
const longest = 1000 * 24 * time.Hour

func (l *timeline) life(d time.Duration) time.Duration {
	return time.Duration(min(float64(d)/l.tn.TimeScale, float64(longest))).Round(time.Microsecond)
}

// draw returns a time that timeScale leaves alone; life scales one.
func (l *timeline) draw(d dist.Duration) time.Duration { return d.Draw(l.rng) }

func (l *timeline) chance(share *float64) bool { return l.rng.Float64() < *share }

// next is the next write in the order of time; ok is false at the end.
func (l *timeline) next() (decided, bool) {
	for {
		switch due := len(l.writes) > 0; {
		case due && (len(l.timers) == 0 || l.writes[0].op.At < l.timers[0].at):
			return l.writes.take(), true
		case len(l.timers) == 0 || l.timers[0].at >= l.end:
			if due {
				return l.writes.take(), true
			}
			return decided{}, false
		}
		t := l.timers.take()
		l.now = t.at
		t.do()
	}
}

// emit has an object written, some time after its last write, and created after what it depends on.
func (l *timeline) emit(o *object, kind string, s State, after ...*object) {
	l.put(o, kind, s, kind == oplog.TypeDelete, after...)
}

// put is emit; last says that nothing follows on this object.
func (l *timeline) put(o *object, kind string, s State, last bool, after ...*object) {
	if o.gone {
		return
	}
	at := max(l.now, o.last+l.gap)
	if kind == oplog.TypeCreate {
		for _, x := range after {
			if x != nil {
				at = max(at, x.created+l.gap)
			}
		}
		o.created = at
	}
	o.last = at
	o.gone = kind == oplog.TypeDelete
	if at >= l.end {
		return
	}
	l.seq++
	l.writes.add(decided{seq: l.seq, op: Op{
		Type: kind, Thread: ThreadNone, At: at, Target: o.Target, State: &s, Last: last,
	}})
}

// targetCache are the targets that exist before the load, in order: all worlds of a plan share them.
type targetCache struct {
	made *[]*Target
	next int
	on   bool
}

// object makes a new object. Its lane is its own.
func (g *registry) object(t Target) *object {
	t.Lane = laneWorld + g.index
	g.index++
	o := &object{Target: &t, created: -g.gap, last: -g.gap}
	if c := &g.targets; c.on {
		if c.next < len(*c.made) {
			o.Target = (*c.made)[c.next]
		} else {
			*c.made = append(*c.made, o.Target)
		}
		c.next++
	}
	return o
}

func (g *registry) namespace() int { return g.spaces.Whole(g.rng) - 1 }

// suffix distinguishes the objects of one template.
func (g *registry) suffix() string { return g.names.suffix(g.index) }

type node struct {
	*object
	lease   *object
	pods    []*pod
	waiting []func() // what its kubelet does when it is back
	down    bool
	losses  int
}

// podsPerNode is the kubelet's limit.
const podsPerNode = 110

func (k *kubelets) place() *node {
	start := k.rng.IntN(len(k.nodes))
	for i := range k.nodes {
		if n := k.nodes[(start+i)%len(k.nodes)]; !n.down && len(n.pods) < podsPerNode {
			return n
		}
	}
	return nil
}

// controller gathers what happens and writes at most once within a time.
type controller struct {
	batch   time.Duration // from what happens until it looks
	every   time.Duration // least time between two looks
	written bool
	last    time.Duration
	pending bool
	write   func()
}

// touch has the controller look soon.
func (l *timeline) touch(c *controller) {
	if c.pending {
		return
	}
	c.pending = true
	d := c.batch + l.draw(l.tn.Writers.Delay)
	if c.written {
		d = max(d, c.last+c.every-l.now)
	}
	l.after(d, func() {
		c.pending, c.written, c.last = false, true, l.now
		c.write()
	})
}

func eventName(subject string, n int64) string { return fmt.Sprintf("%s.%016x", subject, n) }
