package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestStorageNotFound: while ZooKeeper knows no storage, nothing is listed.
func TestStorageNotFound(t *testing.T) {
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps}})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	health := freeAddress(t)
	_, port, _ := net.SplitHostPort(health)
	cmd := program(t.Context(), t, "-f", configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"zk":"127.0.0.1:1"},"k8s":{"master":%q},"filterConfigPath":"FILTER","port":%s,"metric_port":0}`, api.URL, port), `{"k8sResourceWhiteList":["v1"]}`))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	readyz := ""
	waitFor(t, "reason in /readyz", func() bool {
		resp, err := http.Get("http://" + health + "/readyz") //nolint:noctx // a test
		if err != nil {
			return false
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		readyz = strings.TrimSpace(string(b))
		return readyz != "not started"
	})
	time.Sleep(time.Second)
	if n := asked.Load(); n > 0 || !strings.Contains(readyz, "no storage server is known") {
		t.Errorf("%d requests to the apiserver; /readyz: %s", n, readyz)
	}
}
