package storagemock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/store"
)

// network is the mock's port, which it closes and opens again.
type network struct {
	now atomic.Pointer[pipetest.Listener]
}

func (n *network) listen(string) (net.Listener, error) {
	l := pipetest.Listen()
	n.now.Store(l)
	return sockets{l}, nil
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.now.Load().Dial(ctx, network, addr)
}

type sockets struct{ *pipetest.Listener }

func (s sockets) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return socket{c}, nil
}

// socket takes what is written to a peer that has gone, like a kernel's buffer.
type socket struct{ net.Conn }

func (s socket) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		return len(b), nil
	}
	return n, err
}

// virtual is a mock in virtual time.
type virtual struct {
	*storagemock.Server
	t      *testing.T
	client *http.Client
	begin  time.Time
	dial   func() net.Conn
	cancel func()     // asks Run to end
	done   chan error // of Run
}

// inVirtualTime runs f with a mock inside a bubble.
func inVirtualTime(t *testing.T, edit func(*storagemock.Config), f func(*virtual)) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storagemock.DefaultConfig()
		edit(&cfg)
		port := &network{}
		srv, err := storagemock.New(cfg, storagemock.Settings{Listen: port.listen})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- srv.Run(ctx) }()
		tr := &http.Transport{DialContext: port.dial, MaxIdleConnsPerHost: 1000}
		dial := func() net.Conn {
			c, err := port.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		f(&virtual{Server: srv, t: t, client: &http.Client{Transport: tr}, begin: time.Now(), dial: dial, cancel: cancel, done: done})
		tr.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// put sends a PUT and returns the status, or the error, and how long it took.
func (v *virtual) put(name string) (outcome string, took time.Duration) {
	begin := time.Now()
	req, err := http.NewRequest(http.MethodPut, "http://mock"+bcsapi.Base+podPath+name, strings.NewReader(`{"data":{}}`))
	if err != nil {
		v.t.Error(err)
		return "", 0
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return err.Error(), time.Since(begin)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return fmt.Sprint(resp.StatusCode), time.Since(begin)
}

func TestVirtualLatencyIsExact(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) { c.Latency = "lognormal(mean=87ms,p99=110ms)" }, func(v *virtual) {
		const n = 20_000
		var sum time.Duration
		for range n {
			outcome, took := v.put("x")
			if outcome != "200" {
				v.t.Fatal(outcome)
			}
			sum += took
		}
		// The standard error is 9 ms/√20000 = 0.07 ms.
		if mean := sum.Seconds() / n * 1e3; math.Abs(mean-87) > 0.3 {
			v.t.Errorf("mean latency %.2f ms, want 87", mean)
		}
	})
}

// With 30 in flight and 87 ms each, Little's law allows 344.8 requests per second.
func TestVirtualOverload(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) { c.Latency, c.Capacity = "87ms", "inflight=30" }, func(v *virtual) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var sum time.Duration
		for w := range 90 {
			wg.Go(func() {
				for range 20 {
					_, took := v.put(fmt.Sprint("p", w))
					mu.Lock()
					sum += took
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if rate := 1800 / time.Since(v.begin).Seconds(); math.Abs(rate-344.8) > 1 {
			v.t.Errorf("%.1f requests per second, want 344.8", rate)
		}
		// Three times as many clients as places: each waits three times as long, but for the first and last round.
		if mean := sum / 1800; mean < 240*time.Millisecond || mean > 261*time.Millisecond {
			v.t.Errorf("mean latency %s, want about 261ms", mean)
		}
	})
}

func TestVirtualFaultTimes(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) {
		c.Latency, c.Faults = "10ms", "refuse(from=10s,for=10s), 503(from=30s,for=10s), stall(2s,from=50s,for=10s), late(3s,answer=200,from=70s)"
	}, func(v *virtual) {
		for _, step := range []struct {
			at   time.Duration
			want string
			took time.Duration
		}{
			{5 * time.Second, "200", 10 * time.Millisecond},
			{15 * time.Second, "connection refused", 0},
			{25 * time.Second, "200", 10 * time.Millisecond},
			{35 * time.Second, "503", 10 * time.Millisecond},
			{45 * time.Second, "200", 10 * time.Millisecond},
			{55 * time.Second, "200", 2010 * time.Millisecond},
			{75 * time.Second, "200", 10 * time.Millisecond},
		} {
			time.Sleep(step.at - time.Since(v.begin))
			if got, took := v.put("x"); !strings.Contains(got, step.want) || took != step.took {
				v.t.Errorf("at %s: %s after %s, want %s after %s", step.at, got, took, step.want, step.took)
			}
		}
		before := v.Ledger().Len()
		time.Sleep(2900 * time.Millisecond)
		synctest.Wait()
		if v.Ledger().Len() != before {
			v.t.Error("the late request was applied too early")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if v.Ledger().Len() != before+1 {
			v.t.Error("the late request was not applied")
		}
		for e := range v.Ledger().From(before + 1) {
			if d := time.Duration(e.Applied - e.Responded); d != 3*time.Second || !e.Acked() {
				v.t.Errorf("applied %s after its answer: %+v", d, e)
			}
		}
	})
}

