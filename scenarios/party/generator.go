package party

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
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

// Line is what the generator says of a phase.
type Line struct {
	Finished int64   `json:"finished"`
	Planned  int64   `json:"planned"`
	Fraction float64 `json:"fraction"`
	Error    string  `json:"error"`
}

// Generator is the load generators of one cell, one or several that divide the plan.
type Generator struct {
	Parts []*Process             // in the order of their shards
	Runs  []history.GeneratorRun // what became of each in the load
	ops   string                 // the whole op log
}

// startLead is how long before their common start several generators are told of it.
const startLead = time.Second

// GeneratorSetup configures the generator of a cell.
type GeneratorSetup struct {
	Bins       Binaries
	Driver     string // spec.DriverEngine or spec.DriverK6
	Logs, Cell string
	Kubeconfig string // of the cluster, unless that is simulated
	Plan       plan.Config
	Shards     int    // into which the plan is divided; 0 is 1
	Trace      string // a file that is played instead of the plan; with Simulate only
	// Simulate has the generator be the apiserver, too, and play the plan at Speed.
	Simulate bool
	Speed    units.Speed
	Pods     *Pods
}

// SimulatedKubeconfig is the kubeconfig of a cell's simulated apiserver. It is there once the generator prepares.
func SimulatedKubeconfig(cell string) string { return filepath.Join(cell, "apisim.kubeconfig") }

// StartGenerator starts the load generators with the plan; each waits for a line.
func StartGenerator(s GeneratorSetup) (*Generator, error) {
	if s.Trace == "" {
		if err := writeJSON(s.plan(), s.Plan); err != nil { // JSON is YAML; the plan's types write their units
			return nil, err
		}
	}
	n := max(1, s.Shards)
	g := &Generator{Runs: make([]history.GeneratorRun, n), ops: filepath.Join(s.Cell, history.FileOps)}
	for i := range n {
		p, err := s.start(plan.Shard{Index: i + 1, Of: n}, g.log(i))
		if err != nil {
			for _, p := range g.Parts {
				p.Kill()
			}
			return nil, err
		}
		g.Parts = append(g.Parts, p)
	}
	return g, nil
}

// log is the path of one part's op log.
func (g *Generator) log(i int) string {
	if len(g.Runs) == 1 {
		return g.ops
	}
	return oplog.PartPath(g.ops, i+1)
}

func (s *GeneratorSetup) plan() string { return filepath.Join(s.Cell, "plan.yaml") }

// start starts the generator of a shard.
func (s *GeneratorSetup) start(shard plan.Shard, ops string) (*Process, error) {
	argv := []string{s.Bins.Bench, "churn", "--plan", s.plan(), "--oplog", ops, "--wait"}
	if s.Trace != "" {
		argv[2], argv[3] = "--trace", s.Trace
	}
	if s.Simulate {
		argv = append(argv, "--simulate", SimulatedKubeconfig(s.Cell), "--speed", s.Speed.String())
	} else {
		argv = append(argv, "--kubeconfig", s.Kubeconfig)
	}
	if shard.Divides() {
		argv = append(argv, "--shard", shard.String())
	}
	c := child{name: "churn", logs: s.Logs, stdin: true, says: true, argv: argv}
	if s.Driver == spec.DriverK6 {
		args, env, err := K6Command(s.Plan, K6Files{
			Plan: s.plan(), Kubeconfig: s.Kubeconfig, OpLog: ops, Script: filepath.Join(s.Cell, "k6.js"), Shard: shard,
		})
		if err != nil {
			return nil, err
		}
		c.name, c.argv, c.env = "k6", append([]string{s.Bins.K6}, args...), env
	}
	if shard.Index > 1 {
		c.name += "-" + strconv.Itoa(shard.Index)
	}
	if s.Pods != nil {
		var err error
		c, err = s.Pods.place(c, programBench, pod.Spec{ServiceAccount: pod.AccountLoad, Job: s.Pods.Run + "-churn",
			Index: shard.Index - 1, Of: shard.Of, Files: []string{s.plan(), s.Kubeconfig},
			Results: []string{filepath.Base(ops)}})
		if err != nil {
			return nil, err
		}
	}
	return start(c)
}

