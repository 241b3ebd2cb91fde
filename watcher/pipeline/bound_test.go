package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

const noteBytes = 100

// note is an Event that was received now.
func note(name string, version uint64) Event {
	k := object.Key{Kind: "Event", Namespace: "a", Name: name}
	return Event{Action: Put, Key: k, UID: name, ResourceVersion: version, Received: time.Now(),
		Object: &object.Object{Key: k, UID: name, ResourceVersion: version, Raw: make([]byte, noteBytes)}}
}

// row is what the store holds of an event's object.
func (s *store) row(e Event) (row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rows[e.Key]
	return r, ok
}

// keptOf is how many events of a kind the pipeline has in memory.
func (l *line) keptOf(kind string) (events, keys int, bytes int64) {
	lane := (*l.lanes.Load())[kind]
	lane.mu.Lock()
	defer lane.mu.Unlock()
	return lane.queued + lane.parked, len(lane.keys), lane.bytes
}

// everyBound runs a test with each strategy, with queues that are long and short.
func everyBound(t *testing.T, test func(t *testing.T, c Config)) {
	for _, queue := range []int{3, 10_000} {
		t.Run(fmt.Sprint("queue ", queue), func(t *testing.T) {
			everyStrategy(t, func(t *testing.T, c Config) {
				c.HandlerQueueLen, c.Events = queue, Bound{Count: 200, Bytes: 1 << 20}
				test(t, c)
			})
		})
	}
}

// While storage is away, Events come and go in the cluster; their deletions are not sent.
// The newest of them are kept, and sent when it is back. Other kinds keep all.
func TestEventsAreBounded(t *testing.T) {
	everyBound(t, func(t *testing.T, c Config) {
		for _, bytes := range []bool{false, true} {
			if bytes {
				c.Events.Count, c.Events.Bytes = 10_000, 200*noteBytes
			}
			s := newStore(time.Millisecond)
			s.fault = down
			reg := prometheus.NewRegistry()
			var log lines
			p, err := New(c, Settings{Sender: s, Registry: reg, Logger: log.logger()})
			if err != nil {
				t.Fatal(err)
			}
			l := run(t, p, s)
			const n = 3000
			for i := range n {
				l.enqueue(note(fmt.Sprint("e", i), 1), put(fmt.Sprint("pod-", i), 1))
				time.Sleep(200 * time.Millisecond) // ten minutes in all
				events, keys, _ := l.keptOf("Event")
				if most := 200 + shapeOf(c, "Event").partitions*shapeOf(c, "Event").workers; events > most || keys > most {
					t.Fatalf("%d events of %d keys wait, want at most %d", events, keys, most)
				}
			}
			if events, _, _ := l.keptOf("Pod"); events != n {
				t.Errorf("%d Pods wait, want all %d", events, n)
			}
			s.setFault(up)
			time.Sleep(time.Minute)
			for i := n - 150; i < n; i++ {
				if _, ok := s.row(note(fmt.Sprint("e", i), 1)); !ok {
					t.Errorf("the %dth newest of %d Events did not arrive", n-i, n)
					break
				}
			}
			shed := valueOf(t, reg, metric.EventsShed)
			st := l.finish()
			if st.Dropped < n-250 || st.Dropped > n-150 || float64(st.Dropped) != shed || st.Parked != 0 {
				t.Errorf("%g shed, %+v", shed, st)
			}
			if !strings.Contains(log.String(), "events shed: more wait than are kept") {
				t.Errorf("log:\n%s", log.String())
			}
		}
	})
}

// valueOf is a series of the kind Event.
func valueOf(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Errorf("no %s", name)
	return 0
}

// Events that storage refuses are parked, and no change ever releases them.
func TestRefusedEventsAreBounded(t *testing.T) {
	everyBound(t, func(t *testing.T, c Config) {
		s := newStore(time.Millisecond)
		s.fault = func(e Event) error {
			if strings.HasPrefix(e.Key.Name, "bad") {
				return &storage.PermanentError{Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		for i := range 1000 {
			l.enqueue(note(fmt.Sprint("bad", i), 1), note(fmt.Sprint("good", i), 1))
			time.Sleep(50 * time.Millisecond)
		}
		if events, keys, bytes := l.keptOf("Event"); events > 200 || keys > 200 || bytes > 200*noteBytes {
			t.Errorf("%d events of %d keys and %d bytes are kept", events, keys, bytes)
		}
		if lag := l.Lag("Event"); lag != 0 {
			t.Errorf("a lag of %s, though nothing is ever to come of what is parked", lag)
		}
		if st := l.finish(); st.Sent != 1000 || st.Dropped+uint64(st.Parked) != 1000 {
			t.Errorf("%+v", st)
		}
	})
}
