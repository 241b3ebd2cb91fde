package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/xk6/driver"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Shared(m).Run()) }

// k6Binary builds the program, once for all tests of the package.
func k6Binary(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "k6")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("building k6: %v\n%s", err, out)
	}
	return bin
}

// runScript runs a script and returns what it printed.
func runScript(t *testing.T, bin, script string, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := []string{"run", "--quiet", "--no-color", "--address="}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	cmd := exec.CommandContext(ctx, bin, append(args, script)...)
	cmd.Env = append(os.Environ(), driver.Hermetic()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// TestExamples runs the shipped scripts on a real API server, with their thresholds, and
// counts what they did in the op log.
func TestExamples(t *testing.T) {
	env := clustertest.Start(t)
	bin := k6Binary(t)
	for _, tc := range []struct {
		script string
		want   map[string]int // operations on pods by type, at least
	}{
		{"operations.js", map[string]int{oplog.TypeCreate: 6, oplog.TypeBind: 6, oplog.TypeRunning: 6, oplog.TypeDelete: 6}},
		{"lives.js", map[string]int{oplog.TypeCreate: 9, oplog.TypePatch: 18, oplog.TypeDelete: 9}},
	} {
		t.Run(tc.script, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "ops.ndjson.zst")
			out, err := runScript(t, bin, filepath.Join("..", "..", "loadgen", "xk6", "examples", tc.script),
				"KUBECONFIG="+env.Kubeconfig, "OPLOG="+log)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := map[string]int{}
			ids := map[int64]bool{}
			for r, err := range oplog.ReadFile(log) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Phase != oplog.PhaseLoad || r.Kind != "Pod" {
					continue
				}
				if !r.OK() || r.Intended == 0 || r.Intended > r.Started || r.Finished < r.Started || r.UID == "" || ids[r.ID] {
					t.Errorf("record %+v", r)
				}
				ids[r.ID] = true
				got[r.Type]++
			}
			for op, n := range tc.want {
				if got[op] < n {
					t.Errorf("%d operations %s in the op log, want %d: %v", got[op], op, n, got)
				}
			}
		})
	}
}

// TestBadScripts: each ends with k6's code for a script's error, one message, and leaves
// no op log behind.
func TestBadScripts(t *testing.T) {
	bin := k6Binary(t)
	for _, tc := range []struct{ name, options, want string }{
		{"unknown option", `{kubeconfig: 'k', oplog: 'o', plan: {}}`, "oplog: unknown option; did you mean opLog?"},
		{"missing kubeconfig", `{kubeconfig: 'none', opLog: 'o', plan: {runID: 'r', model: 'closed', threads: 1, operations: 1}}`, "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			script := filepath.Join(dir, "script.js")
			text := "import { Churn } from 'k6/x/podchurn';\nconst c = new Churn(" + tc.options + ");\n" +
				"export function setup() { c.prepare(); }\nexport default function () {}\n"
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := runScript(t, bin, script)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%v\n%s\nwant %s", err, out, tc.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "o*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
