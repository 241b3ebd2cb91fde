package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// mistakes are wrong inputs and what is said of them: keys of the configuration as they follow others, the
// filter file, or arguments, in which CONFIG is the configuration; commands are those that refuse it.
var mistakes = []struct {
	name, commands, keys, filter string
	args                         []string
	want                         string
}{
	{"no file", "start check rbac audit", "", "", []string{}, "give one with -f FILE"},
	{"unknown flag", "start check rbac audit", "", "", []string{"--config", "x"}, "unknown flag: --config"},
	{"misspelt flag", "start", "", "", []string{"--addrss"}, "unknown flag: --addrss (did you mean --address?)"},
	{"misspelt command", "start", "", "", []string{"chek"}, `unknown command "chek": did you mean check?`},
	{"argument", "start check rbac audit", "", "", []string{"-f", "CONFIG", "y"}, `unexpected argument "y": the configuration file is given with -f`},
	{"missing file", "start check rbac audit", "", "", []string{"-f", "/none.json"}, "/none.json: cannot be read: no such file"},
	{"missing filter", "start check rbac", "", "", []string{"-f", "CONFIG", "--filterConfigPath", "/none"}, "/none: cannot be read"},
	{"missing kubeconfig", "rbac", "", "", []string{"-f", "CONFIG", "--kubeconfig", "/none"}, "/none"},
	{"wrong type", "start check rbac audit", `"v":"x"`, "", nil, "config.json:3: v: want a whole number"},
	{"misspelt key", "start check rbac", `"synchroniser":1`, "", nil, `synchroniser: unknown key, did you mean "synchronizer"?`},
	{"key that is gone", "start check", `"alertor":{"bcsHealth":true}`, "", nil, "config.json:3: alertor: no alerts are sent any more, leave it out: subscribe"},
	{"useless mask", "start check rbac", "", `{"resourceMaskers":[{"kind":"Pod"}]}`, nil, "filter.json:1: resourceMaskers[0]: want a kind and a path"},
	{"filter is a list", "start check rbac", "", `[]`, nil, "filter.json:1: want an object, got a list"},
	{"no kubeconfig", "start check rbac", `"k8s":{"kubeconfig":"/none"}`, "", nil, "config.json: k8s.kubeconfig: want a kubeconfig file: stat /none: no such file"},
	{"no cluster", "start rbac", `"k8s":{"master":""}`, "", nil, "neither k8s.kubeconfig nor k8s.master is set"},
	{"missing server certificate", "start check", `"server_cert_file":"/none","server_key_file":"/none"`, "", nil, "server_cert_file"},
	{"missing CA of storage", "start check", `"bcs":{"tls":{"ca-file":"/none"}}`, "", nil, "bcs.tls.ca-file"},
	{"missing certificate for readers", "start check", `"resourceWatcher":{"enabled":true,"server":{"certFile":"/none","keyFile":"/none"}}`, "", nil, "config.json: resourceWatcher.server: certFile, keyFile: open /none"},
	{"port for two", "start check", `"port":10251,"metric_port":10251`, "", nil, "metric_port: 10251 is the port of health, too (key port)"},
	{"address with a port", "start check", `"address":"localhost:10251"`, "", nil, `config.json:3: address: "localhost:10251": want an IP address or a host name; port and metric_port are keys of their own`},
	{"unknown host", "start", `"address":"nosuchhost.invalid"`, "", nil, "config.json: address: lookup nosuchhost.invalid"},
	{"endpoint's port", "start check", `"bcs":{"custom-storage-endpoints":"http://h:99999"}`, "", nil, `bcs.custom-storage-endpoints: "http://h:99999": a port is a number from 1 to 65535`},
	{"ZooKeeper as a URL", "start check", `"bcs":{"custom-storage-endpoints":"","zk":"http://zk:2181"}`, "", nil, `bcs.zk: "http://zk:2181" is not a ZooKeeper host: want host:port`},
	{"two namespaces", "start check", `"watch_resource":{"namespace":"a,b"}`, "", nil, `watch_resource.namespace: "a,b" is not a namespace`},
	{"certificate without key", "start check", `"bcs":{"tls":{"cert-file":"c.pem"}}`, "", nil, "config.json: bcs.tls.key-file: missing"},
	{"key without certificate", "start check", `"k8s":{"tls":{"key-file":"c.pem"}}`, "", nil, "config.json: k8s.tls.cert-file: missing"},
	{"name of a Lease", "start check", `"leaderElection":{"enabled":true,"name":"K8s_Watch"}`, "", nil, `leaderElection.name: "K8s_Watch" is not a name for a Lease`},
	{"namespace of a Lease", "start check", `"leaderElection":{"enabled":true,"namespace":"a,b"}`, "", nil, `leaderElection.namespace: "a,b" is not a namespace`},
	{"shards without an election", "start check", `"shards":4`, "", nil, "config.json:3: shards: needs leaderElection.enabled"},
	{"less than no shards", "start check", `"shards":-1,"leaderElection":{"enabled":true}`, "", nil, "config.json:3: shards: -1: want 0 to 64"},
	{"too many shards", "start check", `"shards":65,"leaderElection":{"enabled":true}`, "", nil, "config.json:3: shards: 65: want 0 to 64"},
	{"shards by what", "start check", `"shards":4,"shardBy":"label","leaderElection":{"enabled":true}`, "", nil, `config.json:3: shardBy: "label": want name, namespace or uid`},
	{"shards by uid", "start check", `"shards":4,"shardBy":"uid","leaderElection":{"enabled":true}`, "", nil, "config.json:3: shardBy: uid needs bcs.conditional"},
	{"long name for shards", "start check", `"shards":4,"leaderElection":{"enabled":true,"name":"` + strings.Repeat("a", 51) + `"}`, "", nil, "config.json:3: leaderElection.name: has 51 characters: with shards at most 50"},
	{"subscription with shards", "start check", `"shards":4,"leaderElection":{"enabled":true},"resourceWatcher":{"enabled":true,"notify":{"subscriptions":[{"name":"s","resource":"v1/pods","target":{"webhook":{"url":"https://h/"}}}]}}`, "", nil, "config.json:3: resourceWatcher.notify.subscriptions: cannot be delivered with shards"},
}

