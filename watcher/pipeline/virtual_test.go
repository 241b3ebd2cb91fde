package pipeline

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// sent is a request as both drivers have it.
type sentRequest struct {
	key        object.Key
	action     Action
	uid        string
	version    uint64
	start, end time.Duration
	failed     bool
}

func (r sentRequest) String() string {
	return fmt.Sprintf("%s..%s %d %s %s@%d failed=%t", r.start, r.end, r.action, r.key, r.uid, r.version, r.failed)
}

// virtualStore is the virtual twin of store.
type virtualStore struct {
	latency  func(Event) time.Duration
	fault    func(Event) error
	requests []sentRequest
	rows     map[object.Key]row
	inFlight map[object.Key]int
	overlap  bool
}

func newVirtualStore(s *store) *virtualStore {
	return &virtualStore{latency: s.latency, fault: s.fault, rows: map[object.Key]row{}, inFlight: map[object.Key]int{}}
}

func (s *virtualStore) Begin(e *Event, _ time.Duration) (time.Duration, error) {
	s.inFlight[e.Key]++
	s.overlap = s.overlap || s.inFlight[e.Key] > 1
	return s.latency(*e), s.fault(*e)
}

func (s *virtualStore) End(e *Event, began, now time.Duration, err error) {
	s.inFlight[e.Key]--
	s.requests = append(s.requests, sentRequest{e.Key, e.Action, e.UID, e.ResourceVersion, began, now, err != nil})
	switch {
	case err != nil:
	case e.Action == Delete:
		delete(s.rows, e.Key)
	default:
		s.rows[e.Key] = row{e.UID, e.ResourceVersion}
	}
}

// arrival is an event and when it comes.
type arrival struct {
	at time.Duration
	ev Event
}

// arrivals is a history at times of which no two are the same.
func arrivals(seed uint64, n int, every time.Duration, kinds ...string) (all []arrival) {
	r := rand.New(rand.NewPCG(seed, 7))
	version, uids := uint64(0), map[object.Key]int{}
	alive := map[object.Key]bool{}
	at := time.Duration(0)
	for range n {
		kind := kinds[r.IntN(len(kinds))]
		key := object.Key{Kind: kind, Namespace: "ns", Name: fmt.Sprint("o-", r.IntN(60))}
		version += uint64(1 + r.IntN(3))
		e := Event{Action: Put, Key: key, ResourceVersion: version}
		if !alive[key] {
			uids[key]++
		} else if r.IntN(5) == 0 {
			e.Action = Delete
		}
		alive[key] = e.Action == Put
		e.UID = fmt.Sprint(key.Name, "-", uids[key])
		at += time.Duration(1 + r.Int64N(2*int64(every)))
		if r.IntN(50) == 0 {
			at += 100 * every // the queues get empty now and then
		}
		all = append(all, arrival{at, e})
	}
	return all
}

// latencyOf gives each state of each object a time of its own.
func latencyOf(e Event) time.Duration {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, e.Key, e.ResourceVersion, e.Action)
	return 15*time.Millisecond + time.Duration(h.Sum64()%uint64(10*time.Millisecond))
}

// play runs the arrivals in the real pipeline, in a bubble of synctest.
func playReal(t *testing.T, c Config, all []arrival, fault func(Event) error, until time.Duration) (got []sentRequest, stats Stats) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(0)
		s.latency = latencyOf
		if fault != nil {
			s.fault = fault
		}
		l := start(t, c, s, nil)
		synctest.Wait() // Run has begun
		feeds := map[string]chan arrival{}
		for _, a := range all {
			kind := a.ev.Key.Kind
			if feeds[kind] == nil { // a watch of each kind, as in the watcher
				feed := make(chan arrival, len(all))
				feeds[kind] = feed
				go func() {
					for a := range feed {
						time.Sleep(time.Until(s.began.Add(a.at)))
						a.ev.Received = s.began.Add(a.at)
						if err := l.Enqueue(t.Context(), a.ev); err != nil {
							t.Errorf("enqueue: %v", err)
						}
					}
				}()
			}
			feeds[kind] <- a
		}
		for _, feed := range feeds {
			close(feed)
		}
		time.Sleep(until)
		for _, r := range s.tries(nil) {
			got = append(got, sentRequest{r.ev.Key, r.ev.Action, r.ev.UID, r.ev.ResourceVersion, r.start, r.end, r.err != nil})
		}
		stats = l.finish()
	})
	return got, stats
}

