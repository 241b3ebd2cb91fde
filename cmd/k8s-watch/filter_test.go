package main

import (
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
		"near group":   {`{"k8sResourceWhiteList":["app/v1"]}`, `k8sResourceWhiteList[0]: \"app/v1\" is not served, did you mean \"apps/v1\"?`, "nothing is watched"},
		"no such kind": {`{"k8sResourceWhiteList":["v1"],"apiResourceSpecification":[{"groupVersion":"v1","resourceKinds":["Podd"]}]}`, `v1 has no kind \"Podd\", did you mean \"Pod\"?`, ""}, // Namespaces are
		"one of two":   {`{"k8sResourceWhiteList":["v1","nope/v9"]}`, `\"nope/v9\" is not served`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, apisim.ConfigMaps, apisim.Pods, apisim.Deployments}})
			if err != nil {
				t.Fatal(err)
			}
			storage, health := freeAddress(t), freeAddress(t)
			defer storageAt(t, storage).Close()
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
