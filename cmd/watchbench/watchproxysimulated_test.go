package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

var podKind = collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}

// longestPause is client-go's longest between two attempts, 30 s with a jitter of up
// to as much again, and the attempt.
const longestPause = 65 * time.Second

// asked counts the requests for no more than the server's version.
type asked struct {
	next     http.RoundTripper
	versions atomic.Int64
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK && r.URL.Query().Get("limit") == "1" {
		a.versions.Add(1)
	}
	return resp, err
}

// TestCollectorAgainstSimulatedFaults: under every fault our collector ends with what
// the server has, in virtual time, and asks for no step back but where the server
// itself goes back. within bounds the time from the end of the faults.
func TestCollectorAgainstSimulatedFaults(t *testing.T) {
	for _, tt := range []struct {
		faults string
		within time.Duration
		relist int // most lists and streaming lists
	}{
		{"", time.Second, 1},
		{"close(1s,5s)", 2 * time.Second, 1},
		{"reset(1s,5s)", 2 * time.Second, 1},
		{"silent(20s)", 2 * time.Second, 1},
		{"silent(for=4m)", 2 * time.Second, 2},
		{"no-bookmark", 10 * time.Second, 20},
		{"no-stream", 2 * time.Second, 2},
		{"410(start,max=20), close(2s)", longestPause, 60},
		{"410(start,verb=stream,max=5)", 2 * time.Second, 7},
		{"410(mid):5%", longestPause, 100},
		{"error:5%", longestPause, 100},
		{"truncate:5%", longestPause, 100},
		{"unknown:5%", longestPause, 100},
		{"junk:5%", longestPause, 100},
		{"older(20), close(2s)", longestPause, 100},
		{"410:30%, close(2s)", longestPause, 100},
		{"429(retry-after=2s):50%, close(2s)", longestPause, 100},
		{"500(max=10), close(2s)", longestPause, 100},
		{"stall(3s), close(5s)", longestPause, 100},
		{"blackhole(from=20s), close(5s)", 2 * time.Minute, 100},
		{"gone(20s,from=10s)", longestPause, 100},
		{"gone(1s,every=10s)", longestPause, 100},
		{"reset(verb=list|watch|stream):30%, close(1s)", longestPause, 100},
		{"no-stream, 410(verb=page,max=3), 410(start):50%, close(5s)", longestPause, 200},
		{"close(1s,2s), 410(mid):0.3%, error:0.3%, truncate:0.3%, unknown:0.3%, junk:0.3%, 503:20%, reset(500ms):50%", longestPause, 500},
	} {
		t.Run(tt.faults, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}, NoWatchCache: true, Window: 2000})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 700 { // more than a reflector's page
					apply(t, s, fmt.Sprintf("b/p%d", i))
				}
				if err := s.Faults().Add(tt.faults); err != nil {
					t.Fatal(err)
				}
				m := newMirror()
				direct := &asked{next: apisim.Direct(s)}
				_, stop := collect(t, &rest.Config{Host: "http://apisim", Transport: direct}, collector.Config{Resources: []collector.Resource{podKind}}, m)
				defer stop()
				span := 5 * time.Minute
				if strings.Count(tt.faults, ":") > 4 { // rare ones need their time
					span = 15 * time.Minute
				}
				proxyChurn(t, s, span)
				for _, f := range s.Faults().List() {
					if f.Fired == 0 {
						t.Errorf("%s never fired", f.Spec)
					}
				}
				if err := s.Faults().Remove(0); err != nil {
					t.Fatal(err)
				}
				healed := time.Now()
				for !cmp.Equal(stored(s), m.snapshot()) {
					if time.Since(healed) > 10*time.Minute {
						t.Fatalf("no convergence (-server +storage):\n%s", cmp.Diff(stored(s), m.snapshot()))
					}
					time.Sleep(100 * time.Millisecond)
				}
				st := s.Stats("pods")
				t.Logf("converged %s after the faults; %+v; %d steps back", time.Since(healed), st, m.back)
				if d := time.Since(healed); d > tt.within {
					t.Errorf("converged %s after the faults, want at most %s", d, tt.within)
				}
				if n := st.Lists - int(direct.versions.Load()) + st.Streams; n > tt.relist {
					t.Errorf("%d lists, want at most %d", n, tt.relist)
				}
				if m.back > 0 && !strings.HasPrefix(tt.faults, "older") {
					t.Errorf("%d steps back, such as %s", m.back, m.example)
				}
			})
		})
	}
}

func apply(t *testing.T, s *apisim.Server, path string) {
	t.Helper()
	ns, name, _ := strings.Cut(path, "/")
	if _, err := s.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q},"spec":{}}`, ns, name)); err != nil {
		t.Fatal(err)
	}
}

// churn changes objects at random, 20 times a second.
func proxyChurn(t *testing.T, s *apisim.Server, d time.Duration) {
	rng := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		path := fmt.Sprintf("a/p%d", rng.IntN(60))
		kind := rng.IntN(4)
		if kind < 2 {
			_, _ = s.Delete("pods", "a", path[2:]) // or it is not there
		}
		if kind > 0 {
			apply(t, s, path)
		}
	}
}

func stored(s *apisim.Server) map[string]string {
	m := map[string]string{}
	for _, o := range s.Objects("pods") {
		m[o.Namespace+"/"+o.Name] = fmt.Sprintf("%s@%d", o.UID, o.ResourceVersion)
	}
	return m
}

// TestSilenceIsNoticed: a watch on which nothing comes is given up by itself.
func TestSilenceIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}})
		if err != nil {
			t.Fatal(err)
		}
		m := newMirror()
		col, stop := collect(t, &rest.Config{Host: "http://apisim", Transport: apisim.Direct(s)}, collector.Config{Resources: []collector.Resource{podKind}}, m)
		defer stop()
		if err := col.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Faults().Add("silent(max=1)"); err != nil {
			t.Fatal(err)
		}
		apply(t, s, "a/p")
		start := time.Now()
		for len(m.snapshot()) == 0 {
			time.Sleep(time.Second)
		}
		if d := time.Since(start); d > collector.DefaultWatchIdle+2*time.Second {
			t.Errorf("noticed after %s", d)
		}
		if got := cached(col, "Pod", func(object.Key) bool { return true }); !cmp.Equal(got, stored(s)) {
			t.Errorf("%v, want %v", got, stored(s))
		}
	})
}
