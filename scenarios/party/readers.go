package party

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Readers are the process that reads from the watcher or the apiserver, and receives its
// notifications.
type Readers struct {
	*Process
	Listen []string // addresses of the receivers of webhooks

	mu   sync.Mutex      // guards what follows
	said map[string]bool // phases
}

// ReadersSetup is what readers are started with.
type ReadersSetup struct {
	Bin, Logs, Cell string // program, folder of logs, folder of the cell
	Config          readers.Config
	// Target is the kubeconfig of what is read from, which need not be there yet, Control
	// that of the apiserver.
	Target, Control string
}

const (
	// connectLimit bounds the first lists and the opening of all watches.
	connectLimit = time.Minute
	// haltLimit bounds the last answers, readersGrace what is still to come after the drain.
	haltLimit    = 30 * time.Second
	readersGrace = 30 * time.Second
)

// readersThere reports that the program has not been built.
func readersThere(bin string) error {
	if info, err := os.Stat(bin); err != nil || info.IsDir() {
		return &badinput.Error{What: bin + " is not there", Remedy: "run make build, which puts all programs into one folder"}
	}
	return nil
}

// StartReaders returns once the receivers listen.
func StartReaders(ctx context.Context, s ReadersSetup) (*Readers, error) {
	if err := readersThere(s.Bin); err != nil {
		return nil, err
	}
	config := filepath.Join(s.Cell, "readers.json")
	if err := writeJSON(config, s.Config); err != nil {
		return nil, err
	}
	r := &Readers{said: map[string]bool{}}
	argv := []string{s.Bin, "--config", config, "--kubeconfig", s.Target, "--control", s.Control, "--record", filepath.Join(s.Cell, history.FileReaders)}
	var err error
	if r.Process, err = start(child{name: "readers", argv: argv, logs: s.Logs, stdin: true, lines: r.take}); err != nil {
		return nil, err
	}
	if err := r.await(ctx, readers.Listening, startLimit); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}

func (r *Readers) take(line []byte) {
	var l struct {
		Phase  string
		Listen []string
	}
	if json.Unmarshal(line, &l) != nil || l.Phase == "" {
		return // not part of the protocol
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said[l.Phase] = true
	if l.Listen != nil {
		r.Listen = l.Listen
	}
}

func (r *Readers) await(ctx context.Context, phase string, limit time.Duration) error {
	return r.Await(ctx, "the readers' phase "+phase, 10*time.Millisecond, limit, func(context.Context) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.said[phase]
	})
}

// Connect has the readers list and open their watches, and returns once all are open.
func (r *Readers) Connect(ctx context.Context) error {
	if err := r.Tell(readers.Connect); err != nil {
		return err
	}
	return r.await(ctx, readers.Ready, connectLimit)
}

// Go begins with the queries and the faults of the receivers.
func (r *Readers) Go() error { return r.Tell(readers.Go) }

// Halt ends the queries and returns when the last is answered.
func (r *Readers) Halt(ctx context.Context) error {
	if err := r.Tell(readers.Stop); err != nil {
		return err
	}
	return r.await(ctx, readers.Stopped, haltLimit)
}

// End has the readers wait for what is still to come, and close their record.
func (r *Readers) End(ctx context.Context) error {
	if err := r.Tell(readers.Done); err != nil {
		return err
	}
	t := time.NewTimer(readersGrace)
	defer t.Stop()
	select {
	case <-r.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return &TimeoutError{What: "the end of the readers", After: readersGrace, Log: r.Log}
	}
	if code := r.ExitCode(); code != 0 {
		return fmt.Errorf("complete the readers' record: %w", r.Failure())
	}
	return nil
}
