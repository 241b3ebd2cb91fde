package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/replay"
)

// gcPercent bounds the memory of a large simulated cluster: its objects live long.
const gcPercent = 50

// churnSimulate plays the plan, or the trace that is named, into a simulated apiserver, which ends with the session.
func churnSimulate(cmd *cobra.Command, s streams, o churnOptions, p *plan.Plan) (err error) {
	settings := replay.Settings{Speed: o.speed}
	var source replay.Source
	var cfg plan.Config
	if p != nil {
		cfg = p.Config()
		source, err = replay.FromPlan(p)
	} else if settings.Planned, _, err = replay.Extent(o.trace); err == nil {
		var t *replay.TraceSource
		if t, err = replay.FromTrace(o.trace); err == nil {
			defer func() { err = errors.Join(err, t.Close()) }()
		}
		source = t
	}
	if err != nil {
		return badinput.Wrap(err)
	}
	debug.SetGCPercent(gcPercent)
	server, err := replay.Listen("127.0.0.1:0", apisim.Config{Resources: source.Resources(), Seed: cfg.Seed})
	if err != nil {
		return badinput.Wrap(err)
	}
	if err := server.WriteKubeconfig(o.simulate); err != nil {
		return badinput.Wrap(err)
	}
	log, err := oplog.Create(o.oplog)
	if err != nil {
		return badinput.Wrap(err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	settings.Server, settings.Log = server.API, log
	engine := replay.New(source, settings)
	return serveWhile(context.WithoutCancel(cmd.Context()), server, func() error {
		return churn.NewSession(engine, cfg, churn.SessionSettings{
			Out: s.out, Wait: o.wait, In: s.in, Log: log,
			Logger: slog.New(slog.NewTextHandler(s.err, nil)),
		}).Run(cmd.Context())
	})
}
