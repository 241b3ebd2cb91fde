package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// badValues are values with which k8s-watch cannot work: keys of the configuration as they
// follow others, and what is said of them.
var badValues = []struct{ name, keys, want string }{
	{"address with a port", `"address":"localhost:10251"`, `config.json: address: "localhost:10251": want an IP address or a host name; port and metric_port are keys of their own`},
	{"unknown host", `"address":"nosuchhost.invalid"`, "config.json: address: lookup nosuchhost.invalid"},
}

// TestBadValues: each ends the start and the check with the same line and code.
func TestBadValues(t *testing.T) {
	for _, tc := range badValues {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := configFiles(t, `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":"http://127.0.0.1:1"},"k8s":{"master":"http://127.0.0.1:1"},"filterConfigPath":"FILTER","port":0,"metric_port":0,
`+tc.keys+"}", `{"k8sResourceWhiteList":["v1"]}`)
			for name, args := range map[string][]string{"start": {"-f", file}, "check": {"check", "-f", file}} {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				out, err := program(ctx, t, args...).CombinedOutput()
				cancel()
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				last := lines[len(lines)-1]
				exit, _ := err.(*exec.ExitError) //nolint:errorlint // not wrapped
				if exit == nil || exit.ExitCode() != exitBadInput || !strings.Contains(last, tc.want) {
					t.Errorf("%s: %v, want exit code %d and %s:\n%s", name, err, exitBadInput, tc.want, out)
				}
			}
		})
	}
}