// abandoned sends a request whose client gives up after 2 s, and waits for its end.
func (v *virtual) abandoned() {
	ctx, cancel := context.WithTimeout(v.t.Context(), 2*time.Second)
	defer cancel()
	putOnce(ctx, v.t, v.client, "http://mock"+bcsapi.Base+podPath+"x")
	time.Sleep(20 * time.Second)
	synctest.Wait()
}

// The ledger has when the connection of a request without an answer ended.
func TestVirtualGone(t *testing.T) {
	for fault, want := range map[string]time.Duration{
		"stall(9s)": 2 * time.Second, "late(3s)": 2 * time.Second, "blackhole": 2 * time.Second,
		"late(3s,answer=reset)": 10 * time.Millisecond, "reset": 10 * time.Millisecond, "truncate": 10 * time.Millisecond,
		"stall(1s)": 0, "late(3s,answer=200)": 0, "503": 0,
	} {
		inVirtualTime(t, func(c *storagemock.Config) { c.Latency, c.Faults = "10ms", fault }, func(v *virtual) {
			v.abandoned()
			for e := range v.Ledger().From(1) {
				got := time.Duration(0)
				if e.Gone != 0 {
					got = time.Duration(e.Gone - e.Received)
				}
				if got != want || e.Gone != 0 && e.Responded != 0 {
					v.t.Errorf("%s: gone after %s, want %s: %+v", fault, got, want, e)
				}
			}
			if v.Ledger().Len() != 1 {
				v.t.Errorf("%s: %d entries", fault, v.Ledger().Len())
			}
		})
	}
}

// A client that gives up before the fault has no answer, whatever the fault.
func TestVirtualGoneBeforeTheFault(t *testing.T) {
	for _, fault := range []string{"late(3s,answer=200)", "late(3s,answer=503)", "double(1s)", "503", "stall(1s)"} {
		inVirtualTime(t, func(c *storagemock.Config) { c.Latency, c.Faults = "3s", fault }, func(v *virtual) {
			v.abandoned()
			for e := range v.Ledger().From(1) {
				if time.Duration(e.Gone-e.Received) != 2*time.Second || e.Responded != 0 || e.Status != 0 {
					v.t.Errorf("%s: %+v", fault, e)
				}
			}
			if v.Ledger().Len() == 0 {
				v.t.Errorf("%s: no entry", fault)
			}
		})
	}
}

// A request that stalls keeps its place.
func TestVirtualStallTakesCapacity(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) {
		c.Capacity, c.Latency, c.Faults = "inflight=1", "100ms", "stall(2s,max=1)"
	}, func(v *virtual) {
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { v.put(fmt.Sprint("p", i)) })
		}
		wg.Wait()
		if took := time.Since(v.begin); took != 2300*time.Millisecond {
			v.t.Errorf("three requests of 100ms, one of which stalled for 2s, took %s one after the other", took)
		}
	})
}

