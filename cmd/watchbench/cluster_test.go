package main

import (
	"os"
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
	run(exitOK, "down") // of nothing
	kubeconfig := run(exitOK, "up")
	defer run(exitOK, "down")
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Error(err)
	}
	if got := run(exitOK, "status"); !strings.Contains(got, "up, kubeconfig "+kubeconfig) {
		t.Errorf("status: %s", got)
	}
	run(exitInput, "up") // a second one
	run(exitOK, "down")
	if got := run(exitOK, "status"); !strings.HasPrefix(got, "not up") {
		t.Errorf("status: %s", got)
	}
	run(exitInput, "status", "--provider", "nosuch")
}
