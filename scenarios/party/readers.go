package party

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/loadgen/record"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Readers are the process that reads and receives notifications; nil goes through the phases at once.
type Readers struct {
	*Process
	Listen []string // addresses of the receivers of webhooks
}

const (
	// connectLimit bounds the first lists and the opening of all watches.
	connectLimit = time.Minute
	// haltLimit bounds the last answers, and readersGrace what is still to come after the drain.
	haltLimit    = 30 * time.Second
	readersGrace = 30 * time.Second
)

// Bench says where watchbench is, which is several of the processes of a cell, and where they write.
type Bench struct {
	Bin, Logs, Cell string // watchbench, folder of logs, folder of the cell
}

// child is the process of that name, whose configuration is kept as a file.
func (b Bench) child(name string, cfg any) (child, error) {
	path := filepath.Join(b.Cell, name+".json")
	return child{name: name, argv: []string{b.Bin, name, path}, logs: b.Logs}, writeJSON(path, cfg)
}

// StartReaders returns once the readers listen.
func StartReaders(ctx context.Context, b Bench, cfg readers.Config) (*Readers, error) {
	cfg.Record = filepath.Join(b.Cell, history.FileReaders)
	c, err := b.child("readers", cfg)
	if err != nil {
		return nil, err
	}
	c.stdin = true
	var said readers.Said
	p, err := begin(ctx, c, readers.Listening, startLimit, &said)
	if err != nil {
		return nil, err
	}
	return &Readers{p, said.Listen}, nil
}

// step asks for a phase and awaits the one that ends it, if one does.
func (r *Readers) step(ctx context.Context, ask, answer string, limit time.Duration) error {
	if r == nil {
		return nil
	}
	if err := r.Tell(ask); err != nil || answer == "" {
		return err
	}
	return r.reach(ctx, answer, limit, nil)
}

// Connect has the readers list and open their watches, and returns once all are open.
func (r *Readers) Connect(ctx context.Context) error {
	return r.step(ctx, readers.Connect, readers.Ready, connectLimit)
}

// Go begins with the queries.
func (r *Readers) Go(ctx context.Context) error { return r.step(ctx, readers.Go, "", 0) }

// Halt ends the queries and returns when the last is answered.
func (r *Readers) Halt(ctx context.Context) error {
	return r.step(ctx, readers.Stop, readers.Stopped, haltLimit)
}

// End has the readers wait for what is still to come, and close their record.
func (r *Readers) End(ctx context.Context) error {
	if err := r.step(ctx, readers.Done, "", 0); r == nil || err != nil {
		return err
	}
	switch ended := r.ends(ctx, readersGrace); {
	case ended && r.ExitCode() != 0:
		return fmt.Errorf("complete the readers' record: %w", r.Failure())
	case !ended && ctx.Err() == nil:
		return &TimeoutError{What: "the end of the readers", After: readersGrace, Log: r.Log}
	}
	return context.Cause(ctx)
}

// Witness is the process that records what happens to a cluster's objects, whoever writes them.
type Witness struct{ *Process }

// witnessGrace is the time a witness gets for its last lists.
const witnessGrace = time.Minute

// StartWitness returns once it has listed everything and watches.
func StartWitness(ctx context.Context, b Bench, kubeconfig string, watched, ignore []string) (*Witness, error) {
	cfg := record.WitnessConfig{Kubeconfig: kubeconfig, OpLog: filepath.Join(b.Cell, history.FileWitness),
		IgnoreNamespaces: ignore}
	for _, k := range watched {
		cfg.Kinds = append(cfg.Kinds, record.Resource{Group: kinds[k].Group, Version: "v1", Name: kinds[k].Name, Kind: k})
	}
	c, err := b.child("witness", cfg)
	if err != nil {
		return nil, err
	}
	p, err := begin(ctx, c, readers.Ready, PrepareLimit, nil)
	if err != nil {
		return nil, err
	}
	return &Witness{p}, nil
}

// End has it list everything once more and close its record.
func (w *Witness) End() error {
	if w.Ended() && w.terminated.Load() {
		return nil
	}
	w.Stop(witnessGrace)
	if code := w.ExitCode(); code != 0 {
		return fmt.Errorf("complete the witness's record: %w", w.Failure())
	}
	return nil
}
