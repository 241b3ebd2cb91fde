package party

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/units"
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

// Generator is the load generators of one cell, one or several that divide the plan.
type Generator struct {
	Parts    []*Process // in the order of their shards
	Logs     []string   // their op logs
	failures []string   // of those that ended during the load
	at       time.Time  // when several were to begin
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
	shards, ops := max(1, s.Shards), filepath.Join(s.Cell, history.FileOps)
	g := &Generator{failures: make([]string, shards)}
	for i := range shards {
		shard := plan.Shard{Index: i + 1, Of: shards}
		log := ops
		if shard.Divides() {
			log = oplog.PartPath(ops, shard.Index)
		}
		p, err := s.start(shard, log)
		if err != nil {
			g.Kill()
			return nil, err
		}
		g.Parts, g.Logs = append(g.Parts, p), append(g.Logs, log)
	}
	return g, nil
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
			Index: shard.Index - 1, Of: shard.Of, Files: []string{s.plan(), s.Kubeconfig}, Results: []string{ops}})
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
func (g *Generator) Go() error {
	if len(g.Parts) == 1 {
		return g.Tell("go")
	}
	g.at = time.Now().Add(startLead)
	return g.Tell(fmt.Sprintf("go %d", g.at.UnixNano()))
}

// Reached waits until all have reached a phase, looking at every line of progress on the way. One of several that ends
// or fails during the load is no error as long as others go on: Runs has it.
func (g *Generator) Reached(ctx context.Context, phase string, limit time.Duration, each func(Line)) error {
	deadline := time.Now().Add(limit)
	failed := 0
	for i, p := range g.Parts {
		err := p.Await(ctx, "the generator's phase "+phase, 10*time.Millisecond, time.Until(deadline),
			func(context.Context) bool {
				if each != nil {
					p.mu.Lock()
					last := p.last
					p.mu.Unlock()
					each(g.Said(last))
				}
				return p.hasSaid(phase, nil) || p.hasSaid(PhaseError, nil)
			})
		var said Line
		if p.hasSaid(PhaseError, &said); said.Error != "" {
			err = fmt.Errorf("the generator failed: %s (log: %s)", said.Error, p.Log)
		} else if _, ended := errors.AsType[*ExitError](err); err != nil && !ended {
			return err // in vain, or interrupted
		}
		if err == nil {
			continue
		}
		if failed++; phase != PhaseLoaded || failed == len(g.Parts) {
			return err
		}
		g.failures[i] = cmp.Or(said.Error, err.Error())
	}
	return nil
}

// Said is the latest report on a phase, of several generators their sum.
func (g *Generator) Said(phase string) (sum Line) {
	for i, p := range g.Parts {
		var l Line
		p.hasSaid(phase, &l)
		if i == 0 {
			sum = l
			continue
		}
		sum.Started, sum.Finished = min(sum.Started, l.Started), max(sum.Finished, l.Finished)
		sum.Planned, sum.Done, sum.Fraction = sum.Planned+l.Planned, sum.Done+l.Done, sum.Fraction+l.Fraction
		sum.Error = cmp.Or(sum.Error, l.Error)
	}
	sum.Fraction /= float64(len(g.Parts))
	return sum
}

// Runs is what became of several generators in the load, nil of one.
func (g *Generator) Runs() (all []history.GeneratorRun) {
	for i, p := range g.Parts {
		var began, end Line
		p.hasSaid(PhaseLoad, &began)
		p.hasSaid(PhaseLoaded, &end)
		all = append(all, history.GeneratorRun{At: g.at.UnixNano(), Started: began.Started, Planned: began.Planned,
			Done: max(began.Done, end.Done), Failure: g.failures[i]})
	}
	if len(all) == 1 {
		return nil
	}
	return all
}

// End lets the generators tear down and waits for them. After a failure or an
// interruption closing their input has the same effect.
func (g *Generator) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, TeardownLimit)
	defer cancel()
	return g.each(func(i int, p *Process) error {
		if p.Ended() {
			return nil
		}
		if err := p.Tell("done"); err != nil && g.failures[i] == "" {
			return err
		}
		_ = p.stdin.Close()
		select {
		case <-p.done:
		case <-ctx.Done():
			p.Stop(TeardownLimit)
		}
		if code := p.ExitCode(); code != 0 && g.failures[i] == "" {
			return fmt.Errorf("clean up after the load: %w", p.Failure())
		}
		return nil
	})
}

// Stop asks all to end, and kills those that have not after the grace.
func (g *Generator) Stop(grace time.Duration) {
	_ = g.each(func(_ int, p *Process) error { p.Stop(grace); return nil })
}

// Kill ends all.
func (g *Generator) Kill() {
	_ = g.each(func(_ int, p *Process) error { p.Kill(); return nil })
}

// each does something to all at the same time.
func (g *Generator) each(do func(i int, p *Process) error) error {
	errs := make([]error, len(g.Parts))
	var all sync.WaitGroup
	for i, p := range g.Parts {
		all.Go(func() { errs[i] = do(i, p) })
	}
	all.Wait()
	return errors.Join(errs...)
}
