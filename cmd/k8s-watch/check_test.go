package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/config"
)

// discoveryServer is an apiserver that says what it serves and does nothing else.
func discoveryServer(t *testing.T) *httptest.Server {
	t.Helper()
	const (
		resource = `{"resource":%q,"responseKind":{"kind":%q},"scope":"Namespaced","verbs":["list","watch"]}`
		group    = `{"metadata":{"name":%q},"versions":[{"version":%q,"freshness":"Current","resources":[%s]}]}`
	)
	of := func(name, version string, kinds ...string) string {
		var all []string
		for _, k := range kinds {
			all = append(all, fmt.Sprintf(resource, strings.ToLower(k)+"s", k))
		}
		return fmt.Sprintf(group, name, version, strings.Join(all, ","))
	}
	list := func(groups ...string) string {
		return `{"kind":"APIGroupDiscoveryList","items":[` + strings.Join(groups, ",") + `]}`
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api":
			_, _ = io.WriteString(w, list(of("", "v1", "Pod", "ConfigMap", "Secret", "Endpoints")))
		case strings.Contains(r.Header.Get("Accept"), "apidiscovery"):
			_, _ = io.WriteString(w, list(of("apps", "v1", "Deployment", "ReplicaSet"),
				strings.Replace(of("autoscaling", "v2", "HorizontalPodAutoscaler"), `}]}]}`, `}]},{"version":"v1","freshness":"Current","resources":[]}]}`, 1)))
		default:
			_, _ = io.WriteString(w, `{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1"}]},`+
				`{"name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2"},{"groupVersion":"autoscaling/v1"}]}]}`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestCheck: what k8s-watch check says of a configuration, with and without an apiserver.
func TestCheck(t *testing.T) {
	srv := discoveryServer(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":"` + srv.URL + `"}}],"users":[{"name":"u","user":{"token":"never-printed"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
	}{
		{"original", []string{"-f", "testdata/original-config.json", "--insecure_port=1", "-v", "3"}, 1},
		{"filter", []string{"-f", "testdata/check-config.json"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := os.ReadFile(tc.args[1])
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "config.json")
			if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("KUBECONFIG"), []byte(kubeconfig)), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, all := command(t, append([]string{"check", "-f", file}, tc.args[2:]...)...)
			got := strings.NewReplacer(file, "config.json", srv.URL, "http://apiserver",
				"strategy       "+string(config.Default().BCS.Strategy), "strategy       (default)").Replace(all)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if strings.Contains(got, "never-printed") {
				t.Error("a secret is printed")
			}
			golden := filepath.Join("testdata", "check-"+tc.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCheckShipped: nothing of the files that deploy ships is useless, as far as they tell.
func TestCheckShipped(t *testing.T) {
	const dir = "../../deploy/k8s-watch/"
	code, _, all := command(t, "check", "-f", dir+"config.json", "--filterConfigPath", dir+"filter.json")
	if code != 0 || !strings.Contains(all, "offline") || !strings.Contains(all, "storage http://bcs-storage.") {
		t.Errorf("exit code %d:\n%s", code, all)
	}
}

// TestCheckAsksTheApiserver: of a real one, everything in use is found and nothing useless.
func TestCheckAsksTheApiserver(t *testing.T) {
	s := newStation(t)
	s.write(s.filter, `{"k8sResourceWhiteList":["v1","apps/v1","events.k8s.io/v1"],"apiResourceException":[{"groupVersion":"v1","resourceKinds":["Secret"]}]}`)
	s.configure("2", "")
	code, _, all := command(t, "check", "-f", s.cfg)
	if code != 0 || !strings.Contains(all, "\n  apps/v1: ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet\n") ||
		strings.Contains(all, "Secret,") || strings.Contains(all, "offline") {
		t.Errorf("exit code %d:\n%s", code, all)
	}
}

// TestCheckResourceWatcher: what it serves and whom it tells, outside of the cluster it will
// run in, too; nothing that a URL may hide.
func TestCheckResourceWatcher(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	text := `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://h"},
"resourceWatcher":{"enabled":true,"server":{"authentication":"tokenReview"},"notify":{"subscriptions":[
{"name":"web","resource":"v1/pods","target":{"webhook":{"url":"https://receiver:8443/hidden-path?token=hidden"}}},
{"name":"queue","resource":"apps/v1/deployments","target":{"nats":{"servers":["nats://n:4222"]}}}]}},
"cacheCheck":{"period":"1h","relistLarge":true},"filterConfigPath":"testdata/check-filter.json"}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, last, all := command(t, "check", "-f", file)
	for _, want := range []string{
		"\ncacheCheck     each kind every 1h: lists metadata in pages of 500; above 200000 objects lists all again\n",
		"\n  objects on 127.0.0.1:10253, to whom the apiserver allows it\n",
		"\n  web: v1/pods to a webhook at receiver:8443\n  queue: apps/v1/deployments to NATS nats://n:4222\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("without %q", want)
		}
	}
	if code == 2 || strings.Contains(all, "hidden") {
		t.Errorf("exit code %d, %s:\n%s", code, last, all)
	}
}

// TestCheckNamesOfResources: names of the resource watcher that stand for nothing are listed, as
// the log of a start has them.
func TestCheckNamesOfResources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	text := `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"` + discoveryServer(t).URL + `"},
"bcs":{"custom-storage-endpoints":"http://h"},"filterConfigPath":"testdata/check-filter.json",
"resourceWatcher":{"enabled":true,"watches":{"pinned":["v1/pods","v1/podz"],"deny":["v1/secret"]},"notify":{"subscriptions":[
{"name":"s","resource":"apps/v1/deployment","target":{"webhook":{"url":"https://receiver/"}}}]}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, last, all := command(t, "check", "-f", file)
	for _, want := range []string{
		`resourceWatcher.watches.pinned[1]: "v1/podz" is not served, or withheld, did you mean "v1/pods"?`,
		`resourceWatcher.watches.deny[0]: "v1/secret" withholds nothing that is served, did you mean "v1/secrets"?`,
		`resourceWatcher.notify.subscriptions[0].resource: "apps/v1/deployment" is not served, or withheld, did you mean "apps/v1/deployments"?`,
	} {
		if !strings.Contains(all, "\n  "+want+"\n") {
			t.Errorf("without %q", want)
		}
	}
	if code != 1 {
		t.Errorf("exit code %d, %s:\n%s", code, last, all)
	}
}

// TestCheckUnfollowed: a subscription whose kind has to be added at run time is named.
func TestCheckUnfollowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	text := `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"http://127.0.0.1:4"},
"bcs":{"custom-storage-endpoints":"http://h"},"filterConfigPath":"testdata/check-filter.json","resourceWatcher":{"enabled":true,"watches":{"lazy":false},"notify":{"subscriptions":[
{"name":"s","resource":"example.com/v1/things","target":{"webhook":{"url":"https://receiver/"}}}]}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, all := command(t, "check", "-f", file); code != exitError || !strings.Contains(all, "resourceWatcher.notify.subscriptions[0].resource: nobody follows example.com/v1/things") {
		t.Errorf("exit code %d:\n%s", code, all)
	}
}

// TestCheckBadInput: what would end the start ends the check with the same line.
func TestCheckBadInput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	for _, tc := range []struct{ name, config, want string }{
		{"no cluster", `{}`, "default.clusterID: missing"},
		{"misspelt key of our own", `{"leaderElecton":{}}`, `did you mean "leaderElection"?`},
		{"certificate", `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"http://127.0.0.1:4"},
"bcs":{"custom-storage-endpoints":"http://h","tls":{"ca-file":"/none"}},"filterConfigPath":"testdata/check-filter.json"}`, "bcs.tls.ca-file"},
		{"certificate of the resource watcher", `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"http://127.0.0.1:4"},
"bcs":{"custom-storage-endpoints":"http://h"},"resourceWatcher":{"enabled":true,"server":{"certFile":"/none","keyFile":"/none"}},"filterConfigPath":"testdata/check-filter.json"}`, "resourceWatcher.server: certFile"},
		{"server certificate", `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"http://127.0.0.1:4"},
"bcs":{"custom-storage-endpoints":"http://h"},"server_cert_file":"/none","server_key_file":"/none","filterConfigPath":"testdata/check-filter.json"}`, "server_cert_file"},
		{"certificate of the resource watcher", `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"http://127.0.0.1:4"},
"bcs":{"custom-storage-endpoints":"http://h"},"filterConfigPath":"testdata/check-filter.json",
"resourceWatcher":{"enabled":true,"server":{"certFile":"/none","keyFile":"/none"}}}`, "config.json: resourceWatcher.server: certFile, keyFile: open /none"},
		{"port of the resource watcher", `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"k8s":{"master":"http://127.0.0.1:4"},
"bcs":{"custom-storage-endpoints":"http://h"},"filterConfigPath":"testdata/check-filter.json",
"address":"0.0.0.0","port":4001,"metric_port":4002,"resourceWatcher":{"enabled":true,"server":{"port":4002}}}`, "resourceWatcher.server.port: 4002 is also the value of the key metric_port"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(tc.config), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, last, _ := command(t, "check", "-f", file); code != 2 || !strings.Contains(last, tc.want) {
				t.Errorf("exit code %d, %q", code, last)
			}
		})
	}
}
