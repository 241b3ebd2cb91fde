package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// lessor is an apiserver that knows one Lease too.
type lessor struct {
	http.Handler
	mu      sync.Mutex // guards what follows
	lease   map[string]any
	version int
}

func (l *lessor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, "/leases") {
		l.Handler.ServeHTTP(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	version := func(le map[string]any) any { return le["metadata"].(map[string]any)["resourceVersion"] }
	var in map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch {
	case l.lease == nil && r.Method != http.MethodPost:
		http.NotFound(w, r)
		return
	case l.lease != nil && in != nil && version(in) != version(l.lease):
		w.WriteHeader(http.StatusConflict)
		return
	case in != nil:
		l.version++
		in["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(l.version)
		l.lease = in
	}
	_ = json.NewEncoder(w).Encode(l.lease)
}

// TestFrozenLeader: a leader with a deep queue is stopped until another one has taken
// over and written. Awake, it sends nothing: it says why, and ends.
func TestFrozenLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a lease")
	}
	const objects = 400
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		if _, err := sim.Apply(apisim.ConfigMaps.Key(), fmt.Appendf(nil, `{"metadata":{"namespace":"default","name":"map-%d"}}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	api := httptest.NewServer(&lessor{Handler: sim})
	defer api.Close()

	type replica struct {
		cmd    *exec.Cmd
		until  func(string) string
		writes atomic.Int64
	}
	launch := func(latency time.Duration) *replica {
		r := &replica{}
		storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPut {
				r.writes.Add(1)
				time.Sleep(latency)
			}
			_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
		}))
		t.Cleanup(storage.Close)
		cfg := filepath.Join(t.TempDir(), "config.json")
		filter := filepath.Join(filepath.Dir(cfg), "filter.json")
		for file, text := range map[string]string{
			filter: `{"k8sResourceWhiteList":["v1"],"apiResourceSpecification":[{"groupVersion":"v1","resourceKinds":["ConfigMap"]}]}`,
			cfg: fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":%q,"podQueueNum":4,"storageTimeout":"1s"},"synchronizer":{"disabled":true},"leaderElection":{"enabled":true},
"k8s":{"master":%q},"filterConfigPath":%q,"port":0,"metric_port":0}`, storage.URL, api.URL, filter),
		} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r.cmd = program(t.Context(), t, "-f", cfg)
		r.until, _ = output(t, r.cmd)
		return r
	}
	first := launch(200 * time.Millisecond)
	first.until("msg=leading")
	first.until("msg=watching")
	second := launch(0)
	waitFor(t, "a write of the leader", func() bool { return first.writes.Load() > 8 })
	if second.writes.Load() > 0 {
		t.Fatal("two replicas write")
	}
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	time.Sleep(time.Second) // what was on its way
	before := first.writes.Load()
	waitFor(t, "a write of the successor", func() bool { return second.writes.Load() > 0 })
	if d := time.Since(stopped); d < 10*time.Second { // the lease, 12 s, less the age of the last renewal
		t.Errorf("the successor writes after %s", d)
	}
	waitFor(t, "all writes of the successor", func() bool { return second.writes.Load() >= objects })
	if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	line := first.until("k8s-watch: ") // the last one
	if err := first.cmd.Wait(); err == nil || first.cmd.ProcessState.ExitCode() != exitError {
		t.Errorf("it ended with %v, want exit code %d", err, exitError)
	}
	if !strings.Contains(line, "lease was lost") {
		t.Error(line)
	}
	if n := first.writes.Load() - before; n > 0 {
		t.Errorf("awake, it sent %d requests", n)
	}
	if err := second.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	second.until("msg=leading")
	_ = second.cmd.Wait()
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}
