package party

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/pod"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Bounds on the generator's phases besides the load itself.
const (
	PrepareLimit  = 2 * time.Minute
	TeardownLimit = 2 * time.Minute
)

// Phases in the generator's protocol.
const (
	PhasePrepare = "prepare"
	PhaseReady   = "ready"
	PhaseWarmed  = "warmed"
	PhaseLoad    = "load"
	PhaseLoaded  = "loaded"
	PhaseError   = "error"
)

// Line is one line of the generator's progress.
type Line struct {
	Phase    string  `json:"phase"`
	Started  int64   `json:"started"`
	Finished int64   `json:"finished"`
	Planned  int64   `json:"planned"`
	Done     int64   `json:"done"`
	Fraction float64 `json:"fraction"`
	Error    string  `json:"error"`
}

// Generator is the load generator of one cell.
type Generator struct{ *Process }

// GeneratorSetup configures the generator of a cell.
type GeneratorSetup struct {
	Bins       Binaries
	Driver     string // spec.DriverEngine or spec.DriverK6
	Logs, Cell string
	Kubeconfig string // of the cluster, unless that is simulated
	Plan       plan.Config
	Trace      string // a file that is played instead of the plan; with Simulate only
	// Simulate has the generator be the apiserver, too, and play the plan at Speed.
	Simulate bool
	Speed    units.Speed
	Pods     *Pods
}

// SimulatedKubeconfig is the kubeconfig of a cell's simulated apiserver. It is there once the generator prepares.
func SimulatedKubeconfig(cell string) string { return filepath.Join(cell, "apisim.kubeconfig") }

// StartGenerator starts the load generator with the plan; it waits for a line.
func StartGenerator(s GeneratorSetup) (*Generator, error) {
	planPath, ops := filepath.Join(s.Cell, "plan.yaml"), filepath.Join(s.Cell, history.FileOps)
	argv := []string{s.Bins.Bench, "churn", "--plan", planPath, "--oplog", ops, "--wait"}
	if s.Trace != "" {
		argv[2], argv[3] = "--trace", s.Trace
	} else if err := writeJSON(planPath, s.Plan); err != nil { // JSON is YAML; the plan's types write their units
		return nil, err
	}
	if s.Simulate {
		argv = append(argv, "--simulate", SimulatedKubeconfig(s.Cell), "--speed", s.Speed.String())
	} else {
		argv = append(argv, "--kubeconfig", s.Kubeconfig)
	}
	c := child{name: "churn", logs: s.Logs, stdin: true, says: true, argv: argv}
	if s.Driver == spec.DriverK6 {
		args, env, err := K6Command(s.Plan, K6Files{
			Plan: planPath, Kubeconfig: s.Kubeconfig, OpLog: ops, Script: filepath.Join(s.Cell, "k6.js"),
		})
		if err != nil {
			return nil, err
		}
		c.name, c.argv, c.env = "k6", append([]string{s.Bins.K6}, args...), env
	}
	if s.Pods != nil {
		var err error
		c, err = s.Pods.place(c, programBench, pod.Spec{ServiceAccount: pod.AccountLoad,
			Files: []string{planPath, s.Kubeconfig}, Results: []string{ops}})
		if err != nil {
			return nil, err
		}
	}
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	return &Generator{p}, nil
}

// Reached waits for a phase, looking at every line of progress on the way.
func (g *Generator) Reached(ctx context.Context, phase string, limit time.Duration, each func(Line)) error {
	err := g.Await(ctx, "the generator's phase "+phase, 10*time.Millisecond, limit, func(context.Context) bool {
		if each != nil {
			g.mu.Lock()
			last := g.last
			g.mu.Unlock()
			each(g.Said(last))
		}
		return g.hasSaid(phase, nil) || g.hasSaid(PhaseError, nil)
	})
	if said := g.Said(PhaseError); said.Error != "" {
		return fmt.Errorf("the generator failed: %s (log: %s)", said.Error, g.Log)
	}
	return err
}

// Said is the generator's latest report on a phase.
func (g *Generator) Said(phase string) (l Line) {
	g.hasSaid(phase, &l)
	return l
}

// End lets the generator tear down and waits for it. After a failure or an
// interruption closing its input has the same effect.
func (g *Generator) End(ctx context.Context) error {
	if g.Ended() {
		return nil
	}
	if err := g.Tell("done"); err != nil {
		return err
	}
	_ = g.stdin.Close()
	ctx, cancel := context.WithTimeout(ctx, TeardownLimit)
	defer cancel()
	select {
	case <-g.done:
	case <-ctx.Done():
		g.Stop(TeardownLimit)
	}
	if code := g.ExitCode(); code != 0 {
		return fmt.Errorf("clean up after the load: %w", g.Failure())
	}
	return nil
}
