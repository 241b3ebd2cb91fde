package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// Bounds on the generator's phases besides the load itself.
const (
	prepareLimit  = 2 * time.Minute
	teardownLimit = 2 * time.Minute
)

// Phases in the generator's protocol.
const (
	phaseReady  = "ready"
	phaseLoad   = "load"
	phaseLoaded = "loaded"
	phaseError  = "error"
)

// churnLine is one line of the generator's progress.
type churnLine struct {
	Phase    string  `json:"phase"`
	Started  int64   `json:"started"`
	Finished int64   `json:"finished"`
	Planned  int64   `json:"planned"`
	Fraction float64 `json:"fraction"`
	Error    string  `json:"error"`
}

// generator is the load generator of one cell.
type generator struct {
	*process
	oplog string

	mu   sync.Mutex // guards what follows
	last churnLine
	seen map[string]churnLine // the last line of each phase
}

func startChurn(bin, logs, cell, kubeconfig string, cfg plan.Config) (*generator, error) {
	planPath := filepath.Join(cell, "plan.yaml")
	// JSON is YAML; the plan's types write their units.
	if err := writeJSON(planPath, cfg); err != nil {
		return nil, err
	}
	g := &generator{oplog: filepath.Join(cell, "ops.ndjson.zst"), seen: map[string]churnLine{}}
	p, err := start(child{
		name: "churn", logs: logs, stdin: true, lines: g.take,
		argv: []string{bin, "--plan", planPath, "--kubeconfig", kubeconfig, "--oplog", g.oplog, "--wait"},
	})
	if err != nil {
		return nil, err
	}
	g.process = p
	return g, nil
}

// take reads one line of progress.
func (g *generator) take(line []byte) {
	var l churnLine
	if json.Unmarshal(line, &l) != nil || l.Phase == "" {
		return // not part of the protocol
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.seen[l.Phase]; l.Planned == 0 {
		l.Planned = old.Planned
	}
	g.last = l
	g.seen[l.Phase] = l
}

// reached waits for a phase, looking at every line of progress on the way.
func (g *generator) reached(ctx context.Context, phase string, limit time.Duration, each func(churnLine)) error {
	err := g.await(ctx, "the generator's phase "+phase, 10*time.Millisecond, limit, func(context.Context) bool {
		g.mu.Lock()
		last := g.last
		_, ok := g.seen[phase]
		_, broken := g.seen[phaseError]
		g.mu.Unlock()
		if each != nil {
			each(last)
		}
		return ok || broken
	})
	if said := g.said(phaseError); said.Error != "" {
		return fmt.Errorf("the generator failed: %s (log: %s)", said.Error, g.log)
	}
	return err
}

// said is the last line of a phase.
func (g *generator) said(phase string) churnLine {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen[phase]
}

// end lets the generator tear down and waits for it. After a failure or an
// interruption closing its input has the same effect.
func (g *generator) end(ctx context.Context) error {
	if g.ended() {
		return nil
	}
	if err := g.tell("done"); err != nil {
		return err
	}
	_ = g.stdin.Close()
	ctx, cancel := context.WithTimeout(ctx, teardownLimit)
	defer cancel()
	select {
	case <-g.done:
	case <-ctx.Done():
		g.stop(teardownLimit)
	}
	if code := g.exitCode(); code != 0 {
		return fmt.Errorf("clean up after the load: %w", g.failure())
	}
	return nil
}
