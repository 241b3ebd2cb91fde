// Package session drives an Engine through a run in step with another process: it
// reports its phases as lines of JSON and waits, if asked, for a line before the load,
// one more after a warm-up, and another before the teardown.
//
// The lines, in order:
//
//	{"phase":"prepare","runID":"r1"}
//	{"phase":"ready", …}       namespaces, nodes, bystanders and prefill exist; with Wait, blocks for a line
//	{"phase":"warmup"}         only if the plan has one, as is the next
//	{"phase":"warmed"}         all of it was answered; with Wait, blocks for a line
//	{"phase":"load","started":ns,"planned":n}
//	{"phase":"load","done":n,"planned":m,"errors":e,"fraction":0.4}   every second
//	{"phase":"loaded","started":ns,"finished":ns, … the fields of churn.Stats}
//	                           the op log is complete so far; with Wait, blocks for a line.
//	                           "incomplete":true if the load was cut short; "error" follows
//	{"phase":"error","error":"…"}  only if something went wrong; the teardown follows
//	{"phase":"teardown"}
//	{"phase":"done"}
package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Phases of a Line.
const (
	PhasePrepare  = "prepare"
	PhaseReady    = "ready"
	PhaseWarmup   = "warmup"
	PhaseWarmed   = "warmed"
	PhaseLoad     = "load"
	PhaseLoaded   = "loaded"
	PhaseError    = "error"
	PhaseTeardown = "teardown"
	PhaseDone     = "done"
)

