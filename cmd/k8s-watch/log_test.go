package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines are those that hold part.
func (j *journal) lines(part string) (all []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, part) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// storageAt takes everything, at an address.
func storageAt(t *testing.T, address string) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
	}))
	srv.Listener = l
	srv.Start()
	return srv
}

// runningStorage is the address of one that runs until the test has ended.
func runningStorage(t *testing.T) string {
	t.Helper()
	srv := storageAt(t, "127.0.0.1:0")
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// simulate writes the files for a watcher of a simulated apiserver, with storage and
// health at the given addresses, and returns the configuration's path.
func simulate(t *testing.T, sim http.Handler, storage, health, filter string) string {
	t.Helper()
	api := httptest.NewServer(sim)
	t.Cleanup(api.Close)
	dir := t.TempDir()
	_, port, _ := net.SplitHostPort(health)
	filterFile, cfg := filepath.Join(dir, "filter.json"), filepath.Join(dir, "config.json")
	for file, text := range map[string]string{
		filterFile: filter,
		cfg: fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://%s"},
"k8s":{"master":%q},"filterConfigPath":%q,"port":%s,"metric_port":0}`, storage, api.URL, filterFile, port),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// TestLogOfStorage: storage that goes and comes back, and the end, are one line each.
func TestLogOfStorage(t *testing.T) {
	t.Parallel()
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps, apisim.Secrets, apisim.Pods}})
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	storage := storageAt(t, address)
	cfg := simulate(t, sim, address, freeAddress(t), `{"k8sResourceWhiteList":["v1"]}`)
	cmd, log := program(t.Context(), t, "-f", cfg), &journal{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "comparison of all kinds", func() bool { return len(log.lines("compared the first list")) == 4 })
	storage.Close()
	for i := range 40 {
		for _, r := range []apisim.Resource{apisim.ConfigMaps, apisim.Secrets, apisim.Pods} {
			if _, err := sim.Apply(r.Key(), fmt.Appendf(nil, `{"metadata":{"namespace":"default","name":"x-%d"}}`, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	waitFor(t, "line that storage is down", func() bool { return len(log.lines(`msg="storage endpoint is down"`)) > 0 })
	defer storageAt(t, address).Close()
	waitFor(t, "line that storage is up", func() bool { return len(log.lines(`msg="storage endpoint is up again"`)) > 0 })
	time.Sleep(100 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for part, want := range map[string]string{"endpoint is down": "waiting=120", "up again": " after=", "msg=drained": " took="} {
		if got := log.lines(part); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("lines with %q: %q, want one with %q", part, got, want)
		}
	}
	if got := log.lines("level=WARN"); len(got) > 1 {
		t.Errorf("more warnings than one:\n%s", strings.Join(got, "\n"))
	}
}
