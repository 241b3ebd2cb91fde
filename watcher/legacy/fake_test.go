package legacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("down")

// call is one storage call as the fake saw it.
type call struct {
	at      time.Duration // since the fake was made
	action  string
	key     object.Key
	version uint64
}

func (c call) String() string {
	return fmt.Sprintf("%s %s %s@%d", c.at, c.action, c.key, c.version)
}

// fake is a storage whose answers the test decides, and the rows it holds.
type fake struct {
	start time.Time

	mu sync.Mutex // guards all below
	// answer is asked per call, after it has been recorded; it may sleep. Nil: nil.
	answer func(call) error
	calls  []call
	rows   map[object.Key]uint64
	now    map[object.Key]bool // calls under way
	most   int                 // calls under way at a time
}

func newFake() *fake {
	return &fake{start: time.Now(), rows: map[object.Key]uint64{}, now: map[object.Key]bool{}}
}

func (f *fake) send(_ context.Context, k object.Key, o *object.Object) (int, error) {
	if o == nil {
		return 1, f.do(call{action: "DELETE", key: k})
	}
	return 1, f.do(call{action: "PUT", key: k, version: o.ResourceVersion})
}

func (f *fake) do(c call) error {
	c.at = time.Since(f.start)
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.now[c.key] = true
	f.most = max(f.most, len(f.now))
	answer := f.answer
	f.mu.Unlock()
	var err error
	if answer != nil {
		err = answer(c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.now, c.key)
	if err == nil {
		f.apply(c)
	}
	return err
}

// apply is the upsert without conditions. The mutex is held.
func (f *fake) apply(c call) {
	if c.action == "PUT" {
		f.rows[c.key] = c.version
	} else {
		delete(f.rows, c.key)
	}
}

func (f *fake) answerBy(answer func(call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// holds are the rows, by key.
func (f *fake) holds() map[object.Key]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.rows)
}

// atOnce is how many calls were under way at a time.
func (f *fake) atOnce() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

func (f *fake) seen() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// cluster is a cache whose changes reach the pipeline.
type cluster struct {
	t    *testing.T
	q    *queues
	mu   sync.Mutex // guards all below
	held map[object.Key]*object.Object
	rv   uint64
}

func (c *cluster) Get(k object.Key) (*object.Object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.held[k]
	return o, ok
}

func (c *cluster) put(k object.Key) {
	c.mu.Lock()
	c.rv++
	o := &object.Object{Key: k, UID: "u", ResourceVersion: c.rv, Raw: []byte(`{"kind":"` + k.Kind + `"}`)}
	c.held[k] = o
	c.mu.Unlock()
	c.enqueue(pipeline.Event{Action: pipeline.Put, Key: k, Object: o, ResourceVersion: o.ResourceVersion})
}

func (c *cluster) remove(k object.Key) {
	c.mu.Lock()
	delete(c.held, k)
	c.mu.Unlock()
	c.enqueue(pipeline.Event{Action: pipeline.Delete, Key: k})
}

func (c *cluster) enqueue(e pipeline.Event) {
	e.Received = time.Now()
	if err := c.q.Enqueue(c.t.Context(), e); err != nil {
		c.t.Error(err)
	}
}

// stats are the event counts of all kinds together.
func (c *cluster) stats() (sum meter.Stats) {
	for _, k := range c.q.kinds {
		k.mu.Lock()
		sum = sum.Plus(k.stats())
		k.mu.Unlock()
	}
	return sum
}

// shape is how many queues there are, and of which length.
type shape struct {
	podQueues, length int
	kinds             []string
	prepare           func(*object.Object) (*object.Object, bool, error)
}

// run runs script against queues in virtual time and ends them.
func run(t *testing.T, s shape, script func(c *cluster, f *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := &cluster{t: t, held: map[object.Key]*object.Object{}}
		if s.prepare == nil {
			s.prepare = func(o *object.Object) (*object.Object, bool, error) { return o, true, nil }
		}
		p := &parts{get: c.Get, prepare: s.prepare, send: f.send, logger: slog.New(slog.NewTextHandler(t.Output(), nil)), start: time.Now()}
		c.q = &queues{parts: p, kinds: map[string]*kind{}}
		for _, name := range append(s.kinds, "Pod", "Event") {
			c.q.kinds[name] = newKind(p, name, s.podQueues, cmp.Or(s.length, 1000))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.q.Run(ctx) }()
		synctest.Wait()
		script(c, f)
		if s := c.stats(); !s.Balanced() {
			t.Errorf("out of balance before the end: %+v", s)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if s := c.stats(); !s.Balanced() || s.Queued != 0 {
			t.Errorf("out of balance at the end: %+v", s)
		}
	})
}

func pod(name string) object.Key { return object.Key{Kind: "Pod", Namespace: "team-a", Name: name} }
func event(name string) object.Key {
	return object.Key{Kind: "Event", Namespace: "team-a", Name: name}
}
