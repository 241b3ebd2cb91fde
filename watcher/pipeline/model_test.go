package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// model is one queue with its share of the Writer, written to be read instead of to be
// fast: lists that are searched. The engine must do as it does, step by step.
type model struct {
	c        Config
	shape    shape
	waiting  []modelEvent // in the handler queue, in no order
	overflow []modelEvent // in the Writer, in order of arrival
	busy     map[string]int
	blocked  map[string]bool
	parked   map[string]bool
	inFlight int

	sent, coalesced int
}

type modelEvent struct {
	ev  Event
	seq int
}

func newModel(c Config, s shape) *model {
	return &model{c: c, shape: s, busy: map[string]int{}, blocked: map[string]bool{}, parked: map[string]bool{}}
}

func (m *model) room() bool {
	n := len(m.waiting)
	return n < m.c.HandlerQueueLen && n+m.inFlight < m.c.HandlerQueueLen+m.shape.workers
}

// last is the index of the newest event of a key, -1 if there is none.
func last(events []modelEvent, key string) int {
	found := -1
	for i, e := range events {
		if e.ev.Key.Name == key && (found < 0 || e.seq > events[found].seq) {
			found = i
		}
	}
	return found
}

func (m *model) enqueue(e Event, seq int) {
	key := e.Key.Name
	room := len(m.overflow) == 0 && m.room()
	merge := m.shape.merge || !room
	if i := last(m.overflow, key); i >= 0 {
		if merge {
			m.overflow[i].ev = e
			m.coalesced++
			return
		}
	} else if i := last(m.waiting, key); i >= 0 && (merge || m.blocked[key]) {
		m.waiting[i].ev = e
		m.coalesced++
		return
	}
	if room {
		m.enter(modelEvent{e, seq})
	} else {
		m.overflow = append(m.overflow, modelEvent{e, seq})
	}
}

func (m *model) enter(e modelEvent) {
	m.waiting = append(m.waiting, e)
	if m.parked[e.ev.Key.Name] {
		delete(m.parked, e.ev.Key.Name)
		m.coalesced++
	}
}

func (m *model) refill() {
	for len(m.overflow) > 0 && m.room() {
		e := m.overflow[0]
		m.overflow = m.overflow[1:]
		key := e.ev.Key.Name
		if i := last(m.waiting, key); i >= 0 && (m.shape.merge || m.blocked[key]) {
			m.waiting[i].ev = e.ev
			m.coalesced++
			continue
		}
		m.enter(e)
	}
}

// take is the oldest waiting event whose key is free.
func (m *model) take() (modelEvent, bool) {
	best := -1
	for i, e := range m.waiting {
		key := e.ev.Key.Name
		if m.blocked[key] || m.shape.exclusive && m.busy[key] > 0 {
			continue
		}
		if best < 0 || e.seq < m.waiting[best].seq {
			best = i
		}
	}
	if best < 0 {
		return modelEvent{}, false
	}
	e := m.waiting[best]
	m.waiting = slices.Delete(m.waiting, best, best+1)
	m.busy[e.ev.Key.Name]++
	m.inFlight++
	m.refill()
	return e, true
}

func (m *model) finish(e modelEvent, result outcome) {
	key := e.ev.Key.Name
	m.busy[key]--
	m.inFlight--
	behind := last(m.waiting, key)
	switch {
	case result == delivered:
		m.sent++
	case result == permanent && behind >= 0:
		m.coalesced++
	case result == permanent:
		m.parked[key] = true
	case behind >= 0: // merge everything of the key into its oldest place
		newest := m.waiting[behind].ev
		first := -1
		kept := m.waiting[:0]
		for _, w := range m.waiting {
			if w.ev.Key.Name != key {
				kept = append(kept, w)
				continue
			}
			m.coalesced++
			if first < 0 || w.seq < first {
				first = w.seq
			}
		}
		m.waiting = append(kept, modelEvent{newest, first})
		m.blocked[key] = true
	default:
		m.waiting = append(m.waiting, e)
		m.blocked[key] = true
	}
	m.refill()
}

// flight is a request that both have begun.
type flight struct {
	slot  *slot
	probe bool
	event modelEvent
}

