package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/party"
)

var ratePairs = flag.Int("rate", 0, "pairs of runs in which k6's rate is compared with the engine's")

// leastRate is the part of the engine's rate that k6 is to reach with 64 virtual users.
const leastRate = 0.9

// TestRate sends one plan by churn and by k6 in turn, on one API server, and compares the
// medians. It needs a quiet machine, so it runs only when asked: make k6-rate.
func TestRate(t *testing.T) {
	if *ratePairs == 0 {
		t.Skip("needs a quiet machine: make k6-rate")
	}
	env := clustertest.Start(t)
	k6 := k6Binary(t)
	bench := filepath.Join(t.TempDir(), "watchbench")
	if out, err := exec.Command("go", "build", "-o", bench, "../watchbench").CombinedOutput(); err != nil {
		t.Fatalf("building watchbench: %v\n%s", err, out)
	}
	var ratios []float64
	for i := range *ratePairs {
		cfg := plan.Default()
		cfg.Model, cfg.Threads, cfg.Operations, cfg.Seed = plan.ModelClosed, party.MaxVUs, 6000, uint64(i)
		rate := map[string]float64{}
		order := []string{"churn", "k6"}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, who := range order {
			dir := t.TempDir()
			cfg.RunID = fmt.Sprintf("%s-%d", who, i)
			f := party.K6Files{Plan: filepath.Join(dir, "plan.yaml"), Kubeconfig: env.Kubeconfig, OpLog: filepath.Join(dir, "ops.zst"), Script: filepath.Join(dir, "k6.js")}
			data, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.Plan, data, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(bench, "churn", "--plan", f.Plan, "--kubeconfig", f.Kubeconfig, "--oplog", f.OpLog, "--wait")
			if who == "k6" {
				args, environ, err := party.K6Command(cfg, f)
				if err != nil {
					t.Fatal(err)
				}
				cmd = exec.Command(k6, args...)
				cmd.Env = append(os.Environ(), environ...)
			}
			cmd.Stdin = bytes.NewReader([]byte("go\ngo\n"))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", who, err, out)
			}
			rate[who] = qps(t, out)
		}
		ratios = append(ratios, rate["k6"]/rate["churn"])
		t.Logf("pair %d: k6 %.0f writes/s, the engine %.0f: %.3f", i+1, rate["k6"], rate["churn"], ratios[i])
	}
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	t.Logf("median of %d pairs: %.3f of the engine's rate, at least %.2f wanted", len(ratios), median, leastRate)
	if median < leastRate {
		t.Errorf("k6 reached %.3f of the engine's rate", median)
	}
}

// qps is the rate in the line of the loaded phase, if every operation was acknowledged.
func qps(t *testing.T, lines []byte) float64 {
	t.Helper()
	for line := range bytes.Lines(lines) {
		var l struct {
			Phase         string
			QPS           float64
			Planned, Done int64
		}
		if json.Unmarshal(line, &l) == nil && l.Phase == "loaded" {
			if l.Done == 0 || l.Done != l.Planned {
				t.Fatalf("%d of %d operations were acknowledged", l.Done, l.Planned)
			}
			return l.QPS
		}
	}
	t.Fatalf("no line says that the load was sent:\n%s", lines)
	return 0
}
