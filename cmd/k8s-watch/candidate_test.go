package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// configFiles writes a configuration, in which FILTER stands for the filter file, and
// returns its path.
func configFiles(t *testing.T, config, filter string) string {
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

// candidateConfig takes part in an election at an apiserver.
func candidateConfig(t *testing.T, apiserver, health, election string) string {
	_, port, _ := net.SplitHostPort(health)
	return configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":"http://127.0.0.1:1"},"leaderElection":{"enabled":true%s},
"k8s":{"master":%q},"filterConfigPath":"FILTER","port":%s,"metric_port":0}`, election, apiserver, port), `{"k8sResourceWhiteList":["v1"]}`)
}

// TestCandidateIsReady: a replica is ready to follow once it has read the Lease, so that a
// rolling update does not replace replicas that work by some that cannot.
func TestCandidateIsReady(t *testing.T) {
	led := httptest.NewServer(&lessor{Handler: http.NotFoundHandler(), lease: map[string]any{
		"kind": "Lease", "metadata": map[string]any{"resourceVersion": "1"}, "spec": map[string]any{"holderIdentity": "other", "leaseDurationSeconds": 3600},
	}})
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
			cmd := program(t.Context(), t, "-f", candidateConfig(t, tc.apiserver, health, ""))
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

// TestCandidateThatCannotBe: an apiserver that cannot be trusted, and a Lease that
// Kubernetes would not take, are bad input.
func TestCandidateThatCannotBe(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	for _, tc := range []struct {
		name, file, want string
		check            bool // tells it, too
	}{
		{"certificate", candidateConfig(t, srv.URL, freeAddress(t), ""), "config.json: k8s: ", false},
		{"name", candidateConfig(t, "http://127.0.0.1:1", freeAddress(t), `,"name":"K8s_Watch"`), `leaderElection.name: "K8s_Watch" is not a name for a Lease`, true},
		{"namespace", candidateConfig(t, "http://127.0.0.1:1", freeAddress(t), `,"namespace":"a,b"`), `leaderElection.namespace: "a,b" is not a namespace`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := program(t.Context(), t, "-f", tc.file)
			end := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
			defer end.Stop()
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), tc.want) {
				t.Errorf("start: exit code %d, want 2 and %q:\n%s", code, tc.want, out)
			}
			if !tc.check {
				return
			}
			if code, last, _ := command(t, "check", "-f", tc.file); code != 2 || !strings.Contains(last, tc.want) {
				t.Errorf("check: exit code %d, %q", code, last)
			}
		})
	}
}