// modelOf is where a key belongs.
func modelOf(models []*model, key string) *model {
	return models[PartitionOf("", key, len(models))]
}

// remade is the models for other settings: each event goes to where its key belongs now.
func remade(old []*model, c Config) []*model {
	shape := shapeOf(c, "Pod")
	models := make([]*model, shape.partitions)
	for i := range models {
		models[i] = newModel(c, shape)
	}
	var waiting, overflow []modelEvent
	for _, m := range old {
		waiting, overflow = append(waiting, m.waiting...), append(overflow, m.overflow...)
		models[0].sent, models[0].coalesced = models[0].sent+m.sent, models[0].coalesced+m.coalesced
		for key, n := range m.busy {
			to := modelOf(models, key)
			to.busy[key] = n
			to.inFlight += n
		}
		for key := range m.blocked {
			modelOf(models, key).blocked[key] = true
		}
		for key := range m.parked {
			modelOf(models, key).parked[key] = true
		}
	}
	slices.SortFunc(overflow, func(a, b modelEvent) int { return a.seq - b.seq })
	for _, e := range waiting {
		m := modelOf(models, e.ev.Key.Name)
		m.waiting = append(m.waiting, e)
	}
	for _, e := range overflow {
		m := modelOf(models, e.ev.Key.Name)
		m.overflow = append(m.overflow, e)
	}
	return models
}

// checkModel drives an engine without goroutines and its models with the same steps.
func checkModel(t *testing.T, c Config, step func() byte) {
	t.Helper()
	p, err := New(c, Settings{Sender: newStore(0)})
	if err != nil {
		t.Fatal(err)
	}
	l := p.lane("Pod")
	l.gate.trip = 1 << 30 // pacing is tested by itself, and so is the climber
	l.share = nil
	models := make([]*model, len(l.parts))
	for i := range models {
		models[i] = newModel(c, l.shape)
	}
	var flights []flight
	most := make([]int, len(l.parts)) // events each queue may hold
	seq := 0
	now, version := int64(0), uint64(0)
	trace := []string{}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nthe last of %d steps:\n%s", fmt.Sprintf(format, args...), len(trace), fmt.Sprint(trace[max(0, len(trace)-30):]))
	}
	for range 400 {
		switch op := step() % 9; {
		case op < 3:
			version++
			e := Event{Action: Put, Key: object.Key{Kind: "Pod", Name: fmt.Sprint(step() % 12)}, UID: "u", ResourceVersion: version}
			trace = append(trace, fmt.Sprintf("enqueue %s@%d;", e.Key.Name, version))
			l.mu.Lock()
			l.received++
			l.queued++
			if !l.place(&e, now, nil) {
				fail("no place under coalesce")
			}
			l.mu.Unlock()
			seq++
			modelOf(models, e.Key.Name).enqueue(e, seq)
		case op < 5:
			i := int(step()) % len(l.parts)
			q, m := l.parts[i], models[i]
			if q.inFlight >= q.workers {
				continue
			}
			trace = append(trace, "take;")
			s, probe := l.take(q, now)
			e, ok := m.take()
			if (s != nil) != ok || ok && s.ev.String() != e.ev.String() {
				fail("took %v: the model takes %v", s, e)
			}
			if ok {
				flights = append(flights, flight{s, probe, e})
			}
		case op < 7:
			if len(flights) == 0 {
				continue
			}
			i := int(step()) % len(flights)
			f := flights[i]
			flights = slices.Delete(flights, i, i+1)
			var err error
			switch step() % 4 {
			case 0:
				err = &storage.TransientError{Err: errBroken}
			case 1:
				err = &storage.PermanentError{Err: errBroken}
			}
			result, _ := judge(err)
			trace = append(trace, fmt.Sprintf("finish %v as %d;", f.event.ev, result))
			l.finish(f.slot, f.probe, err, now)
			modelOf(models, f.event.ev.Key.Name).finish(f.event, result)
		case op == 8:
			if step()%4 > 0 {
				continue
			}
			c.PodQueueNum, c.HandlerQueueLen = int(step())%5, []int{1, 3, 1 << 20}[step()%3]
			trace = append(trace, fmt.Sprintf("resize to %d queues of %d;", c.PodQueueNum, c.HandlerQueueLen))
			l.gate.failures = 0
			if err := p.Resize(Queues{c.PodQueueNum, c.HandlerQueueLen, c.WriterQueueLen}); err != nil {
				fail("%v", err)
			}
			l.gate.trip = 1 << 30
			models = remade(models, c)
			most = make([]int, len(models))
			for i, m := range models {
				most[i] = len(m.waiting) + m.inFlight // what is in flight may come back
				m.refill()
			}
		default:
			now += int64(step()) * int64(20*time.Millisecond)
			trace = append(trace, fmt.Sprintf("time %s;", time.Duration(now)))
			l.tick(now)
			for _, m := range models {
				for key := range m.blocked {
					if ent := l.keys[name{"", key}]; ent.trouble.until <= now {
						delete(m.blocked, key)
					}
				}
			}
		}

		sent, coalesced, parked := 0, 0, 0
		for i, m := range models {
			q := l.parts[i]
			over := 0
			for s := q.over.head; s != nil; s = s.next {
				over++
			}
			if q.depth != len(m.waiting) || over != len(m.overflow) || q.inFlight != m.inFlight {
				fail("queue %d: %d waiting, %d in the Writer, %d in flight: model %d, %d, %d",
					i, q.depth, over, q.inFlight, len(m.waiting), len(m.overflow), m.inFlight)
			}
			if q.depth > max(most[i], q.capacity+q.workers) {
				fail("queue %d holds %d of %d", i, q.depth, q.capacity)
			}
			sent, coalesced, parked = sent+m.sent, coalesced+m.coalesced, parked+len(m.parked)
		}
		st := l.stats()
		if int(st.Sent) != sent || int(st.Coalesced) != coalesced || st.Parked != parked || !st.Balanced() {
			fail("%+v: the model has sent %d, coalesced %d, parked %d", st, sent, coalesced, parked)
		}
	}
}