func TestVirtualQueueFull(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) {
		c.Capacity, c.Latency, c.Faults = "inflight=1,queue=1", "200ms", "stall(1s)"
	}, func(v *virtual) {
		var wg sync.WaitGroup
		answers := make(chan string, 8) // one for each request
		for i := range 8 {
			wg.Go(func() {
				answers <- putOnce(v.t.Context(), v.t, v.client, fmt.Sprint("http://mock", bcsapi.Base, podPath, "p", i))
			})
		}
		wg.Wait()
		close(answers)
		served, refused := 0, 0
		for a := range answers {
			switch {
			case strings.HasPrefix(a, "200 "):
				served++
			case strings.HasPrefix(a, `503 1 {"result":false,"code":1405082,`) && strings.Contains(a, "queue is full"):
				refused++
			default:
				v.t.Errorf("got %s", a)
			}
		}
		if served != 2 || refused != 6 {
			v.t.Errorf("%d served, %d refused; want 2 and 6", served, refused)
		}
		byFault := map[string]int{}
		for e := range v.Ledger().From(1) {
			byFault[e.Fault+"/"+e.Effect]++
		}
		// A request that is turned away meets no fault.
		if byFault["capacity/rejected"] != 6 || byFault["stall(1s)/rejected"]+byFault["stall(1s)/created"] != 2 {
			v.t.Errorf("ledger: %v", byFault)
		}
		if fired := v.Faults()[0].Fired; fired != 2 {
			v.t.Errorf("the fault fired %d times, 2 requests were served", fired)
		}
	})
}

func TestVirtualClientThatGoesAwayDoesNotUndo(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) { c.Latency = "50ms" }, func(v *virtual) {
		conn := v.dial()
		if _, err := io.WriteString(conn, rawPut); err != nil {
			v.t.Fatal(err)
		}
		_ = conn.Close()
		time.Sleep(60 * time.Millisecond)
		synctest.Wait()
		if v.Store().Get(podKey("raw"), nil) == nil || v.Ledger().Len() != 1 {
			v.t.Error("the request was not applied")
		}
		for e := range v.Ledger().From(1) {
			if took := time.Duration(e.Applied - e.Received); took != 50*time.Millisecond || e.Responded != 0 || e.Status != 0 {
				v.t.Errorf("applied after %s, want 50ms; nobody took the answer: %+v", took, e)
			}
		}
	})
}

func podKey(name string) store.Key {
	return store.Key{Cluster: "C", Kind: "Pod", Namespace: "a", Name: name}
}

func TestVirtualCleaner(t *testing.T) {
	inVirtualTime(t, func(*storagemock.Config) {}, func(v *virtual) {
		v.put("x")
		v.put("y")
		was := v.Store().Get(podKey("y"), nil)
		v.Store().Delete(podKey("y"), nil, "", time.Now(), func(store.Change) {})
		time.Sleep(3 * time.Hour)
		if v.Store().Live() != 1 {
			v.t.Error("the cleaner removed a live document")
		}
		if v.put("y"); v.Store().Get(podKey("y"), nil).ID == was.ID {
			v.t.Error("the cleaner left a deleted document: it was revived")
		}
	})
}

// TestVirtualLatencyIsTheObjects: strategies that send objects in another order are compared on equal latencies.
func TestVirtualLatencyIsTheObjects(t *testing.T) {
	served := func(names ...string) map[string]int64 {
		took := map[string]int64{}
		inVirtualTime(t, func(c *storagemock.Config) { c.Latency, c.Seed = "uniform(1ms,1s)", 3 }, func(v *virtual) {
			for _, n := range names {
				putOnce(v.t.Context(), v.t, v.client, fmt.Sprint("http://mock", bcsapi.Base, podPath, n))
			}
			for e := range v.Ledger().From(1) {
				took[e.Name] = e.Applied - e.Received
			}
		})
		return took
	}
	forth, back := served("a", "b", "c"), served("c", "b", "a")
	if !maps.Equal(forth, back) || len(forth) != 3 || forth["a"] == forth["b"] {
		t.Errorf("%v in one order, %v in the other", forth, back)
	}
}
