package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestUselessFilter: what of a filter file has nothing to apply to is a warning that names
// the near miss, and with nothing to watch the watcher is not ready.
func TestUselessFilter(t *testing.T) {
	for name, tc := range map[string]struct{ filter, warning, unready string }{
		"empty":        {`{}`, "k8sResourceWhiteList and crdResourceWhiteList are empty: nothing is watched", "nothing is watched"},
		"empty list":   {`{"k8sResourceWhiteList":[]}`, "k8sResourceWhiteList and crdResourceWhiteList are empty: nothing is watched", "nothing is watched"},
		"near group":   {`{"k8sResourceWhiteList":["app/v1"]}`, `k8sResourceWhiteList[0]: nothing of \"app/v1\" is watched: it is not served, or another version is preferred, did you mean \"apps/v1\"?`, "nothing is watched"},
		"no such kind": {`{"k8sResourceWhiteList":["v1"],"apiResourceSpecification":[{"groupVersion":"v1","resourceKinds":["Podd"]}]}`, `v1 has no kind \"Podd\", did you mean \"Pod\"?`, ""}, // Namespaces are
		"one of two":   {`{"k8sResourceWhiteList":["v1","nope/v9"]}`, `nothing of \"nope/v9\" is watched`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps, apisim.Pods, apisim.Deployments}})
			if err != nil {
				t.Fatal(err)
			}
			storage, health := runningStorage(t), freeAddress(t)
			cmd, log := program(t.Context(), t, "-f", simulate(t, sim, storage, health, tc.filter)), &journal{}
			cmd.Stderr = log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "warning: "+tc.warning, func() bool { return len(log.lines(tc.warning)) == 1 })
			waitFor(t, "answer of /readyz: "+tc.unready, func() bool {
				resp, err := http.Get("http://" + health + "/readyz") //nolint:noctx // a test
				if err != nil {
					return false
				}
				defer func() { _ = resp.Body.Close() }()
				text, _ := io.ReadAll(resp.Body)
				return tc.unready == "" && resp.StatusCode == http.StatusOK || tc.unready != "" && strings.Contains(string(text), tc.unready)
			})
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

var definitions = apisim.Resource{Group: "apiextensions.k8s.io", Versions: []string{"v1"}, Name: "customresourcedefinitions",
	Kind: "CustomResourceDefinition"}

// TestReadyAwaitsDefinitions: as long as the CustomResourceDefinitions are not listed, nobody
// knows which kinds are missing.
func TestReadyAwaitsDefinitions(t *testing.T) {
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.ConfigMaps, definitions}})
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/"+definitions.Name) {
			select {
			case <-released:
			case <-r.Context().Done():
				return
			}
		}
		sim.ServeHTTP(w, r)
	})
	storage, health := runningStorage(t), freeAddress(t)
	filter := `{"k8sResourceWhiteList":["v1"],"crdResourceWhiteList":["example.com/v1"]}`
	cmd := program(t.Context(), t, "-f", simulate(t, api, storage, health, filter))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := func(status int, part string) {
		t.Helper()
		waitFor(t, part, func() bool {
			resp, err := http.Get("http://" + health + "/readyz") //nolint:noctx // a test
			if err != nil {
				return false
			}
			defer func() { _ = resp.Body.Close() }()
			text, _ := io.ReadAll(resp.Body)
			if status != http.StatusOK && resp.StatusCode == http.StatusOK {
				t.Fatal("ready without the definitions")
			}
			return resp.StatusCode == status && strings.Contains(string(text), part)
		})
	}
	ready(http.StatusServiceUnavailable, "not synced: [apiextensions.k8s.io/v1/CustomResourceDefinition]")
	close(released)
	ready(http.StatusOK, "")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestMaskOfNoKind: a mask that was meant for a kind and does not name it ends the start and
// the check: what it should remove would be sent.
func TestMaskOfNoKind(t *testing.T) {
	mask := func(kind, more string) string {
		return fmt.Sprintf(`{"k8sResourceWhiteList":["v1"],"resourceMaskers":[{"kind":%q,"path":["data"]}]%s}`, kind, more)
	}
	const crds = `,"crdResourceWhiteList":["example.org/v1"]`
	const refused = `filter.json: resourceMaskers[0].kind: `
	for name, tc := range map[string]struct{ filter, want string }{
		"small letters":              {mask("configmap", ""), refused + `"configmap" is not watched, so its field would be sent; did you mean "ConfigMap"?`},
		"small letters, with CRDs":   {mask("configmap", crds), refused + `"configmap" is not watched, so its field would be sent; did you mean "ConfigMap"?`},
		"plural, with CRDs":          {mask("configmaps", crds), refused + `"configmaps" is not watched, so its field would be sent; did you mean "ConfigMap"?`},
		"typing error":               {mask("ConfgMap", ""), refused + `"ConfgMap" is not watched, so its field would be sent; did you mean "ConfigMap"?`},
		"typing error, with CRDs":    {mask("ConfgMap", crds), `resourceMaskers[0]: no kind "ConfgMap" is watched, did you mean "ConfigMap"?`},
		"a kind to come, with CRDs":  {mask("Widget", crds), ""},
		"a kind that is left out":    {mask("Pod", `,"apiResourceException":[{"groupVersion":"v1","resourceKinds":["Pod"]}]`), `resourceMaskers[0]: no kind "Pod" is watched`},
		"right, beside a wrong mask": {`{"k8sResourceWhiteList":["v1"],"resourceMaskers":[{"kind":"ConfigMap","path":["data"]},{"kind":"pods","path":["spec"]}]}`, `resourceMaskers[1].kind: "pods" is not watched, so its field would be sent; did you mean "Pod"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps, apisim.Pods}})
			if err != nil {
				t.Fatal(err)
			}
			storage := runningStorage(t)
			cfg := simulate(t, sim, storage, "127.0.0.1:0", tc.filter)
			code, last, all := command(t, "check", "-f", cfg)
			fatal := strings.Contains(tc.want, "].kind: ")
			want := exitOK
			if fatal {
				want = exitBadInput
			} else if tc.want != "" {
				want = exitError
			}
			if code != want || !strings.Contains(last, tc.want) {
				t.Errorf("check: exit code %d, want %d and %s:\n%s", code, want, tc.want, all)
			}
			if !fatal {
				return
			}
			if code, last, all := command(t, "-f", cfg); code != exitBadInput || !strings.Contains(last, tc.want) {
				t.Errorf("start: exit code %d, want %d and %s:\n%s", code, exitBadInput, tc.want, all)
			}
		})
	}
}
