package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// candidateConfig takes part in an election at an apiserver.
func candidateConfig(t *testing.T, apiserver, health string) string {
	_, port, _ := net.SplitHostPort(health)
	return configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":"http://127.0.0.1:1"},"leaderElection":{"enabled":true},
"k8s":{"master":%q},"filterConfigPath":"FILTER","port":%s,"metric_port":0}`, apiserver, port), `{"k8sResourceWhiteList":["v1"]}`)
}

// TestCandidateIsReady: a replica is ready to follow once it has read the Lease, so that a
// rolling update does not replace replicas that work by some that cannot.
func TestCandidateIsReady(t *testing.T) {
	led := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":"other","leaseDurationSeconds":3600}}`)
	}))
	t.Cleanup(led.Close)
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(forbidden.Close)
	for name, tc := range map[string]struct {
		apiserver string
		status    int
		says      string
	}{
		"led by another": {led.URL, http.StatusOK, "ok"},
		"no network":     {"http://" + freeAddress(t), http.StatusServiceUnavailable, "connection refused"},
		"no right":       {forbidden.URL, http.StatusServiceUnavailable, "HTTP 403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			health := freeAddress(t)
			cmd := program(t.Context(), t, "-f", candidateConfig(t, tc.apiserver, health))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			var status int
			var text []byte
			for range 200 {
				if resp, err := http.Get("http://" + health + "/readyz"); err == nil { //nolint:noctx // a test
					status = resp.StatusCode
					text, _ = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if status == http.StatusOK || strings.Contains(string(text), tc.says) {
						break
					}
				}
				time.Sleep(20 * time.Millisecond)
			}
			if status != tc.status || !strings.Contains(string(text), tc.says) {
				t.Errorf("/readyz: %d %s, want %d %s", status, text, tc.status, tc.says)
			}
		})
	}
}

// TestUntrustedLease: an apiserver that cannot be trusted is bad input.
func TestUntrustedLease(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	if code, last, _ := command(t, "-f", candidateConfig(t, srv.URL, freeAddress(t))); code != exitBadInput || !strings.Contains(last, "config.json: k8s: ") {
		t.Errorf("exit code %d, %s", code, last)
	}
}
