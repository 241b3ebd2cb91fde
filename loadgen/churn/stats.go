package churn

import (
	"sync"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Stats is how far the load is. Bystanders, warm-up, prefill and heartbeats do not count.
type Stats struct {
	Started   int64 `json:"started,omitempty"`  // Unix ns
	Finished  int64 `json:"finished,omitempty"` // Unix ns
	Planned   int64 `json:"planned,omitempty"`  // absent where the cluster's speed decides
	Done      int64 `json:"done"`               // acknowledged
	Errors    int64 `json:"errors"`             // failed attempts, retried ones included
	Abandoned int64 `json:"abandoned"`          // given up after all attempts
	Skipped   int64 `json:"skipped"`            // not sent because an earlier step of the pod was given up
	// Fraction that is over: of the operations or of the time, whichever is further.
	Fraction   float64 `json:"fraction"`
	FirstError string  `json:"firstError,omitempty"`
}

type stats struct {
	mu sync.Mutex // guards what follows
	Stats
}

func (s *stats) of(op plan.Op, change func(*Stats)) {
	if op.Phase != oplog.PhaseLoad || op.Bystander {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.Stats)
}

func (s *stats) acknowledge(op plan.Op) { s.of(op, func(s *Stats) { s.Done++ }) }
func (s *stats) giveUp(op plan.Op)      { s.of(op, func(s *Stats) { s.Abandoned++ }) }
func (s *stats) skip(op plan.Op)        { s.of(op, func(s *Stats) { s.Skipped++ }) }

func (s *stats) fail(op plan.Op, err error) {
	s.of(op, func(s *Stats) {
		if s.Errors++; s.FirstError == "" {
			s.FirstError = errorText(err)
		}
	})
}

// Progress is the account of the load so far.
func (e *Engine) Progress() Stats {
	e.stats.mu.Lock()
	p := e.stats.Stats
	e.stats.mu.Unlock()
	p.Planned, p.Started, p.Finished = e.planned, e.loadStarted.Load(), e.loadFinished.Load()
	if p.Planned > 0 {
		p.Fraction = float64(p.Done) / float64(p.Planned)
	}
	if p.Started > 0 && e.cfg.Duration > 0 {
		p.Fraction = max(p.Fraction, float64(e.clock.now()-p.Started)/float64(e.cfg.Duration))
	}
	p.Fraction = min(p.Fraction, 1)
	return p
}
