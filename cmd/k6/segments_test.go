package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/party"
)

// TestSegments: runners of deploy/load's script, each with an execution segment as k6-operator gives them, send the
// whole plan together, each operation once, and their op logs become one.
func TestSegments(t *testing.T) {
	env, bin, dir := clustertest.Start(t), k6Binary(t), t.TempDir()
	planPath, log := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "ops.ndjson.zst")
	text := "runID: segments\nmodel: open\nrate: 40\nduration: 3s\nnodes: 4\nprefill: 8\n"
	if err := os.WriteFile(planPath, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := plan.ReadFile(planPath)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	const n = 2
	var running sync.WaitGroup
	var parts []string
	for i := range n {
		parts = append(parts, oplog.PartPath(log, i+1))
		cmd := exec.CommandContext(ctx, bin, "run", "--quiet", "--address=", fmt.Sprintf("--execution-segment=%d/%d:%d/%d", i, n, i+1, n),
			"--execution-segment-sequence=0,1/2,1", filepath.Join("..", "..", "deploy", "load", "load.js"))
		cmd.Env = append(append(os.Environ(), party.Hermetic()...), "KUBECONFIG="+env.Kubeconfig, "PLAN="+planPath, "OPLOG="+log)
		cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, time.Minute
		running.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("runner %d: %v\n%s", i+1, err, out)
			}
		})
	}
	running.Wait()
	if _, err := oplog.Merge(log, parts); err != nil {
		t.Fatal(err)
	}
	sent, by := map[int64]bool{}, map[int]int{}
	for r, err := range oplog.ReadFile(log) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Phase != oplog.PhaseLoad || r.Type == oplog.TypeHeartbeat || !r.OK() {
			continue
		}
		if sent[r.ID] {
			t.Errorf("operation %d was sent twice", r.ID)
		}
		sent[r.ID] = true
		by[r.Shard]++
	}
	if int64(len(sent)) != p.Planned() || len(by) != n || by[0] != 0 {
		t.Errorf("%d of %d operations, by shard %v", len(sent), p.Planned(), by)
	}
}
