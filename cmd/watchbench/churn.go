package main

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/replay"
)

type churnOptions struct {
	plan, kubeconfig, context, oplog string
	trace, simulate                  string
	speed                            units.Speed
	wait                             bool
	shard                            plan.Shard
}

func churnCommand(s streams) *cobra.Command {
	var o churnOptions
	cmd := &cobra.Command{
		Use:   "churn --plan FILE --kubeconfig FILE --oplog FILE",
		Short: "Send the load of a plan to an apiserver and log every operation",
		Long: `Send the load of a plan to an apiserver and log every operation.

Phases are reported as lines of JSON on standard output. Everything that churn
creates carries the label watchbench.dev/run=<runID> and is removed at the end, also
after an error or a signal.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := churnExecute(cmd, s, o)
			if err != nil && cmd.Context().Err() != nil {
				return &terminal.Interrupted{Err: err}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.plan, "plan", "", "plan file (YAML)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig (default: its current context)")
	f.StringVar(&o.oplog, "oplog", "",
		"where to write the op log (zstd-compressed NDJSON); a file that is there must be one")
	f.BoolVar(&o.wait, "wait", false,
		"wait for a line on standard input before the load, one more after a warm-up, and another before the teardown")
	f.TextVar(&o.shard, "shard", plan.Whole, "send only this shard of the plan, such as 2/4; others send the rest")
	f.StringVar(&o.simulate, "simulate", "",
		"play the plan into an apiserver that is simulated in memory, and write its kubeconfig to this file")
	f.StringVar(&o.trace, "trace", "", "with --simulate: play this trace of watchbench record instead of a plan")
	f.Var(&o.speed, "speed", "with --simulate: 0.1x to 1000x, or unlimited: as fast as the watches read")
	return cmd
}

func churnExecute(cmd *cobra.Command, s streams, o churnOptions) (err error) {
	var p *plan.Plan
	if o.simulate == "" || o.trace == "" {
		cfg, err := plan.ReadFile(o.plan)
		if err == nil {
			p, err = plan.New(cfg)
		}
		if err != nil {
			return badinput.Wrap(err)
		}
	}
	if err := userfile.CheckOutputs(oplog.Output("--oplog", o.oplog),
		replay.KubeconfigOutput("--simulate", o.simulate)); err != nil {
		return badinput.Wrap(err)
	}
	if o.simulate != "" {
		if o.shard.Divides() {
			return badinput.New("leave --shard out", "--simulate: the simulated apiserver is in one process with its load")
		}
		return churnSimulate(cmd, s, o, p)
	}
	restConfig, err := kubeapi.ReadConfig(o.kubeconfig, o.context)
	if err != nil {
		return badinput.Wrap(err)
	}
	log, err := oplog.Create(o.oplog)
	if err != nil {
		return badinput.Wrap(err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	logger := slog.New(slog.NewTextHandler(s.err, nil))
	engine, err := churn.New(p.Part(o.shard), churn.Settings{REST: restConfig, Log: log, Logger: logger, Meet: !o.wait})
	if err != nil {
		return err
	}
	defer engine.Close()
	return churn.NewSession(engine, p.Config(), churn.SessionSettings{
		Out: s.out, Wait: o.wait, In: s.in, Log: log, Logger: logger,
	}).Run(cmd.Context())
}
