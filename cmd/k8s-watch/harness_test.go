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
	"testing"
	"time"
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

// configFiles writes a configuration, in which FILTER stands for the filter file, and
// returns its path.
func configFiles(t testing.TB, config, filter string) string {
	t.Helper()
	dir := t.TempDir()
	file, filterFile := filepath.Join(dir, "config.json"), filepath.Join(dir, "filter.json")
	for name, text := range map[string]string{file: strings.ReplaceAll(config, "FILTER", filterFile), filterFile: filter} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
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
	_, port, _ := net.SplitHostPort(health)
	return configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://%s"},
"k8s":{"master":%q},"filterConfigPath":"FILTER","port":%s,"metric_port":0}`, storage, api.URL, port), filter)
}

// waitFor waits for what a process does.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}
