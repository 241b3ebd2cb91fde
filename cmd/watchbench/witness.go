package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/record"
)

var witnessCommand = partyCommand("witness",
	"Record every event of chosen kinds, straight from an apiserver", bearWitness)

// bearWitness says {"phase":"ready"} when it watches. SIGTERM ends it, after a last list of every kind.
func bearWitness(ctx context.Context, c record.WitnessConfig, s streams) (err error) {
	access, err := kubeapi.ReadConfig(c.Kubeconfig, "")
	if err != nil {
		return badinput.Wrap(err)
	}
	log, err := oplog.Create(c.OpLog)
	if err != nil {
		return badinput.Wrap(err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	w, err := record.NewWitness(c, access, log.Append, slog.New(slog.NewTextHandler(s.err, nil)))
	if err != nil {
		return err
	}
	// The log outlives the signal: what the last lists show belongs to it.
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var both errgroup.Group
	both.Go(func() error { return log.Run(writing) })
	both.Go(func() error {
		defer written()
		return w.Run(ctx, func() { _, _ = fmt.Fprintln(s.out, `{"phase":"ready"}`) })
	})
	return both.Wait()
}
