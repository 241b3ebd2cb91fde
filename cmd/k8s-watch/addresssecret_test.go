package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestAddressSecret: the password in the apiserver's address is in nothing that k8s-watch
// says: log, health, metrics, check and rbac.
func TestAddressSecret(t *testing.T) {
	const secret = "hunter2-of-the-address"
	storage, health, metrics := runningStorage(t), freeAddress(t), freeAddress(t)
	port := func(address string) string {
		_, p, _ := net.SplitHostPort(address)
		return p
	}
	cfg := configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://%s"},
"k8s":{"master":"http://user:%s@127.0.0.1:1"},"filterConfigPath":"FILTER","port":%s,"metric_port":%s,"v":9}`, storage, secret, port(health), port(metrics)), `{"k8sResourceWhiteList":["v1"]}`)
	cmd, log := program(t.Context(), t, "-f", cfg), &journal{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "line about the apiserver", func() bool { return len(log.lines("waiting for the apiserver")) > 0 })
	said := map[string]string{}
	for what, url := range map[string]string{"health": "http://" + health + "/readyz", "metrics": "http://" + metrics + "/metrics"} {
		waitFor(t, what, func() bool {
			resp, err := http.Get(url) //nolint:noctx // a test
			if err != nil {
				return false
			}
			defer func() { _ = resp.Body.Close() }()
			text, err := io.ReadAll(resp.Body)
			said[what] = string(text)
			return err == nil && (what == "metrics" || strings.Contains(said[what], "apiserver"))
		})
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	said["log"] = strings.Join(log.lines(""), "\n")
	_, _, said["check"] = command(t, "check", "-f", cfg)
	_, _, said["rbac"] = command(t, "rbac", "-f", cfg)
	for what, text := range said {
		if text == "" || strings.Contains(text, secret) {
			t.Errorf("%s says: %s", what, text)
		}
	}
}
