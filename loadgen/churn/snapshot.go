package churn

import (
	"time"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// LoadStarted is when the load began, in Unix nanoseconds; 0 before.
func (e *Engine) LoadStarted() int64 { return e.loadStarted.Load() }

// LoadFinished is when the load ended, in Unix nanoseconds; 0 before.
func (e *Engine) LoadFinished() int64 { return e.loadFinished.Load() }

// Planned is the number of load operations; 0 where the cluster's speed decides.
func (e *Engine) Planned() int64 { return e.planned }

// Progress of the load.
func (e *Engine) Progress() Progress {
	p := Progress{Planned: e.planned}
	e.stats.mu.Lock()
	p.Done, p.Errors = e.stats.done, e.stats.errors
	e.stats.mu.Unlock()
	if p.Planned > 0 {
		p.Fraction = float64(p.Done) / float64(p.Planned)
	}
	if started := e.loadStarted.Load(); started > 0 && e.cfg.Duration > 0 {
		passed := float64(e.clock.now()-started) / float64(e.cfg.Duration)
		p.Fraction = max(p.Fraction, passed)
	}
	p.Fraction = min(p.Fraction, 1)
	return p
}

// snapshot is the account of the load so far.
func (e *Engine) snapshot() Stats {
	s := Stats{Model: e.cfg.Model, Threads: e.cfg.Threads, Planned: e.planned, Live: e.created.livePods()}
	e.stats.mu.Lock()
	defer e.stats.mu.Unlock()
	if s.Planned == 0 {
		s.Planned = e.stats.begun
	}
	s.Done, s.Errors, s.Abandoned, s.Skipped = e.stats.done, e.stats.errors, e.stats.abandoned, e.stats.skipped
	s.FirstError = e.stats.firstError
	if e.stats.lastAnswer > 0 {
		s.DurationS = time.Duration(e.stats.lastAnswer - e.loadStarted.Load()).Seconds()
	}
	if s.DurationS > 0 {
		s.QPS = float64(s.Done) / s.DurationS
	}
	if e.cfg.Model == plan.ModelOpen {
		offered := float64(e.planned) / e.cfg.Duration.Std().Seconds()
		s.OfferedQPS = &offered
	}
	s.LagMs, s.FromIntent, s.FromActual = QuantilesOf(e.stats.lag), QuantilesOf(e.stats.fromIntent),
		QuantilesOf(e.stats.fromDisp)
	if e.cfg.Bystander != nil {
		b := e.stats.bystander
		b.Kind = e.cfg.Bystander.Kind
		s.Bystander = &b
	}
	return s
}

func (c *created) livePods() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods)
}
