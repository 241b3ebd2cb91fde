package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// badValues are values with which k8s-watch cannot work: keys of the configuration as they
// follow others, and what is said of them.
var badValues = []struct{ name, keys, want string }{
	{"address with a port", `"address":"localhost:10251"`, `config.json: address: "localhost:10251": want an IP address or a host name; port and metric_port are keys of their own`},
	{"endpoint's port", `"bcs":{"custom-storage-endpoints":"http://h:99999"}`, `bcs.custom-storage-endpoints: "http://h:99999": a port is a number from 1 to 65535`},
	{"ZooKeeper as a URL", `"bcs":{"custom-storage-endpoints":"","zk":"http://zk:2181"}`, `bcs.zk: "http://zk:2181" is not a ZooKeeper host: want host:port`},
	{"two namespaces", `"watch_resource":{"namespace":"a,b"}`, `watch_resource.namespace: "a,b" is not a namespace`},
	{"certificate without key", `"bcs":{"tls":{"cert-file":"c.pem"}}`, "config.json: bcs.tls.key-file: missing"},
	{"key without certificate", `"k8s":{"tls":{"key-file":"c.pem"}}`, "config.json: k8s.tls.cert-file: missing"},
	{"empty token", `"alertor":{"alertmanager":"http://a","bearerTokenFile":"/dev/null"}`, "config.json: alertor.bearerTokenFile: /dev/null is empty"},
	{"one port for two", `"port":10251,"metric_port":10251`, "metric_port: 10251 is the port of health, too"},
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
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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

// TestOnlyNamespaces: a filter that leaves nothing else to watch is named.
func TestOnlyNamespaces(t *testing.T) {
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps}})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(sim)
	defer api.Close()
	cfg := configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":"http://h"},"k8s":{"master":%q},"filterConfigPath":"FILTER"}`, api.URL),
		`{"k8sResourceWhiteList":["v1"],"apiResourceException":[{"groupVersion":"v1","resourceKinds":["ConfigMap"]}]}`)
	if code, _, all := command(t, "check", "-f", cfg); code != exitError ||
		!strings.Contains(all, "no kind but Namespace is watched") {
		t.Errorf("exit code %d:\n%s", code, all)
	}
}
