package party

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/watchbench/watchbench/loadgen/plan"
)

//go:embed k6.js
var k6Script []byte

// MaxVUs is how many virtual users an open plan gets.
const MaxVUs = 64

// K6Files are paths that the run needs.
type K6Files struct {
	Plan       string // is there
	Kubeconfig string // is there
	OpLog      string // is written
	Script     string // is written by K6Command
	Shard      plan.Shard
}

// K6Command writes the script and returns k6's arguments and environment; it speaks the protocol of package churn.
func K6Command(cfg plan.Config, f K6Files) (args, env []string, err error) {
	if err := os.WriteFile(f.Script, k6Script, 0o600); err != nil {
		return nil, nil, fmt.Errorf("writing the script for k6: %w", err)
	}
	abs := func(path string) string {
		if a, err := filepath.Abs(path); err == nil {
			return a
		}
		return path
	}
	p, err := plan.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	executor, arrivals := executor(p.Part(f.Shard))
	load, err := json.Marshal(map[string]any{
		"plan": abs(f.Plan), "kubeconfig": abs(f.Kubeconfig), "opLog": abs(f.OpLog), "executor": executor,
		"arrivals": arrivals, "shard": f.Shard,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("describing the load to k6: %w", err)
	}
	args = []string{"run", "--quiet", "--no-color", "--summary-mode=disabled", "--no-thresholds", "--address=",
		"--log-output=stderr", f.Script}
	return args, append(Hermetic(), "WATCHBENCH_K6="+string(load)), nil
}

// Hermetic is the environment in which k6 asks nobody on the network for anything.
func Hermetic() []string {
	return []string{"K6_NO_USAGE_REPORT=true", "K6_AUTO_EXTENSION_RESOLUTION=false"}
}

// executor is the plan's k6 executor; arrivals: an iteration for each operation, else one for each virtual user.
func executor(p *plan.Plan) (of map[string]any, arrivals bool) {
	cfg := p.Config()
	constant := cfg.Model == plan.ModelOpen && cfg.Profile == "" &&
		cfg.Arrival != plan.ArrivalPoisson && len(cfg.Steps) == 0
	if constant && !p.Shard().Divides() && cfg.Hotkeys == nil && cfg.Rate*1000 == math.Trunc(cfg.Rate*1000) {
		return map[string]any{
			"executor": "constant-arrival-rate", "rate": int64(cfg.Rate * 1000), "timeUnit": "1000s",
			"duration":        cfg.Duration.String(),
			"preAllocatedVUs": MaxVUs, "maxVUs": MaxVUs, "gracefulStop": "5m",
		}, true
	}
	// Of all other arrivals the virtual users keep the times themselves.
	vus := p.Shard().Share(MaxVUs)
	if cfg.Model == plan.ModelClosed {
		vus = len(slices.Collect(p.Shard().Threads(cfg.Threads)))
	}
	return map[string]any{"executor": "per-vu-iterations", "vus": vus, "iterations": 1, "maxDuration": "24h",
		"gracefulStop": "5m"}, false
}
