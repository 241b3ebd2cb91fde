package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is what the store holds of one object.
type row struct {
	uid     string
	version uint64
}

// request is one Send as the store saw it.
type request struct {
	ev         Event
	start, end time.Duration
	err        error
}

// store is a storage: it takes time, can fail, applies at the end of a request, and
// writes down everything.
type store struct {
	latency func(Event) time.Duration
	fault   func(Event) error // asked at the end of a request; an error means "not applied"

	mu       sync.Mutex
	began    time.Time
	rows     map[object.Key]row
	requests []request
	inFlight map[object.Key]int
	most     map[object.Key]int // most requests in flight per key
	now, max int
}

func newStore(latency time.Duration) *store {
	return &store{
		latency:  func(Event) time.Duration { return latency },
		fault:    func(Event) error { return nil },
		began:    time.Now(),
		rows:     map[object.Key]row{},
		inFlight: map[object.Key]int{},
		most:     map[object.Key]int{},
	}
}

func (s *store) Send(ctx context.Context, e Event) error {
	s.mu.Lock()
	start := time.Since(s.began)
	s.inFlight[e.Key]++
	s.most[e.Key] = max(s.most[e.Key], s.inFlight[e.Key])
	s.now++
	s.max = max(s.max, s.now)
	wait := s.latency(e)
	s.mu.Unlock()

	var err error
	if wait > 0 {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			err = &storage.UnknownOutcomeError{Err: ctx.Err()}
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight[e.Key]--
	s.now--
	if err == nil {
		err = s.fault(e)
	}
	if err == nil {
		s.apply(e)
	}
	s.requests = append(s.requests, request{e, start, time.Since(s.began), err})
	return err
}

func (s *store) apply(e Event) {
	if e.Action == Delete {
		delete(s.rows, e.Key)
		return
	}
	s.rows[e.Key] = row{e.UID, e.ResourceVersion}
}

// sent are the applied events in the order of their acknowledgement.
func (s *store) sent() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []Event
	for _, r := range s.requests {
		if r.err == nil {
			events = append(events, r.ev)
		}
	}
	return events
}

func (s *store) setFault(f func(Event) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *store) tries(match func(Event) bool) (rs []request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if match == nil || match(r.ev) {
			rs = append(rs, r)
		}
	}
	return rs
}

var errBroken = errors.New("broken on purpose")

func down(Event) error { return &storage.TransientError{Err: errBroken} }
func up(Event) error   { return nil }

// put and del make events of Pods in namespace ns; the uid is "u" unless set.
func put(name string, version uint64) Event {
	return Event{Action: Put, Key: object.Key{Kind: "Pod", Namespace: "ns", Name: name}, UID: "u", ResourceVersion: version, Received: time.Now()}
}

func del(name string, version uint64) Event {
	e := put(name, version)
	e.Action = Delete
	return e
}

func (e Event) of(kind string) Event { e.Key.Kind = kind; return e }

func (e Event) as(uid string) Event { e.UID = uid; return e }

func (e Event) String() string {
	return fmt.Sprintf("%d %s %s@%d", e.Action, e.Key, e.UID, e.ResourceVersion)
}

// line is a pipeline under test together with its store.
type line struct {
	*Pipeline
	*store
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// start runs a pipeline; close it with finish.
func start(t *testing.T, c Config, s *store, sender Sender) *line {
	t.Helper()
	if sender == nil {
		sender = s
	}
	p, err := New(c, Settings{Sender: sender})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, p, s)
}

// run runs a pipeline made by the test itself.
func run(t *testing.T, p *Pipeline, s *store) *line {
	l := &line{Pipeline: p, store: s, t: t, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	l.stop = cancel
	go func() { l.done <- p.Run(ctx) }()
	return l
}

func (l *line) enqueue(events ...Event) {
	l.t.Helper()
	for _, e := range events {
		if err := l.Enqueue(l.t.Context(), e); err != nil {
			l.t.Fatalf("enqueue %v: %v", e, err)
		}
	}
}

// finish ends the pipeline and checks what must hold of every run.
func (l *line) finish() Stats {
	l.t.Helper()
	l.stop()
	if err := <-l.done; err != nil {
		l.t.Fatalf("run: %v", err)
	}
	s := l.Stats()
	if !s.Balanced() || s.Queued != 0 || s.InFlight != 0 {
		l.t.Fatalf("after the run: %+v does not balance", s)
	}
	l.checkQueues()
	return s
}

// checkQueues compares the engine's own figures with one another at rest.
func (l *line) checkQueues() {
	l.t.Helper()
	for kind, lane := range *l.lanes.Load() {
		lane.mu.Lock()
		for _, q := range lane.parts {
			q.meter.Account(q.depth, l.Pipeline.now())
			if q.depth != 0 || q.inFlight != 0 || q.hasReady() || q.over.head != nil {
				l.t.Errorf("%s: queue %s at rest: depth %d, in flight %d", kind, q.name, q.depth, q.inFlight)
			}
			if diff := q.meter.Area - q.meter.Wait; diff > 1 || diff < -1 {
				l.t.Errorf("%s: queue %s: depth integral %.0f ns, summed waits %.0f ns (Little's law)", kind, q.name, q.meter.Area, q.meter.Wait)
			}
		}
		if len(lane.keys) != lane.parked || len(lane.sends) != 0 || lane.waiting != 0 {
			l.t.Errorf("%s: %d keys remembered, %d parked, %d sends, %d waiting", kind, len(lane.keys), lane.parked, len(lane.sends), lane.waiting)
		}
		lane.mu.Unlock()
	}
	w := &l.writer
	if w.depth != 0 || len(w.waiters) != 0 {
		l.t.Errorf("writer at rest: depth %d, %d waiters", w.depth, len(w.waiters))
	}
}

// config is the default with a strategy that is allowed.
func config(s Strategy) Config {
	c := Default()
	if c.Strategy = s; s != Adaptive {
		c.PodQueueNum = DefaultQueues
	}
	c.AllowUnordered = s == Unordered
	return c
}
