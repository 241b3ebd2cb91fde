package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// answerTimeout is the original's for one request.
const answerTimeout = 5 * time.Second

// Five workers fill a queue whose handler is held up; each further put waits a second and is then dropped, and the key
// is forgotten: the object never reaches storage.
func TestDropAfterOneSecond(t *testing.T) {
	virtual(t, shape{length: 2}, func(c *cluster, f *fake) {
		release := make(chan struct{})
		f.answerBy(func(call) error { <-release; return nil })
		// One in flight, two in the queue, five held by workers that wait, two more keys.
		const workers = 5
		const events = 1 + 2 + workers + 2
		for i := range events {
			c.put(pod(fmt.Sprint(i)))
			synctest.Wait()
		}
		time.Sleep(time.Second - time.Millisecond)
		synctest.Wait()
		if s := c.stats(); s.Dropped != 0 || s.Queued != events {
			t.Errorf("before a second has passed: %+v", s)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if s := c.stats(); s.Dropped != workers || s.Queued != events-workers {
			t.Errorf("after a second: %+v, want the workers' %d items dropped", s, workers)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := c.stats(); s.Dropped != workers+2 || s.Queued != 3 {
			t.Errorf("after two seconds: %+v, want all dropped that found no room", s)
		}
		close(release)
		time.Sleep(time.Hour)
		if s := c.stats(); s.Sent != 3 || s.Queued != 0 || len(f.holds()) != 3 {
			t.Errorf("an hour later: %+v and %d rows, want the dropped events forgotten", s, len(f.holds()))
		}
	})
}

// A failed key comes back after 0 to 4999 ms, without end, and its state is read anew.
func TestRequeue(t *testing.T) {
	virtual(t, shape{}, func(c *cluster, f *fake) {
		f.answerBy(func(call) error { return errDown })
		c.put(pod("a"))
		time.Sleep(time.Hour)
		calls := f.seen()
		least, most := time.Hour, time.Duration(0)
		for i := 1; i < len(calls); i++ {
			d := calls[i].at - calls[i-1].at
			least, most = min(least, d), max(most, d)
		}
		// About 1440 draws: each end of the range is missed by more than 100 ms with a probability below 10⁻¹².
		if least > 100*time.Millisecond || most < 4899*time.Millisecond || most > 4999*time.Millisecond {
			t.Errorf("%d tries between %s and %s apart, want 0 to 4.999 s", len(calls), least, most)
		}
		if s := c.stats(); s.Queued != 1 || s.Retried != uint64(len(calls)-1) || s.Dropped != 0 {
			t.Errorf("%+v after %d tries, want the event queued still", s, len(calls))
		}
		// What was deleted meanwhile is a DELETE.
		c.remove(pod("a"))
		f.answerBy(nil)
		time.Sleep(time.Minute)
		calls = f.seen()
		if last := calls[len(calls)-1]; last.action != "DELETE" {
			t.Errorf("last call is %s, want a DELETE", last)
		}
	})
}

// A failed Event is lost, and its handler rests until its next start; other kinds whose name starts so fare no better.
// Starts are 500 ms apart, or follow a second without work.
func TestEventLossAndPause(t *testing.T) {
	for _, tc := range []struct {
		kind         string
		failed, next time.Duration // since the handler's first start
	}{
		{"Event", 100 * time.Millisecond, 500 * time.Millisecond},
		{"EventSource", 100 * time.Millisecond, 500 * time.Millisecond},
		{"Event", 1200 * time.Millisecond, 1500 * time.Millisecond},
		{"Event", 700 * time.Millisecond, 700 * time.Millisecond}, // the tick has passed
	} {
		t.Run(fmt.Sprint(tc.kind, tc.failed), func(t *testing.T) {
			virtual(t, shape{kinds: []string{tc.kind}}, func(c *cluster, f *fake) {
				f.answerBy(func(k call) error {
					if k.key.Name == "lost" {
						return errDown
					}
					return nil
				})
				time.Sleep(tc.failed)
				c.put(object.Key{Kind: tc.kind, Namespace: "n", Name: "lost"})
				synctest.Wait()
				c.put(object.Key{Kind: tc.kind, Namespace: "n", Name: "kept"})
				time.Sleep(time.Minute)
				calls := f.seen()
				if len(calls) != 2 || calls[0].key.Name != "lost" || calls[1].key.Name != "kept" {
					t.Fatalf("calls %v, want one for each of two objects", calls)
				}
				if calls[0].at != tc.failed || calls[1].at != tc.next {
					t.Errorf("calls %v, want them at %s and %s", calls, tc.failed, tc.next)
				}
				if s := c.stats(); s.Dropped != 1 || s.Sent != 1 {
					t.Errorf("%+v, want one dropped and one sent", s)
				}
			})
		})
	}
}

// A queue has one request in flight, two queues have two.
func TestSerialHandler(t *testing.T) {
	for _, tc := range []struct{ n, want int }{{0, 1}, {1, 1}, {3, 3}} {
		t.Run(fmt.Sprint(tc.n), func(t *testing.T) {
			virtual(t, shape{podQueues: tc.n}, func(c *cluster, f *fake) {
				f.answerBy(func(call) error { time.Sleep(90 * time.Millisecond); return nil })
				const pods = 60
				for i := range pods {
					c.put(pod(fmt.Sprintf("web-%d", i)))
				}
				time.Sleep(10 * time.Second)
				if s := c.stats(); s.Sent != pods {
					t.Errorf("%+v, want %d sent", s, pods)
				}
				if f.atOnce() != tc.want {
					t.Errorf("%d requests at a time, want %d", f.atOnce(), tc.want)
				}
				if tc.want == 1 {
					calls := f.seen()
					if d := calls[pods-1].at - calls[0].at; d != (pods-1)*90*time.Millisecond {
						t.Errorf("%d requests took %s, want them back to back", pods, d)
					}
				}
			})
		})
	}
}

// An update lost in the same way is overwritten for good by the older one.
func TestGoesBack(t *testing.T) {
	virtual(t, shape{}, func(c *cluster, f *fake) {
		first := true
		f.answerBy(func(k call) error {
			if !first {
				return nil
			}
			first = false
			time.Sleep(answerTimeout)
			time.AfterFunc(11*time.Second, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.apply(k)
			})
			return errDown
		})
		c.put(pod("a"))
		synctest.Wait()
		c.put(pod("a"))
		time.Sleep(time.Hour)
		if got := f.holds()[pod("a")]; got != 1 {
			t.Errorf("storage holds version %d, want the older one, 1", got)
		}
	})
}

// The end is at once: what waits and what is in flight is lost.
func TestEndDoesNotDrain(t *testing.T) {
	var of *cluster
	virtual(t, shape{}, func(c *cluster, f *fake) {
		of = c
		f.answerBy(func(call) error { time.Sleep(90 * time.Millisecond); return nil })
		for i := range 100 {
			c.put(pod(fmt.Sprint(i)))
		}
		time.Sleep(900 * time.Millisecond)
	})
	s := of.stats()
	if s.Sent+s.Dropped != 100 || s.Dropped < 85 {
		t.Errorf("%+v, want about ten of a hundred sent and the others lost", s)
	}
	if err := of.q.Enqueue(t.Context(), pipeline.Event{Action: pipeline.Put, Key: pod("late")}); !errors.Is(err, errClosed) {
		t.Errorf("enqueue after the end: %v, want errClosed", err)
	}
}

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

func (c *cluster) get(k object.Key) (*object.Object, bool, error) {
	if k.Name == "broken" {
		return nil, true, errDown
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.held[k]
	return o, ok, nil
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
}

// virtual runs script against queues in virtual time and ends them.
func virtual(t *testing.T, s shape, script func(c *cluster, f *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := &cluster{t: t, held: map[object.Key]*object.Object{}}
		p := &parts{get: c.get, send: f.send, logger: slog.New(slog.NewTextHandler(t.Output(), nil)), start: time.Now()}
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

// TestClient: what an answer means, and how many requests it takes, each over a connection of its own.
func TestClient(t *testing.T) {
	const yes, no = `{"result":true}`, `{"result":false,"code":1405082,"message":"refused"}`
	for name, tc := range map[string]struct {
		status int
		answer string
		tries  int
		ok     bool
	}{
		"taken":                        {200, yes, 1, true},
		"refused":                      {200, no, 1, false},
		"an error that says yes":       {404, yes, 1, true},
		"no JSON":                      {200, "<html>", 1, false},
		"an error that is resent":      {500, no, attempts, false},
		"another error that is resent": {400, yes, attempts, true},
		"an error that is not":         {503, no, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			peers := map[string]bool{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				peers[r.RemoteAddr] = true
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer srv.Close()
			cfg := config.Default()
			cfg.Default.ClusterID, cfg.BCS.CustomStorageEndpoints = "c", []string{srv.URL}
			c, err := newClient(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			tries, err := c.send(t.Context(), pod("p"), &object.Object{Key: pod("p"), Raw: []byte(`{"kind":"Pod"}`)})
			mu.Lock()
			defer mu.Unlock()
			if tries != tc.tries || (err == nil) != tc.ok || len(peers) != tc.tries {
				t.Errorf("%d tries over %d connections, %v; want %d, success %t", tries, len(peers), err, tc.tries, tc.ok)
			}
		})
	}
}

// TestBadInput: a configuration that is not for the imitation is bad input.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"filter.json": `{"k8sResourceWhiteList":["v1"]}`,
		"config.json": `{"default":{"clusterID":"c"},"bcs":{"zk":"127.0.0.1:1"},"k8s":{"master":"http://127.0.0.1:1"},` +
			`"watch_resource":{"disable_netservice":true},"filterConfigPath":"` + dir + `/filter.json","port":0,"metric_port":0}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := run([]string{"-f", filepath.Join(dir, "config.json")}); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
}
