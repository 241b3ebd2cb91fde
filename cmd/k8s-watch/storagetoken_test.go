package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestStorageToken: the token goes with each request to storage, and nowhere else.
func TestStorageToken(t *testing.T) {
	const secret = "eyJhbGciOi.J9-_~+/=="
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"key":  fmt.Sprintf(`"custom-storage-endpoints-token":%q`, secret),
		"file": fmt.Sprintf(`"custom-storage-endpoints-tokenFile":%q`, file),
	} {
		t.Run(name, func(t *testing.T) {
			var asked, with atomic.Int64
			storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer "+secret {
					with.Add(1)
				}
				asked.Add(1)
				w.WriteHeader(http.StatusUnauthorized)
			}))
			defer storage.Close()
			cfg := configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":%q,%s},
"k8s":{"master":"http://127.0.0.1:1"},"filterConfigPath":"FILTER","port":0,"metric_port":0,"v":9}`, storage.URL, key), `{"k8sResourceWhiteList":["v1"]}`)
			cmd := program(t.Context(), t, "-f", cfg)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "request", func() bool { return asked.Load() > 1 })
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			_, _, said := command(t, "check", "-f", cfg)
			if with.Load() != asked.Load() {
				t.Errorf("%d of %d requests had the token", with.Load(), asked.Load())
			}
			if strings.Contains(said+out.String(), secret) {
				t.Errorf("check:\n%s\nlog:\n%s", said, &out)
			}
		})
	}
}