// Line reports a phase. Which fields it has depends on the phase.
type Line struct {
	Phase      string   `json:"phase"`
	RunID      string   `json:"runID,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Nodes      []string `json:"nodes,omitempty"`
	Error      string   `json:"error,omitempty"`
}

// LoadLine begins the load.
type LoadLine struct {
	Phase   string `json:"phase"`
	Started int64  `json:"started"`           // Unix ns
	Planned int64  `json:"planned,omitempty"` // absent where the cluster's speed decides
}

// ProgressLine comes every second of the load.
type ProgressLine struct {
	Phase    string  `json:"phase"`
	Done     int64   `json:"done"`
	Planned  int64   `json:"planned,omitempty"` // absent where the cluster's speed decides
	Errors   int64   `json:"errors"`
	Fraction float64 `json:"fraction"` // of the operations or of the time, whichever is further
}

// LoadedLine ends the load.
type LoadedLine struct {
	Phase    string `json:"phase"`
	Started  int64  `json:"started"`  // Unix ns
	Finished int64  `json:"finished"` // Unix ns
	// Incomplete says that the load ended early; a line with the error follows.
	Incomplete bool `json:"incomplete,omitempty"`
	churn.Stats
}

// TeardownTimeout bounds the removal of what was created. A namespace of
// 10,000 pods takes about 10 s.
const TeardownTimeout = 2 * time.Minute

const progressEvery = time.Second

// ErrAborted means that the controlling process closed its end before the run was
// over.
var ErrAborted = errors.New("the controlling process closed standard input before the load was over")

// Settings configure a Session.
type Settings struct {
	Out io.Writer // lines of JSON
	// Wait makes the session wait for a line from In after "ready", "warmed" and
	// "loaded". Without it In is not read.
	Wait bool
	In   io.Reader
	// Quiet leaves out the lines that come every second.
	Quiet  bool
	Log    *oplog.Writer
	Logger *slog.Logger
}

// Engine sends the load. Its methods are called in this order, Heartbeat beside all that
// follow it.
type Engine interface {
	Prepare(context.Context) error
	Heartbeat(context.Context)
	Warmup(context.Context) error
	Load(ctx context.Context, begun func(started int64)) (churn.Stats, error)
	Teardown(context.Context) error

	Planned() int64
	Progress() churn.Progress
	LoadStarted() int64
	LoadFinished() int64
}

var _ Engine = (*churn.Engine)(nil)

// Session is one run.
type Session struct {
	engine Engine
	cfg    plan.Config
	s      Settings

	out sync.Mutex // serialises lines
	enc *json.Encoder
}

// New prepares a session; nothing happens before Run.
func New(engine Engine, cfg plan.Config, s Settings) *Session {
	return &Session{engine: engine, cfg: cfg, s: s, enc: json.NewEncoder(s.Out)}
}

// Run goes through all phases. Whatever ends it early, it removes what was created
// before it returns, for which it takes at most the teardown timeout.
func (s *Session) Run(ctx context.Context) error {
	beatCtx, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { _ = s.s.Log.Run(beatCtx) }) // its error comes again with the checkpoint
	err := s.upToLoaded(ctx, beatCtx, &background)
	if err != nil {
		s.say(Line{Phase: PhaseError, Error: err.Error()})
	}
	stopBeating()
	background.Wait()
	s.say(Line{Phase: PhaseTeardown})
	// Not ctx: what ended the run must not end the cleaning up.
	downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), TeardownTimeout)
	defer cancel()
	err = errors.Join(err, s.engine.Teardown(downCtx))
	s.say(Line{Phase: PhaseDone})
	return err
}

func (s *Session) upToLoaded(ctx, beatCtx context.Context, background *sync.WaitGroup) error {
	s.say(Line{Phase: PhasePrepare, RunID: s.cfg.RunID})
	if err := s.engine.Prepare(ctx); err != nil {
		return err
	}
	background.Go(func() { s.engine.Heartbeat(beatCtx) })
	ready := Line{Phase: PhaseReady, RunID: s.cfg.RunID}
	for i := range s.cfg.Namespaces {
		ready.Namespaces = append(ready.Namespaces, s.cfg.NamespaceName(i))
	}
	for i := range s.cfg.Nodes {
		ready.Nodes = append(ready.Nodes, s.cfg.NodeName(i))
	}
	if err := s.s.Log.Checkpoint(); err != nil {
		return err
	}
	s.say(ready)
	if !s.s.Wait {
		return s.load(ctx, nil)
	}
	in := newLines(s.s.In)
	if err := in.next(ctx); err != nil {
		return err
	}
	loadCtx, release := in.whileOpen(ctx)
	err := s.load(loadCtx, in)
	if cause := context.Cause(loadCtx); err != nil && cause != nil {
		err = cause
	}
	release()
	if err != nil {
		return err
	}
	// The end of standard input is as good as a line now: the load is over.
	if err := in.next(ctx); err != nil && !errors.Is(err, ErrAborted) {
		return err
	}
	return nil
}

// load sends warm-up and load; in is nil unless it is to wait between them.
func (s *Session) load(ctx context.Context, in *lines) error {
	if s.cfg.Warmup.Operations > 0 {
		if err := s.warmUp(ctx, in); err != nil {
			return err
		}
	}
	var reporter sync.WaitGroup
	done := make(chan struct{})
	stats, err := s.engine.Load(ctx, func(started int64) {
		s.say(LoadLine{Phase: PhaseLoad, Started: started, Planned: s.engine.Planned()})
		if !s.s.Quiet {
			reporter.Go(func() { s.report(done) })
		}
	})
	close(done)
	reporter.Wait()
	if logErr := s.s.Log.Checkpoint(); err == nil {
		err = logErr
	}
	s.say(LoadedLine{Phase: PhaseLoaded, Started: s.engine.LoadStarted(), Finished: s.engine.LoadFinished(),
		Incomplete: err != nil, Stats: stats})
	return err
}

// warmUp sends the warm-up, whose effects others may want to see the end of.
func (s *Session) warmUp(ctx context.Context, in *lines) error {
	s.say(Line{Phase: PhaseWarmup})
	if err := s.engine.Warmup(ctx); err != nil {
		return err
	}
	if err := s.s.Log.Checkpoint(); err != nil {
		return err
	}
	s.say(Line{Phase: PhaseWarmed})
	if in == nil {
		return nil
	}
	return in.next(ctx)
}

// report writes progress until done.
func (s *Session) report(done <-chan struct{}) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			p := s.engine.Progress()
			s.say(ProgressLine{Phase: PhaseLoad, Done: p.Done, Planned: p.Planned, Errors: p.Errors, Fraction: p.Fraction})
		}
	}
}

// say writes one line. A failure to write does not end the run.
func (s *Session) say(line any) {
	s.out.Lock()
	defer s.out.Unlock()
	if err := s.enc.Encode(line); err != nil && s.s.Logger != nil {
		s.s.Logger.Warn("cannot report the phase", "err", err)
	}
}