// TestMistakes: each is one clear line that names the place, with exit code 2, whichever command it is given to.
func TestMistakes(t *testing.T) {
	for _, tc := range mistakes {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.keys != "" {
				tc.keys = ",\n" + tc.keys
			}
			if tc.filter == "" {
				tc.filter = `{"k8sResourceWhiteList":["v1"]}`
			}
			file := configFiles(t, `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},
"bcs":{"custom-storage-endpoints":"http://127.0.0.1:1"},"k8s":{"master":"http://127.0.0.1:1"},"filterConfigPath":"FILTER","port":0,"metric_port":0`+
				tc.keys+"}", tc.filter)
			for name := range strings.SplitSeq(tc.commands, " ") {
				args := []string{"-f", file}
				if tc.args != nil {
					args = strings.Split(strings.ReplaceAll(strings.Join(tc.args, "\x00"), "CONFIG", file), "\x00")
				}
				if len(tc.args) == 0 && tc.args != nil {
					args = nil
				}
				if name != "start" {
					args = append([]string{name}, args...)
				}
				code, last, all := command(t, args...)
				if code != exitBadInput || !strings.HasPrefix(last, "k8s-watch: ") || !strings.Contains(last, tc.want) || strings.Contains(all, "goroutine ") {
					t.Errorf("%s: exit code %d, want %d and %s:\n%s", name, code, exitBadInput, tc.want, all)
				}
			}
		})
	}
}

// TestPortInUse: that another process has the port is an error, and no bad input.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	cfg := configFiles(t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://127.0.0.1:1"},
"k8s":{"master":"http://127.0.0.1:1"},"filterConfigPath":"FILTER","port":%d,"metric_port":0}`, taken.Addr().(*net.TCPAddr).Port), `{}`)
	if code, last, all := command(t, "-f", cfg); code != exitError || !strings.Contains(last, "keys address, port") {
		t.Errorf("exit code %d:\n%s", code, all)
	}
}
