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
	if code != 0 || !strings.Contains(all, "offline") || !strings.Contains(all, "storage        http://bcs-storage.") {
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
