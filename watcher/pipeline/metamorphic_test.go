package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

var (
	firstSeed = flag.Uint64("seed", 1, "first seed of the metamorphic test")
	seeds     = flag.Uint64("seeds", 5, "number of seeds of the metamorphic test")
)

// history is one random life of a few hundred objects, the same for every setting.
type history struct {
	events []Event
	gaps   []time.Duration // before each event
	final  map[object.Key]row
}

func newHistory(seed uint64) history {
	r := rand.New(rand.NewPCG(seed, 1))
	h := history{final: map[object.Key]row{}}
	kinds := []string{"Pod", "Pod", "Pod", "Event", "Node"}
	version, births := uint64(100), 0
	for range 600 + r.IntN(600) {
		kind := kinds[r.IntN(len(kinds))]
		key := object.Key{Kind: kind, Namespace: "ns", Name: fmt.Sprint("o-", r.IntN(40))}
		if kind == "Node" {
			key.Namespace = ""
		}
		version += uint64(1 + r.IntN(3))
		e := Event{Action: Put, Key: key, ResourceVersion: version}
		old, alive := h.final[key]
		switch {
		case !alive:
			births++
			e.UID = fmt.Sprint("uid-", births)
		case r.IntN(5) == 0:
			e.Action, e.UID = Delete, old.uid
		default:
			e.UID = old.uid
		}
		if e.Action == Delete {
			delete(h.final, key)
		} else {
			h.final[key] = row{e.UID, version}
		}
		gap := time.Duration(0)
		if r.IntN(4) == 0 {
			gap = time.Duration(r.IntN(40)) * time.Millisecond
		}
		h.events = append(h.events, e)
		h.gaps = append(h.gaps, gap)
	}
	return h
}

// setting is one way to run a history; every one must end in the same rows.
type setting struct {
	name   string
	change func(*Config)
	faults int // of 100 requests
	late   bool
	resize int // of 100 events that a Resize comes before
}

func settings() []setting {
	return []setting{
		{"default", func(*Config) {}, 0, false, 0},
		{"one worker", func(c *Config) { c.PodQueueNum = 1 }, 0, false, 0},
		{"131 queues", func(c *Config) { c.PodQueueNum = 131 }, 0, false, 0},
		{"tiny queues, coalesce", func(c *Config) { c.HandlerQueueLen, c.WriterQueueLen = 1, 1 }, 0, false, 0},
		{"tiny queues, block", func(c *Config) { c.HandlerQueueLen, c.WriterQueueLen, c.QueueFull = 1, 1, Block }, 0, false, 0},
		{"short queues, block, faults", func(c *Config) {
			c.HandlerQueueLen, c.WriterQueueLen, c.QueueFull, c.PodQueueNum = 5, 10, Block, 4
		}, 20, false, 0},
		{"short queues, coalesce, faults", func(c *Config) { c.HandlerQueueLen, c.WriterQueueLen, c.PodQueueNum = 5, 10, 4 }, 50, false, 0},
		{"faults", func(*Config) {}, 10, false, 0},
		{"lost answers", func(c *Config) { c.PodQueueNum = 8 }, 5, true, 0},
		{"lost answers, tiny queues", func(c *Config) { c.HandlerQueueLen, c.WriterQueueLen = 1, 1 }, 20, true, 0},
		{"resized", func(*Config) {}, 0, false, 10},
		{"resized, faults", func(*Config) {}, 30, false, 10},
		{"resized, block, lost answers", func(c *Config) { c.QueueFull = Block }, 10, true, 3},
	}
}

// TestMetamorphic runs each history through every ordered strategy and every setting;
// all must end with the rows that the history itself ends with, and nothing in
// between may be out of order.
func TestMetamorphic(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		h := newHistory(seed)
		for _, strategy := range Strategies() {
			for _, s := range settings() {
				name := fmt.Sprintf("seed=%d/%s/%s", seed, strategy, s.name)
				ok := t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { replay(t, h, seed, strategy, s) })
				})
				if !ok {
					t.Fatalf("reproduce: go test ./watcher/pipeline -run 'TestMetamorphic' -seed=%d -seeds=1", seed)
				}
			}
		}
	}
}

func replay(t *testing.T, h history, seed uint64, strategy Strategy, set setting) {
	c := config(strategy)
	set.change(&c)
	c.DrainTimeout = time.Hour
	r := rand.New(rand.NewPCG(seed, 2)) // of the store, whose lock guards it
	changes := rand.New(rand.NewPCG(seed, 3))
	s := newStore(0)
	s.latency = func(Event) time.Duration { return time.Duration(r.IntN(20)) * time.Millisecond }
	s.fault = func(e Event) error {
		if r.IntN(100) >= set.faults {
			return nil
		}
		if set.late {
			if r.IntN(2) == 0 {
				time.AfterFunc(time.Duration(r.Int64N(int64(c.FenceDelay))), func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.apply(e)
				})
			}
			return &storage.UnknownOutcomeError{Err: errBroken}
		}
		if r.IntN(4) == 0 {
			return &storage.ThrottledError{RetryAfter: time.Second, Err: errBroken}
		}
		return down(e)
	}
	l := start(t, c, s, nil)
	for i, e := range h.events {
		time.Sleep(h.gaps[i])
		e.Received = time.Now()
		if changes.IntN(100) < set.resize {
			l.resize(anyQueues(changes))
		}
		l.enqueue(e)
		if i%50 == 0 {
			if st := l.Stats(); !st.Balanced() {
				t.Fatalf("while running: %+v", st)
			}
		}
	}
	st := l.finish()
	if st.Received != uint64(len(h.events)) || st.Dropped != 0 || st.Parked != 0 {
		t.Errorf("%d events in: %+v", len(h.events), st)
	}
	if strategy == Unordered {
		return
	}
	checkOrder(t, s)
	if !maps.Equal(s.rows, h.final) {
		for key, want := range h.final {
			if got := s.rows[key]; got != want {
				t.Fatalf("%s ends as %v: want %v", key, got, want)
			}
		}
		t.Fatalf("ends with %d rows: want %d", len(s.rows), len(h.final))
	}
}