func playVirtual(t *testing.T, c Config, all []arrival, fault func(Event) error, until time.Duration) (*Virtual, *virtualStore) {
	t.Helper()
	s := newStore(0)
	s.latency = latencyOf
	if fault != nil {
		s.fault = fault
	}
	vs := newVirtualStore(s)
	v, err := NewVirtual(c, vs, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range all {
		if err := v.Enqueue(a.at, a.ev); err != nil {
			t.Fatal(err)
		}
		if st := v.Stats(); !st.Balanced() || st.Received+uint64(v.Unread()) != uint64(i+1) {
			t.Fatalf("after %d events: %+v, %d unread", i+1, st, v.Unread())
		}
	}
	if !v.Drain(until) {
		t.Fatalf("not drained at %s: %+v", v.Now(), v.Stats())
	}
	return v, vs
}

// sentBefore orders requests by their ends; no two have the same.
func sentBefore(a, b sentRequest) int { return int(a.end - b.end) }

var several = []string{"Pod", "Pod", "Pod", "Event", "Node"}

// Which of several watches that wait finds room first is chance; with one there is none.
var virtualSettings = []struct {
	name   string
	every  time.Duration
	kinds  []string
	change func(*Config)
}{
	{"idle", 50 * time.Millisecond, several, func(*Config) {}},
	{"busy", 500 * time.Microsecond, several, func(*Config) {}},
	{"short queues, coalesce", 500 * time.Microsecond, several, func(c *Config) { c.HandlerQueueLen, c.WriterQueueLen = 4, 8 }},
	{"short queues, block", 500 * time.Microsecond, []string{"Pod"}, func(c *Config) { c.HandlerQueueLen, c.WriterQueueLen, c.QueueFull = 4, 8, Block }},
	{"few Events", 500 * time.Microsecond, []string{"Pod", "Event"}, func(c *Config) { c.Events.Count = 6 }},
	{"few Events, block", 500 * time.Microsecond, []string{"Event"}, func(c *Config) {
		c.HandlerQueueLen, c.WriterQueueLen, c.QueueFull, c.Events.Count = 4, 8, Block, 6
	}},
	{"short queues, drop", 500 * time.Microsecond, []string{"Pod"}, func(c *Config) {
		c.HandlerQueueLen, c.WriterQueueLen, c.QueueFull, c.QueueFullTimeout = 4, 8, Drop, 50*time.Millisecond
	}},
}

// TestVirtualIsThePipeline: with the same arrivals and the same latencies both drivers of the
// queues send the same requests in the same order at the same nanoseconds.
func TestVirtualIsThePipeline(t *testing.T) {
	for _, s := range Strategies() {
		for _, set := range virtualSettings {
			t.Run(string(s)+"/"+set.name, func(t *testing.T) {
				c := config(s)
				if s != Single && s != Adaptive {
					c.PodQueueNum = 5
				}
				set.change(&c)
				all := arrivals(3, 1500, set.every, set.kinds...)
				want, wantStats := playReal(t, c, all, nil, time.Hour)
				v, vs := playVirtual(t, c, all, nil, time.Hour)
				got := vs.requests
				slices.SortStableFunc(want, sentBefore)
				if s == Adaptive && c.QueueFull != Coalesce {
					// Whether a worker or a watch that waits looks first, at one nanosecond, is
					// up to the scheduler, and changes what merges and when the limit moves.
					if n := float64(len(got)) / float64(len(want)); n < 0.98 || n > 1.02 {
						t.Errorf("virtual %d requests, real %d", len(got), len(want))
					}
					return
				}
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("request %d of %d and %d: virtual %v\nreal %v", i, len(got), len(want), got[i], want[i])
					}
				}
				if st := v.Stats(); st != wantStats || len(got) != len(want) {
					t.Errorf("virtual %d requests, %+v\nreal %d, %+v", len(got), st, len(want), wantStats)
				}
				if len(v.p.writer.waiters) > 0 || v.Unread() > 0 {
					t.Errorf("%d wait for room, %d unread, and all is sent", len(v.p.writer.waiters), v.Unread())
				}
				for _, src := range v.sources {
					if len(src.behind) > 0 {
						t.Errorf("%d events of %s are kept that were handed over", len(src.behind), src.lane.kind)
					}
				}
				if strings.HasPrefix(set.name, "few Events") && v.Stats().Dropped == 0 {
					t.Error("no Event was shed: the test shows nothing of it")
				}
				if _, depth := v.Kind("Pod"); set.name == "busy" && s == Single && depth < 100 {
					t.Errorf("at most %d Pods waited: the test shows little", depth)
				}
			})
		}
	}
}

// TestVirtualFailures: what fails is tried again, in order per key, and both drivers end with
// the same rows.
func TestVirtualFailures(t *testing.T) {
	failing := func() func(Event) error {
		n := map[string]int{}
		return func(e Event) error {
			id := fmt.Sprint(e.Key, e.ResourceVersion)
			n[id]++
			switch h := latencyOf(e) % 20; {
			case n[id] > 1:
				return nil
			case h == 0:
				return &storage.TransientError{Err: errBroken}
			case h == 1:
				return &storage.UnknownOutcomeError{Err: errBroken}
			case h == 2:
				return &storage.ThrottledError{RetryAfter: 10 * time.Millisecond, Err: errBroken}
			}
			return nil
		}
	}
	for _, s := range Strategies() {
		if s == Unordered {
			continue
		}
		t.Run(string(s), func(t *testing.T) {
			c := config(s)
			all := arrivals(5, 800, 3*time.Millisecond, several...)
			final := map[object.Key]row{}
			for _, a := range all {
				if final[a.ev.Key] = (row{a.ev.UID, a.ev.ResourceVersion}); a.ev.Action == Delete {
					delete(final, a.ev.Key)
				}
			}
			_, vs := playVirtual(t, c, all, failing(), time.Hour)
			again, vs2 := playVirtual(t, c, all, failing(), time.Hour)
			if !slices.Equal(vs.requests, vs2.requests) {
				t.Error("two runs of one seed differ")
			}
			if again.Stats().Retried == 0 {
				t.Error("nothing was tried again: the test shows nothing")
			}
			if vs.overlap {
				t.Error("two requests of one key at once")
			}
			if len(vs.rows) != len(final) {
				t.Errorf("%d rows, want %d", len(vs.rows), len(final))
			}
			last := map[object.Key]uint64{}
			for _, r := range vs.requests {
				if r.version < last[r.key] {
					t.Fatalf("%v after version %d", r, last[r.key])
				}
				last[r.key] = r.version
			}
			for key, want := range final {
				if vs.rows[key] != want {
					t.Errorf("%s ends as %+v, want %+v", key, vs.rows[key], want)
				}
			}
		})
	}
}
