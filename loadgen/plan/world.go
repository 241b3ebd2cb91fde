package plan

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// world plays what a profile's workloads, controllers and kubelets do, in the order of
// time, and yields what they write. It has no clock: time is that of the plan.
type world struct {
	cfg    *Config
	tn     Tuning
	rng    *rand.Rand
	now    time.Duration
	end    time.Duration // nothing is due from here on
	gap    time.Duration // least time between two writes of one lane, and after an owner's
	timers timerHeap
	seq    int64

	writes  writeHeap
	closed  bool // a thread of a closed loop: nothing recurs by itself
	names   namer
	index   int64 // of the next object
	stride  int64 // between objects, so that several worlds share the numbering
	targets targetCache
	spaces  dist.Number // a workload's namespace, from 1
	groups  int

	nodes    []*node
	services []*deployment // that scale operations act on
	rolled   []*deployment // that rollouts act on
	daemons  *daemonSet
	singles  []*single
	widgets  []*object
	configs  []*object
	hot      []*object
}

// object is a target with what the world knows of it while it plays.
type object struct {
	*Target
	group   int           // workload it belongs to, for the parts of a plan
	created time.Duration // when its creation is due; -1 before it
	last    time.Duration // when its last write is due
	gone    bool
}

// timer is something that happens later.
type timer struct {
	at  time.Duration
	seq int64
	do  func()
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return last
}

// decided is an operation that was decided and is not yet due.
type decided struct {
	op    Op
	seq   int64
	group int
}

type writeHeap []decided

func (h writeHeap) Len() int { return len(h) }
func (h writeHeap) Less(i, j int) bool {
	return h[i].op.At < h[j].op.At || h[i].op.At == h[j].op.At && h[i].seq < h[j].seq
}
func (h writeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *writeHeap) Push(x any)   { *h = append(*h, x.(decided)) }
func (h *writeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = decided{}
	*h = old[:len(old)-1]
	return last
}

// after has do happen later.
func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.timers, timer{w.now + min(d, longest), w.seq, do})
}

// longest is more than anything lasts, and so little that times can be added.
const longest = 1000 * 24 * time.Hour

// life scales a lifetime.
func (w *world) life(d time.Duration) time.Duration {
	return time.Duration(min(float64(d)/w.tn.TimeScale, float64(longest))).Round(time.Microsecond)
}

// draw is a length of time that is not scaled.
func (w *world) draw(d dist.Duration) time.Duration { return d.Draw(w.rng) }

func (w *world) chance(share *float64) bool { return w.rng.Float64() < *share }

// next is the next write in the order of time; ok is false at the end.
func (w *world) next() (decided, bool) {
	for {
		switch due := len(w.writes) > 0; {
		case due && (len(w.timers) == 0 || w.writes[0].op.At < w.timers[0].at):
			return heap.Pop(&w.writes).(decided), true
		case len(w.timers) == 0 || w.timers[0].at >= w.end:
			if due {
				return heap.Pop(&w.writes).(decided), true
			}
			return decided{}, false
		}
		t := heap.Pop(&w.timers).(timer)
		w.now = t.at
		t.do()
	}
}

// emit has an object written. A write comes some time after the one before it of the same
// object, and a creation after that of what it depends on: sooner it would only be late.
func (w *world) emit(o *object, kind string, s State, after ...*object) {
	w.put(o, kind, s, kind == oplog.TypeDelete, after...)
}

// put is emit; last says that nothing follows on this object.
func (w *world) put(o *object, kind string, s State, last bool, after ...*object) {
	if o.gone {
		return
	}
	at := max(w.now, o.last+w.gap)
	if kind == oplog.TypeCreate {
		for _, x := range after {
			if x != nil {
				at = max(at, x.created+w.gap)
			}
		}
		o.created = at
	}
	o.last = at
	o.gone = kind == oplog.TypeDelete
	if at >= w.end {
		return
	}
	w.seq++
	heap.Push(&w.writes, decided{group: o.group, seq: w.seq, op: Op{
		Type: kind, Thread: ThreadNone, At: at, Target: o.Target, State: &s, Last: last,
	}})
}

// targetCache are the targets that exist before the load, in the order in which they are
// made: all worlds of a plan share them.
type targetCache struct {
	made *[]*Target
	next int
	on   bool
}

// object makes a new object. Its lane is its own.
func (w *world) object(group int, t Target) *object {
	t.Lane = laneWorld + w.index
	w.index += w.stride
	o := &object{Target: &t, group: group, created: -w.gap, last: -w.gap}
	if c := &w.targets; c.on {
		if c.next < len(*c.made) {
			o.Target = (*c.made)[c.next]
		} else {
			*c.made = append(*c.made, o.Target)
		}
		c.next++
	}
	return o
}

// group numbers a workload.
func (w *world) group() int { w.groups++; return w.groups - 1 }

// namespace is that of a new workload.
func (w *world) namespace() int { return w.spaces.Whole(w.rng) - 1 }

// suffix tells apart what one object's template makes.
func (w *world) suffix() string { return w.names.suffix(w.index) }

// node is one of the cluster's nodes.
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

// place finds a node with room; nil is none.
func (w *world) place() *node {
	start := w.rng.IntN(len(w.nodes))
	for i := range w.nodes {
		if n := w.nodes[(start+i)%len(w.nodes)]; !n.down && len(n.pods) < podsPerNode {
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
func (w *world) touch(c *controller) {
	if c.pending {
		return
	}
	c.pending = true
	d := c.batch + w.draw(w.tn.Writers.Delay)
	if c.written {
		d = max(d, c.last+c.every-w.now)
	}
	w.after(d, func() {
		c.pending, c.written, c.last = false, true, w.now
		c.write()
	})
}

func eventName(subject string, n int64) string { return fmt.Sprintf("%s.%016x", subject, n) }
