package party

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
)

// Witness is the process that records what happens to a cluster's objects, whoever writes
// them.
type Witness struct{ *Process }

// WitnessSetup configures a witness.
type WitnessSetup struct {
	Bin, Logs, Cell string // program, folder of logs, folder of the cell
	Kubeconfig      string // of the apiserver itself
	Kinds           []string
	Ignore          []string // namespaces
}

// witnessGrace is the time a witness gets for its last lists.
const witnessGrace = time.Minute

// StartWitness returns once it has listed everything and watches.
func StartWitness(ctx context.Context, s WitnessSetup) (*Witness, error) {
	argv := []string{s.Bin, "witness", "--kubeconfig", s.Kubeconfig, "--oplog", filepath.Join(s.Cell, history.FileWitness)}
	for _, k := range s.Kinds {
		argv = append(argv, "--kind", k+"="+kindGroups[k]+"/"+resources[k])
	}
	for _, ns := range s.Ignore {
		argv = append(argv, "--ignore-namespace", ns)
	}
	var ready atomic.Bool
	p, err := start(child{name: "witness", argv: argv, logs: s.Logs, lines: func(line []byte) {
		if bytes.Contains(line, []byte(`"ready"`)) {
			ready.Store(true)
		}
	}})
	if err != nil {
		return nil, err
	}
	err = p.Await(ctx, "the witness's first lists", 10*time.Millisecond, PrepareLimit,
		func(context.Context) bool { return ready.Load() })
	if err != nil {
		p.Kill()
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
