package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
)

// A cluster stays up between commands, is there once, and goes when told.
func TestClusterStaysUp(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	assets, err := cluster.Prepare(t.Context(), cluster.EmbeddedOptions{}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	cache := t.TempDir()
	run := func(want int, args ...string) string {
		t.Helper()
		out, _, code, err := invoke(t, append([]string{"cluster"}, append(args, "--cache", cache)...)...)
		if code != want {
			t.Fatalf("cluster %v: exit code %d, want %d: %v", args, code, want, err)
		}
		return strings.TrimSpace(out)
	}
	if got := run(exitOK, "build"); got != assets {
		t.Errorf("build found %s, want %s", got, assets)
	}
	if got := run(exitOK, "down"); got != "no cluster is up, so there is nothing to stop" {
		t.Errorf("down of nothing: %s", got)
	}
	kubeconfig := run(exitOK, "up")
	t.Cleanup(func() { _, _, _, _ = invoke(t, "cluster", "down", "--cache", cache) })
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Error(err)
	}
	if got := run(exitOK, "status"); !strings.Contains(got, "up since ") || !strings.Contains(got, ", kubeconfig "+kubeconfig) {
		t.Errorf("status: %s", got)
	}
	out := t.TempDir()
	use := exec.Command(watchbench(t), "run", file(t, "tiny.yaml", tiny), "--cluster", "running", "--out", out)
	use.Env = append(os.Environ(), "WATCHBENCH_CACHE="+cache)
	said, err := use.CombinedOutput()
	if code := use.ProcessState.ExitCode(); code != exitOK && code != exitInvalid || strings.Contains(string(said), "starting etcd") {
		t.Errorf("a run on it: %v\n%s", err, said)
	}
	if reports, _ := filepath.Glob(filepath.Join(out, "*", "index.html")); len(reports) != 1 {
		t.Errorf("a run on it has the reports %v", reports)
	}
	if got := run(exitOK, "up"); got != kubeconfig {
		t.Errorf("a second one has the kubeconfig %s, want %s", got, kubeconfig)
	}
	run(exitInput, "up", "--fsync") // is another
	named := regexp.MustCompile(`^stopped the embedded cluster \(kube-apiserver is process \d+, up since \d{4}-.*\)$`)
	if got := run(exitOK, "down"); !named.MatchString(got) {
		t.Errorf("down: %s", got)
	}
	run(exitError, "status")
	run(exitInput, "status", "--provider", "kind")
}

// TestRunOnALostCluster: a cluster that no longer responds is the user's to stop: exit code 2.
func TestRunOnALostCluster(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("WATCHBENCH_CACHE", cache)
	if err := os.MkdirAll(filepath.Join(cache, "clusters", "embedded"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, code, err := invoke(t, "run", file(t, "tiny.yaml", tiny), "--cluster", "running", "--dry-run")
	if code != exitInput || err == nil || !strings.Contains(err.Error(), "stop it with watchbench cluster down") {
		t.Errorf("exit code %d, %v", code, err)
	}
}
