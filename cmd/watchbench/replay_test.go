package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

const shippedTrace = "../../loadgen/trace/testdata/churn.trace.zst"

func runReplay(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"replay"}, args...))
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// TestReplay plays a trace and a plan to their ends.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	ops, kubeconfig, plan := filepath.Join(dir, "ops"), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "plan.yaml")
	out, err := runReplay(t, shippedTrace, "--speed", "unlimited", "--exit", "--oplog", ops, "--kubeconfig", kubeconfig)
	if err != nil || !strings.Contains(out, "played 397 events") || !strings.Contains(out, "0 impossible") {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(kubeconfig); err != nil || !strings.Contains(string(text), "http://127.0.0.1:") {
		t.Errorf("%v: %s", err, text)
	}
	n := 0
	for r, err := range oplog.ReadFile(ops) {
		if err != nil || !r.OK() {
			t.Fatal(err, r)
		}
		n++
	}
	if n <= 397 {
		t.Errorf("%d records", n)
	}
	if err := os.WriteFile(plan, []byte("runID: r\nmodel: open\nrate: 100\nduration: 2s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := runReplay(t, "--plan", plan, "--speed", "100x", "--exit"); err != nil || !strings.Contains(out, "played 200 events") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestReplayRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	closed := write("closed.yaml", "runID: r\nmodel: closed\nthreads: 1\noperations: 1\n")
	wrong := write("wrong.yaml", "runID: r\nspeed: 3\n")
	for want, args := range map[string][]string{
		"needs a trace, or --plan":             nil,
		"no trace beside --plan":               {"--plan", closed, shippedTrace},
		"no such file":                         {filepath.Join(dir, "none")},
		"not a trace of watchbench record":     {closed},
		"model closed cannot be replayed":      {"--plan", closed},
		"wrong.yaml:2: speed: unknown field":   {"--plan", wrong},
		`"0.01x" is out of range`:              {shippedTrace, "--speed", "0.01x"},
		"--await -1":                           {shippedTrace, "--await", "-1"},
		"use an address of this machine":       {shippedTrace, "--listen", "256.0.0.1:x"},
		"--kubeconfig /none/kc: ":              {shippedTrace, "--kubeconfig", "/none/kc"},
		"--oplog /none/ops: creating the op l": {shippedTrace, "--oplog", "/none/ops"},
	} {
		out, err := runReplay(t, append(args, "--exit")...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v %s, want %q", args, err, out, want)
			continue
		}
		if code := exitCode(t.Context(), err); code != exitInput {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