// Tell writes one line to each generator's standard input.
func (g *Generator) Tell(line string) error {
	for _, p := range g.Parts {
		if err := p.Tell(line); err != nil {
			return err
		}
	}
	return nil
}

// Go has the load begin, of several generators at one instant.
func (g *Generator) Go(context.Context) error {
	if len(g.Parts) == 1 {
		return g.Tell("go")
	}
	at := time.Now().Add(startLead).UnixNano()
	for i := range g.Runs {
		g.Runs[i].At = at
	}
	return g.Tell(fmt.Sprintf("go %d", at))
}

// Reached waits until all have reached a phase, and calls each, unless it is nil, all the while. One of several that
// ends or fails during the load is no error as long as others go on: its Run has it.
func (g *Generator) Reached(ctx context.Context, phase string, limit time.Duration, each func()) error {
	deadline := time.Now().Add(limit)
	failed := 0
	for i, p := range g.Parts {
		err := p.Await(ctx, "the phase "+phase+" of "+p.Name, 10*time.Millisecond, time.Until(deadline),
			func(context.Context) bool {
				if each != nil {
					each()
				}
				return p.hasSaid(phase, nil) || p.hasSaid(PhaseError, nil)
			})
		run := &g.Runs[i]
		p.hasSaid(PhaseLoad, run)
		p.hasSaid(PhaseLoaded, run)
		var said Line
		if p.hasSaid(PhaseError, &said); said.Error != "" {
			err = fmt.Errorf("the generator failed: %s (log: %s)", said.Error, p.Log)
		} else if _, ended := errors.AsType[*ExitError](err); err != nil && !ended {
			return err // in vain, or interrupted
		}
		if err != nil {
			if failed++; phase != PhaseLoaded || failed == len(g.Parts) {
				return err
			}
			run.Failure = cmp.Or(said.Error, err.Error())
		}
	}
	return nil
}

// Said is the latest report on a phase, of several generators their sum.
func (g *Generator) Said(phase string) (sum Line) {
	for _, p := range g.Parts {
		var l Line
		p.hasSaid(phase, &l)
		sum.Finished = max(sum.Finished, l.Finished)
		sum.Planned, sum.Fraction = sum.Planned+l.Planned, sum.Fraction+l.Fraction
	}
	sum.Fraction /= float64(len(g.Parts))
	return sum
}

// End lets the generators tear down, or has them do so after an interruption, and waits for them. Where one has died,
// another removes what it made.
func (g *Generator) End(ctx context.Context) (err error) {
	grace, cancel := context.WithTimeout(ctx, TeardownLimit)
	defer cancel()
	line := "done"
	for i, p := range g.Parts {
		if r := &g.Runs[i]; p.Ended() {
			r.Failure = cmp.Or(r.Failure, p.Failure().Error())
		}
		if g.Runs[i].Failure != "" {
			line = churn.LineInherit
		}
	}
	for i, p := range g.Parts {
		if g.Runs[i].Failure == "" {
			err = errors.Join(err, p.Tell(line))
			line = "done" // one is enough
		}
		_ = p.stdin.Close()
		if !p.hasSaid(PhaseLoaded, nil) { // it waits for no line, perhaps for a shard
			p.Signal(syscall.SIGTERM)
		}
	}
	for i, p := range g.Parts {
		if !p.ends(grace, TeardownLimit) {
			p.Stop(TeardownLimit)
		}
		if p.ExitCode() != 0 && g.Runs[i].Failure == "" && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("clean up after the load: %w", p.Failure()))
		}
	}
	return err
}

// Merge makes one op log of those that several have written, and says what became of each. Of one it is nil.
func (g *Generator) Merge() ([]history.GeneratorRun, error) {
	if g == nil || len(g.Parts) == 1 {
		return nil, nil
	}
	var logs []string
	for i := range g.Parts {
		logs = append(logs, g.log(i))
	}
	_, err := oplog.Merge(g.ops, logs)
	return g.Runs, err
}
