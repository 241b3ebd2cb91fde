package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// TestChurnSimulateTrace plays a recorded trace, whose length is known before.
func TestChurnSimulateTrace(t *testing.T) {
	ops, kubeconfig := filepath.Join(t.TempDir(), "ops"), filepath.Join(t.TempDir(), "kubeconfig")
	const trace = "../../loadgen/record/testdata/churn.trace.zst"
	var out, errOut bytes.Buffer
	code := runParty(churnCommand, []string{"--trace", trace, "--oplog", ops, "--simulate", kubeconfig, "--speed", "100x"}, streams{strings.NewReader(""), &out, &errOut})
	if code != terminal.ExitOK || errOut.Len() > 0 || !strings.Contains(out.String(), `"planned":397,"done":0,`) || !strings.Contains(out.String(), `"done":397,"errors":0`) {
		t.Fatalf("exit code %d: %s%s", code, &out, &errOut)
	}
}

// TestChurnSimulate plays a plan without a cluster, and logs it.
func TestChurnSimulate(t *testing.T) {
	plan := writeText(t, "plan.yaml", "runID: r\nmodel: open\nrate: 500\nduration: 4s\nwarmup: {operations: 20}\n")
	ops, kubeconfig := filepath.Join(t.TempDir(), "ops"), filepath.Join(t.TempDir(), "kubeconfig")
	var out, errOut bytes.Buffer
	code := runParty(churnCommand, []string{"--plan", plan, "--oplog", ops, "--simulate", kubeconfig, "--speed", "unlimited"}, streams{strings.NewReader(""), &out, &errOut})
	if code != terminal.ExitOK || errOut.Len() > 0 || !strings.Contains(out.String(), `"done":2000,"errors":0`) || !strings.Contains(out.String(), `{"phase":"done"}`) {
		t.Fatalf("exit code %d: %s%s", code, &out, &errOut)
	}
	n := map[string]int{}
	for r, err := range oplog.ReadFile(ops) {
		if err != nil || !r.OK() {
			t.Fatal(err, r)
		}
		n[r.Phase]++
	}
	if n[oplog.PhaseLoad] != 2000 || n[oplog.PhaseWarmup] != 20 || n[oplog.PhasePrepare] == 0 {
		t.Errorf("%v", n)
	}
}
