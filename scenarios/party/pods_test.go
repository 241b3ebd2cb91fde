package party

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/pod"
)

// answering is a process whose agent answers /usage with f.
func answering(t *testing.T, f func(n int) pod.Usage) *Process {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/usage" {
			http.NotFound(w, r)
			return
		}
		n++
		if err := json.NewEncoder(w).Encode(f(n)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	p := &Process{Name: "party", pod: true, done: make(chan struct{}), said: map[string]map[string]json.RawMessage{}}
	placed(t, p, s.URL)
	return p
}

// placed has a stand-in say where its proxy is.
func placed(t *testing.T, p *Process, proxy string) {
	t.Helper()
	line, err := json.Marshal(pod.Placed{Phase: pod.PhasePod, Proxy: proxy})
	if err != nil {
		t.Fatal(err)
	}
	p.take(line)
	p.agent = p.client()
}

// TestPodClock: of several readings the one that took least says what the Pod's clock is, and no closer than its trip
// allows. Slow ones, of which nobody knows when the clock was read, do not count.
func TestPodClock(t *testing.T) {
	const ahead, slow = 1200 * time.Millisecond, 300 * time.Millisecond
	p := answering(t, func(n int) pod.Usage {
		u := pod.Usage{Time: time.Now().Add(ahead).UnixNano(), Use: &history.Use{CPUSeconds: float64(n)},
			PodState: history.PodState{Throttled: int64(n), Received: 5}}
		if n != 3 {
			time.Sleep(slow) // after the clock was read: its middle is 150 ms off
		}
		return u
	})
	s, err := p.PodState(t.Context())
	if err != nil || s.Throttled != 3 || s.Received != 5 {
		t.Fatalf("%+v, %v: want the third reading", s, err)
	}
	if off := s.Ahead - ahead.Nanoseconds(); max(off, -off) > s.Within+1e6 || s.Within >= slow.Nanoseconds()/2 {
		t.Errorf("ahead by %s within %s, want %s", time.Duration(s.Ahead), time.Duration(s.Within), ahead)
	}
	use, ok := p.Use(t.Context())
	if !ok || use.CPUSeconds != clockReadings+1 || p.CPU() != (clockReadings+1)*time.Second {
		t.Errorf("%+v, %v, %s of CPU", use, ok, p.CPU())
	}
}

// TestPodUnknown: what the agent cannot read is not taken for nothing.
func TestPodUnknown(t *testing.T) {
	p := answering(t, func(int) pod.Usage { return pod.Usage{} })
	if use, ok := p.Use(t.Context()); ok {
		t.Errorf("%+v", use)
	}
	placed(t, p, "http://127.0.0.1:1")
	if use, ok := p.Use(t.Context()); ok {
		t.Errorf("an agent that is not there answers %+v", use)
	}
}

// TestPlace: a stand-in is given the party's command by the path in its image, and what all have in common.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	p := &Pods{Bench: "/bin/watchbench", All: pod.Spec{Namespace: "n", Owner: "anchor", Limits: map[string]string{"cpu": "1"}}, Run: "run", Cell: "/cell",
		Image: func(program string) string { return "r/" + program + ":t" }}
	c, err := p.place(child{name: "churn-2", argv: []string{"/out/bin/watchbench", "churn", "--wait"}, env: []string{"A=b"}, logs: dir, stdin: true},
		programBench, pod.Spec{ServiceAccount: "s", Files: []string{"/cell/plan"}, Job: "all", Index: 1, Of: 4})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "churn-2.pod.json")
	if !slices.Equal(c.argv, []string{"/bin/watchbench", "pod", path}) || c.env != nil || !c.says || !c.pod || !c.stdin {
		t.Errorf("%+v", c)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got pod.Spec
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := pod.Spec{Namespace: "n", Owner: "anchor", Limits: map[string]string{"cpu": "1"}, Job: "all", Index: 1, Of: 4, Image: "r/watchbench:t", AgentImage: "r/watchbench:t",
		ServiceAccount: "s", Argv: []string{"/watchbench", "churn", "--wait"}, Env: []string{"A=b"}, Dir: "/cell", Files: []string{"/cell/plan"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
