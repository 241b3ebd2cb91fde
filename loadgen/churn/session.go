package churn

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// line reports a phase of a Session; the lines come in this order:
//
//	{"phase":"prepare"}
//	{"phase":"ready"}    namespaces, nodes, bystanders and prefill exist; with Wait, blocks for a line
//	{"phase":"warmup"}   only if the plan has one, as is the next
//	{"phase":"warmed"}   all of it was answered; with Wait, blocks for a line
//	                     The line before the load may be "go AT", in Unix nanoseconds, for it to begin then
//	{"phase":"load", … the fields of Stats}    at its start, and every second
//	{"phase":"loaded", … the fields of Stats}  the op log is complete so far; with Wait, blocks for a line.
//	                     The line LineInherit has it remove what any shard made.
//	                     "incomplete":true if the load was cut short; "error" follows
//	{"phase":"error","error":"…"}  only if something went wrong; the teardown follows
//	{"phase":"teardown"}
//	{"phase":"done"}
type line struct {
	Phase      string `json:"phase"`
	Error      string `json:"error,omitempty"`
	Incomplete bool   `json:"incomplete,omitempty"`
	*Stats
}

// TeardownTimeout bounds the removal of what was created. A namespace of 10,000 pods takes about 10 s.
const TeardownTimeout = 2 * time.Minute

const progressEvery = time.Second

// LineInherit comes instead of another line where a shard has died.
const LineInherit = "inherit"

// ErrAborted means that the controlling process closed its end before the run was over.
var ErrAborted = errors.New("the controlling process closed standard input before the load was over")

// SessionSettings configure a Session.
type SessionSettings struct {
	Out io.Writer // lines of JSON
	// Wait makes the session wait for a line from In after "ready", "warmed" and "loaded". Without it In is not read.
	Wait bool
	In   io.Reader
	// Quiet leaves out the lines that come every second.
	Quiet  bool
	Log    *oplog.Writer
	Logger *slog.Logger
}

// Driven sends the load of a Session. Its methods are called in this order, Heartbeat beside all that follow it.
type Driven interface {
	Prepare(context.Context) error
	Heartbeat(context.Context)
	Warmup(context.Context) error
	Load(ctx context.Context, begun func(started int64)) (Stats, error)
	Teardown(context.Context) error

	Progress() Stats
}

var _ Driven = (*Engine)(nil)

// Session drives a load in step with another process: it reports its phases as lines and waits for some, if asked.
type Session struct {
	engine Driven
	cfg    plan.Config
	s      SessionSettings

	out sync.Mutex // serialises lines
	enc *json.Encoder
}

// NewSession prepares a session; nothing happens before Run.
func NewSession(engine Driven, cfg plan.Config, s SessionSettings) *Session {
	return &Session{engine: engine, cfg: cfg, s: s, enc: json.NewEncoder(s.Out)}
}

// Run goes through all phases. Whatever ends it early, it removes what was created before it returns.
func (s *Session) Run(ctx context.Context) error {
	beatCtx, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { _ = s.s.Log.Run(beatCtx) }) // its error comes again with the checkpoint
	err := s.upToLoaded(ctx, beatCtx, &background)
	if err != nil {
		s.say(line{Phase: "error", Error: err.Error()})
	}
	stopBeating()
	background.Wait()
	s.say(line{Phase: "teardown"})
	// Not ctx: what ended the run must not end the cleaning up.
	downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), TeardownTimeout)
	defer cancel()
	err = errors.Join(err, s.engine.Teardown(downCtx))
	s.say(line{Phase: "done"})
	return err
}

func (s *Session) upToLoaded(ctx, beatCtx context.Context, background *sync.WaitGroup) error {
	s.say(line{Phase: "prepare"})
	if err := s.engine.Prepare(ctx); err != nil {
		return err
	}
	background.Go(func() { s.engine.Heartbeat(beatCtx) })
	if err := s.s.Log.Checkpoint(); err != nil {
		return err
	}
	s.say(line{Phase: "ready"})
	if !s.s.Wait {
		return s.load(ctx, nil, "")
	}
	in := newLines(s.s.In)
	goAhead, err := in.next(ctx)
	if err != nil {
		return err
	}
	loadCtx, release := in.whileOpen(ctx)
	err = s.load(loadCtx, in, goAhead)
	if cause := context.Cause(loadCtx); err != nil && cause != nil {
		err = cause
	}
	release()
	if err != nil {
		return err
	}
	// The end of standard input is as good as a line now: the load is over.
	last, err := in.next(ctx)
	if e, ok := s.engine.(interface{ Inherit() }); ok && last == LineInherit {
		e.Inherit()
	}
	if errors.Is(err, ErrAborted) {
		return nil
	}
	return err
}

// load sends warm-up and load; in is nil unless it is to wait between them.
func (s *Session) load(ctx context.Context, in *lines, goAhead string) (err error) {
	if s.cfg.Warmup.Operations > 0 {
		if goAhead, err = s.warmUp(ctx, in); err != nil {
			return err
		}
	}
	if at, err := strconv.ParseInt(strings.TrimPrefix(goAhead, "go "), 10, 64); err == nil {
		if err := lifecycle.Pause(ctx, time.Until(time.Unix(0, at))); err != nil {
			return err
		}
	}
	var reporter sync.WaitGroup
	loading, loaded := context.WithCancel(context.WithoutCancel(ctx))
	defer loaded()
	stats, err := s.engine.Load(ctx, func(int64) {
		s.progress()
		if !s.s.Quiet {
			reporter.Go(func() {
				for lifecycle.Pause(loading, progressEvery) == nil {
					s.progress()
				}
			})
		}
	})
	loaded()
	reporter.Wait()
	if logErr := s.s.Log.Checkpoint(); err == nil {
		err = logErr
	}
	s.say(line{Phase: "loaded", Incomplete: err != nil, Stats: &stats})
	return err
}

// warmUp returns the go-ahead for the load.
func (s *Session) warmUp(ctx context.Context, in *lines) (string, error) {
	s.say(line{Phase: "warmup"})
	if err := s.engine.Warmup(ctx); err != nil {
		return "", err
	}
	if err := s.s.Log.Checkpoint(); err != nil {
		return "", err
	}
	s.say(line{Phase: "warmed"})
	if in == nil {
		return "", nil
	}
	return in.next(ctx)
}

func (s *Session) progress() {
	p := s.engine.Progress()
	s.say(line{Phase: "load", Stats: &p})
}

func (s *Session) say(l line) {
	s.out.Lock()
	defer s.out.Unlock()
	if err := s.enc.Encode(l); err != nil && s.s.Logger != nil {
		s.s.Logger.Warn("cannot report the phase", "err", err)
	}
}
