package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Settings of an Engine, besides the source.
type Settings struct {
	Server  *apisim.Server // serves the source's resources
	Log     churn.Recorder
	Speed   units.Speed
	Planned int64 // events of the source; 0: not known. A Counter knows its number
}

// Engine plays one source once. Its methods are called in the order that churn.Driven gives; Progress may be called at
// any time.
type Engine struct {
	source Source
	s      Settings
	start  time.Time // with base: a clock that never steps
	base   int64

	mu    sync.Mutex // guards stats
	stats churn.Stats
}

var _ churn.Driven = (*Engine)(nil)

// paceEvery is after how many events of a resource an unlimited play waits for its watches, paceBehind how far they may
// be behind then: well inside the smallest window of a server.
const (
	paceEvery  = 200
	paceBehind = 1000
)

// New prepares a play; nothing happens before Prepare.
func New(source Source, s Settings) *Engine {
	now := time.Now()
	e := &Engine{source: source, s: s, start: now, base: now.UnixNano(), stats: churn.Stats{Planned: s.Planned}}
	if c, ok := source.(Counter); ok {
		e.stats.Planned = c.Planned()
	}
	return e
}

func (e *Engine) now() int64 { return e.base + int64(time.Since(e.start)) }

func (e *Engine) atOnce(time.Duration) int64 { return e.now() }

func (e *Engine) stamp(intended func(time.Duration) int64) {
	if s, ok := e.source.(Stamper); ok {
		s.Stamp(intended)
	}
}

// Prepare makes the state before the first event.
func (e *Engine) Prepare(ctx context.Context) error {
	e.stamp(e.atOnce)
	if err := e.play(ctx, e.source.Initial(), nil); err != nil {
		return fmt.Errorf("making the first state: %w", err)
	}
	return nil
}

// Heartbeat does nothing: nobody looks after simulated nodes.
func (e *Engine) Heartbeat(context.Context) {}

// Teardown does nothing: what is simulated ends with its process.
func (e *Engine) Teardown(context.Context) error { return nil }

// Warmup plays the source's warm-up as fast as the watches take it.
func (e *Engine) Warmup(ctx context.Context) error {
	w, ok := e.source.(Warmer)
	if !ok {
		return nil
	}
	e.stamp(e.atOnce)
	if err := e.play(ctx, w.Warmup(), nil); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	return nil
}

// Load plays the events and reports on it; see churn.Engine.
func (e *Engine) Load(ctx context.Context, begun func(started int64)) (churn.Stats, error) {
	start := e.now()
	e.change(func(s *churn.Stats) { s.Started = start })
	if begun != nil {
		begun(start)
	}
	at := func(at time.Duration) int64 { return start + int64(e.s.Speed.Length(at)) }
	if !e.s.Speed.Limited() {
		at = e.atOnce
	}
	e.stamp(at)
	err := e.play(ctx, e.source.Events(), at)
	e.change(func(s *churn.Stats) { s.Finished = e.now() })
	if err != nil {
		err = fmt.Errorf("playing the events: %w", err)
	}
	return e.Progress(), err
}

// play makes the events happen: at their times, or as fast as the watches read if at is nil or the speed unlimited.
func (e *Engine) play(ctx context.Context, events iter.Seq2[Event, error], at func(time.Duration) int64) error {
	paced := at == nil || !e.s.Speed.Limited()
	played := map[string]int{} // by resource
	for ev, err := range events {
		if err != nil {
			return err
		}
		intended := ev.Op.Intended
		switch {
		case intended != 0:
		case at != nil:
			intended = at(ev.At)
		default:
			intended = e.now()
		}
		if wait := intended - e.now(); wait > 0 && !paced {
			if err := lifecycle.Pause(ctx, time.Duration(wait)); err != nil {
				return err
			}
		}
		if played[ev.Resource]++; played[ev.Resource]%paceEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if paced {
				if err := e.s.Server.AwaitReaders(ctx, ev.Resource, paceBehind); err != nil {
					return err
				}
			}
		}
		e.apply(ev, intended)
	}
	return nil
}

func (e *Engine) apply(ev Event, intended int64) {
	r := ev.Op
	r.Intended, r.Started = intended, e.now()
	var c apisim.Object
	var err error
	if ev.Type == Deleted {
		c, err = e.s.Server.Delete(ev.Resource, ev.Namespace, ev.Name)
		r.ResourceVersion, r.DeletedVersion = c.Before, c.ResourceVersion
	} else {
		c, err = e.s.Server.Apply(ev.Resource, ev.Object)
		r.ResourceVersion = c.ResourceVersion
	}
	r.UID, r.Status, r.Finished = c.UID, http.StatusOK, e.now()
	if err != nil {
		r.Status, r.Error = http.StatusUnprocessableEntity, err.Error()
		if errors.Is(err, apisim.ErrNotFound) {
			r.Status = http.StatusNotFound
		}
	}
	e.s.Log.Append(r)
	if r.Phase == oplog.PhaseLoad && !r.Bystander {
		e.change(func(s *churn.Stats) {
			if err == nil {
				s.Done++
				return
			}
			s.Errors, s.Abandoned, s.FirstError = s.Errors+1, s.Abandoned+1, cmp.Or(s.FirstError, err.Error())
		})
	}
}

func (e *Engine) change(do func(*churn.Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do(&e.stats)
}

// Progress is the account of the load so far.
func (e *Engine) Progress() churn.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	if s.Planned > 0 {
		s.Fraction = min(float64(s.Done)/float64(s.Planned), 1)
	}
	return s
}
