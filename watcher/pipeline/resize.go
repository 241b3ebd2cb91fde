package pipeline

import (
	"cmp"
	"fmt"
	"slices"
)

// Queues are the settings that Resize changes; see Config.
type Queues struct {
	PodQueueNum     int
	HandlerQueueLen int
	WriterQueueLen  int
}

// Resize changes how many queues and workers there are and how long the queues may
// get, while events flow; see promise 9. PodQueueNum has no effect under Single.
// Queues that Validate would refuse change nothing.
//
// It may be called at any time. While the events of a kind are dealt out anew, that kind
// stands still: 55 ms with 100,000 events on one core (BenchmarkResize).
func (p *Pipeline) Resize(to Queues) error {
	p.adding.Lock()
	defer p.adding.Unlock()
	c := p.config
	c.PodQueueNum, c.HandlerQueueLen, c.WriterQueueLen = to.PodQueueNum, to.HandlerQueueLen, to.WriterQueueLen
	if err := c.Validate(); err != nil {
		return fmt.Errorf("pipeline: resize: %w", err)
	}
	// Only newLane and Resize read these three, both with adding held; the other fields
	// are read without.
	p.config.PodQueueNum, p.config.HandlerQueueLen, p.config.WriterQueueLen = to.PodQueueNum, to.HandlerQueueLen,
		to.WriterQueueLen
	p.writer.resize(p.now(), to.WriterQueueLen)
	for _, l := range *p.lanes.Load() {
		l.resize()
	}
	return nil
}

// resize makes the lane as if it had been made with the present configuration, but for
// what waits, is in flight or is known of its keys.
func (l *lane) resize() {
	c := &l.p.config
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.p.now()
	old := l.shape
	l.shape = shapeOf(*c, l.kind)
	if old.partitions != l.shape.partitions || old.numbered != l.shape.numbered {
		l.deal(now)
	}
	for _, q := range l.parts {
		q.capacity = c.HandlerQueueLen
		q.setWorkers(l.shape.workers)
	}
	workers := l.shape.partitions * l.shape.workers
	if l.share != nil {
		l.share.bound(workers)
		workers = l.share.limit
	}
	l.gate.resize(workers, now, c.Backoff)
	for _, q := range l.parts {
		l.refill(q, now)
		if q.hasReady() {
			l.offer(q)
		}
	}
}

// setWorkers lets the workers end that are too many: idle ones now, the others after
// their request. A worker that leaves its queue never leaves work behind that nobody
// looks at: a worker that stays is either busy, and looks afterwards, or was woken here.
func (q *partition) setWorkers(n int) {
	q.workers = n
	if q.started > n {
		q.wake.Broadcast()
	}
}

// deal makes the queues of the present shape and gives each key, with its place in the
// order of arrival, to the one it belongs to now. A request in flight is counted where
// its event would return to. Queues that are no more keep their meters to themselves.
func (l *lane) deal(now int64) {
	old := l.parts
	var ready []keyItem
	var over []*slot
	for _, q := range old {
		ready, over = q.empty(ready, over, now)
	}

	l.parts = make([]*partition, l.shape.partitions)
	for i := range l.parts {
		name := l.shape.queueName(l.kind, i)
		if i < len(old) && old[i].name == name {
			l.parts[i], old[i] = old[i], nil
		} else {
			l.parts[i] = newPartition(l, i, now)
		}
	}
	for key, e := range l.keys {
		e.moveTo(l.parts[PartitionOf(key.namespace, key.name, len(l.parts))], now)
	}
	for _, q := range old {
		if q != nil {
			q.setWorkers(0)
		}
	}

	pushAll(ready)
	slices.SortFunc(over, func(a, b *slot) int { return cmp.Compare(a.seq, b.seq) })
	for _, s := range over {
		s.ent.part.over.push(s)
	}
}

// moveTo takes what a key has in its handler queue to another one. Both meters have
// been accounted for now.
func (e *entry) moveTo(q *partition, now int64) {
	from := e.part
	if from == q {
		return
	}
	e.part = q
	for s := e.head; s != nil; s = s.next {
		from.depth--
		from.meter.Left(now - s.entered)
		s.entered = now
		q.depth++
	}
	from.inFlight -= int(e.inFlight)
	q.inFlight += int(e.inFlight)
}

// resize changes the bound; waiters look again.
func (w *writer) resize(now int64, capacity int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(now)
	w.capacity = capacity
	for _, o := range w.waiters {
		o.signal()
	}
}

// resize makes the gate fit another number of workers. With fewer of them the keys that
// have failed may be as many as shut it.
func (g *gate) resize(workers int, now int64, b Backoff) {
	g.set(workers)
	if !g.shut {
		g.judge(now, b)
	}
}