// modelConfigs are the engines worth comparing: each strategy that excludes keys, with
// queues that never fill and queues that always do.
func modelConfigs() []Config {
	var list []Config
	for _, s := range Strategies() {
		if s == Unordered { // its merging after failures depends on overlapping requests
			continue
		}
		for _, length := range []int{3, 1 << 20} {
			c := config(s)
			c.PodQueueNum, c.MaxInFlight, c.HandlerQueueLen, c.WriterQueueLen, c.ParkAfter = 3, 3, length, 4, 1<<20
			list = append(list, c)
		}
	}
	return list
}

func TestQueueAgainstModel(t *testing.T) {
	for _, c := range modelConfigs() {
		t.Run(fmt.Sprint(c.Strategy, "/", c.HandlerQueueLen), func(t *testing.T) {
			for seed := range uint64(60) {
				r := rand.New(rand.NewPCG(seed, 0))
				if !t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
					checkModel(t, c, func() byte { return byte(r.Uint32()) })
				}) {
					return
				}
			}
		})
	}
}

func FuzzQueueAgainstModel(f *testing.F) {
	f.Add(uint8(0), []byte("a few steps"))
	f.Add(uint8(5), []byte{0, 1, 0, 1, 0, 1, 3, 0, 5, 0, 0, 7, 255, 3, 0})
	configs := modelConfigs()
	f.Fuzz(func(t *testing.T, which uint8, steps []byte) {
		next := 0
		checkModel(t, configs[int(which)%len(configs)], func() byte {
			if len(steps) == 0 {
				return 7
			}
			b := steps[next%len(steps)]
			next++
			return b + byte(next/len(steps))
		})
	})
}

// TestHeap: what is least comes first, and of equals what is first by the other number.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h heap[int64]
	var want []int64
	for n := range int64(5000) {
		if r.IntN(3) > 0 || len(want) == 0 {
			at := r.Int64N(100)
			h.push(heapItem[int64]{at: at, tie: n, item: at*5000 + n})
			want = append(want, at*5000+n)
			slices.Sort(want)
			continue
		}
		if got := h.pop(); got != want[0] {
			t.Fatalf("popped %d: want %d", got, want[0])
		}
		want = want[1:]
	}
}
