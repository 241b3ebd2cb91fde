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

// Witness is the process that records what happens to a cluster's objects, whoever writes
// them.
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
