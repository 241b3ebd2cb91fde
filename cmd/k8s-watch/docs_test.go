package main

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestWalk runs what docs/watcher.md has a newcomer type, in its order, with a simulated
// cluster and other ports.
func TestWalk(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	page, err := os.ReadFile("../../docs/watcher.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Trying it beside the mock\n")
	section, _, _ = strings.Cut(section, "\n## ")
	steps := "set -e\n"
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(section, -1) {
		steps += block[1]
	}
	for _, port := range []string{"8090", "10251", "10252"} {
		_, free, _ := net.SplitHostPort(freeAddress(t))
		steps = strings.ReplaceAll(steps, port, free)
	}

	services := apisim.Resource{Versions: []string{"v1"}, Name: "services", Kind: "Service", Namespaced: true}
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Namespaces, services, apisim.Deployments}})
	if err != nil {
		t.Fatal(err)
	}
	for object, r := range map[string]apisim.Resource{
		`{"metadata":{"name":"kube-public"}}`:                      apisim.Namespaces,
		`{"metadata":{"namespace":"default","name":"kubernetes"}}`: services,
	} {
		if _, err := sim.Apply(r.Key(), []byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	api := httptest.NewServer(sim)
	defer api.Close()

	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "../storagemock").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"watchbench": fmt.Sprintf("echo %s", writeKubeconfig(t, api.URL)),
		"k8s-watch":  fmt.Sprintf("IFS=$(printf '\\037')\nK8S_WATCH_ARGS=\"$*\" exec %s", self),
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", steps)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nof\n%s", err, out, steps)
	}
	for _, want := range []string{"\n  v1: Namespace, Service\n", "ok", `"resourceName":"kube-public"`, `"name":"kubernetes"`, `k8swatch_events_sent_total{kind="Service"} 1`, "msg=drained"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestHelp: help goes to standard output, with code 0, and names the other commands.
func TestHelp(t *testing.T) {
	for want, args := range map[string][]string{
		"k8s-watch check -f config.json": {"--help"}, "Exit code 0": {"check", "--help"}, "kubectl apply": {"rbac", "--help"},
		"Exit codes: 0 equal": {"audit", "--help"},
	} {
		cmd := program(t.Context(), t, args...)
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.Output()
		if err != nil || errors.Len() > 0 || !strings.Contains(string(out), want) || !strings.Contains(string(out), "--filterConfigPath") {
			t.Errorf("%v: %v, %q, standard output:\n%s", args, err, errors.String(), out)
		}
	}
}
