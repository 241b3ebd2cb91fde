package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/kubefile"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/churn/session"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is bad input: a flag, the plan or the kubeconfig.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

type options struct {
	plan, kubeconfig, context, oplog string
	remove                           string
	wait, quiet, check               bool
	teardownTimeout                  time.Duration
}

func command(s streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "churn --plan FILE --kubeconfig FILE --oplog FILE",
		Short: "Send the load of a plan to an apiserver and keep account of it",
		Long: `Send the load of a plan to an apiserver and keep account of it.

Phases are told as lines of JSON on standard output. Everything that is created
carries the label watchbench.dev/run=<runID> and is removed at the end, also after
an error or a signal.`,
		Version:       version.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return &usageError{fmt.Errorf("unexpected argument %q: everything is given by flags, see --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return execute(cmd, s, o) },
	}
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w, see --help", err)}
	})
	f := cmd.Flags()
	f.StringVar(&o.plan, "plan", "", "plan file (YAML)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig; default: its current one")
	f.StringVar(&o.oplog, "oplog", "", "where to write the op log (zstd-compressed NDJSON)")
	f.BoolVar(&o.wait, "wait", false, "wait for a line on standard input before the load, and for another before the teardown")
	f.BoolVar(&o.quiet, "quiet", false, "tell phases only, no progress")
	f.BoolVar(&o.check, "check", false, "only check the plan file")
	f.StringVar(&o.remove, "remove", "", "only remove what the run with this id left behind; needs --kubeconfig")
	f.DurationVar(&o.teardownTimeout, "teardown-timeout", session.DefaultTeardownTimeout, "how long the removal of what was created may take")
	return cmd
}

func execute(cmd *cobra.Command, s streams, o options) (err error) {
	needed := []struct{ name, value string }{{"plan", o.plan}, {"kubeconfig", o.kubeconfig}, {"oplog", o.oplog}}
	switch {
	case o.check:
		needed = needed[:1]
	case o.remove != "":
		needed = needed[1:2]
	}
	for _, flag := range needed {
		if flag.value == "" {
			return &usageError{fmt.Errorf("--%s is missing, see --help", flag.name)}
		}
	}
	if o.teardownTimeout <= 0 {
		return &usageError{fmt.Errorf("--teardown-timeout %s: use a time above 0s", o.teardownTimeout)}
	}
	if o.remove != "" {
		return remove(cmd, s, o)
	}
	cfg, err := plan.ReadFile(o.plan)
	if err != nil {
		return &usageError{err}
	}
	p, err := plan.New(cfg)
	if err != nil {
		return &usageError{err}
	}
	if o.check {
		return nil
	}
	restConfig, err := kubefile.Read(o.kubeconfig, o.context)
	if err != nil {
		return &usageError{err}
	}
	log, err := oplog.Create(o.oplog)
	if err != nil {
		return &usageError{err}
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	logger := slog.New(slog.NewTextHandler(s.err, nil))
	engine, err := churn.New(p, churn.Settings{REST: restConfig, Log: log, Logger: logger})
	if err != nil {
		return err
	}
	defer engine.Close()
	return session.New(engine, cfg, session.Settings{
		Out: s.out, Wait: o.wait, In: s.in, Quiet: o.quiet, TeardownTimeout: o.teardownTimeout, Log: log, Logger: logger,
	}).Run(cmd.Context())
}

func remove(cmd *cobra.Command, s streams, o options) error {
	cfg, err := kubefile.Read(o.kubeconfig, o.context)
	if err != nil {
		return &usageError{err}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.teardownTimeout)
	defer cancel()
	n, err := churn.Remove(ctx, cfg, o.remove)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "removed %d namespaces, nodes and leases of run %s\n", n, o.remove)
	return err
}
