package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/record"
	"github.com/watchbench/watchbench/loadgen/replay"
)

type replayFlags struct {
	plan, listen, kubeconfig, oplog string
	speed                           units.Speed
	await                           int
	end, quiet                      bool
}

func replayCommand() *cobra.Command {
	f := replayFlags{speed: 1}
	cmd := &cobra.Command{
		Use:   "replay FILE | replay --plan PLAN",
		Short: "Play a recorded trace or a plan into a simulated API server",
		Long: `Play a trace of watchbench record, or the plan of a load, into a simulated apiserver
(docs/record.md). --kubeconfig writes a kubeconfig for watchers, informers and kubectl. It
serves plain HTTP and takes no writes.

After the last event it serves the final state until interrupted, unless --exit is given.`,
		Example: `  watchbench replay trace.zst --speed 10x --kubeconfig replay.kubeconfig
  watchbench replay --plan plan.yaml --speed unlimited --await 1 --kubeconfig kc`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.plan != "" {
				return needArgs(0, 0, "no trace beside --plan")(cmd, args)
			}
			return needArgs(1, 1, "a trace, or --plan")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.replay(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.plan, "plan", "", "plan file (YAML) instead of a trace; its load must be open")
	fl.Var(&f.speed, "speed", "how fast to play: 0.1x to 1000x, or unlimited, which is as fast as the watches read")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "address of the simulated apiserver")
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "file to write its kubeconfig to (default: none is written)")
	fl.StringVar(&f.oplog, "oplog", "",
		"file to write each operation and its time to, as zstd-compressed NDJSON (default: none is written)")
	fl.IntVar(&f.await, "await", 0, "begin once this many watches are open (default: at once)")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	fl.BoolVar(&f.end, "exit", false, "exit when the watches have read the last event")
	return cmd
}

type noLog struct{}

func (noLog) Append(oplog.Record) {}

func (f *replayFlags) replay(cmd *cobra.Command, args []string) (err error) {
	if f.await < 0 {
		return badinput.New("use 0 or more", "--await %d is negative", f.await)
	}
	if err := userfile.CheckOutputs(replay.KubeconfigOutput("--kubeconfig", f.kubeconfig),
		oplog.Output("--oplog", f.oplog)); err != nil {
		return &badinput.Error{What: err.Error()}
	}
	source, done, err := f.source(args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	server, err := replay.Listen(f.listen, apisim.Config{Resources: source.Resources(), Seed: 1})
	if err != nil {
		return &badinput.Error{What: err.Error(), Remedy: "use an address of this machine that is free, such as 127.0.0.1:0"}
	}
	warnRemote(cmd, server.Remote(), "--listen", f.listen)
	if f.kubeconfig != "" {
		if err := server.WriteKubeconfig(f.kubeconfig); err != nil {
			return &badinput.Error{What: "--kubeconfig " + f.kubeconfig + ": " + err.Error(),
				Remedy: "name a file that can be written"}
		}
	}
	settings := replay.Settings{Server: server.API, Speed: f.speed, Log: noLog{}}
	if f.oplog != "" {
		log, err := oplog.Create(f.oplog)
		if err != nil {
			return &badinput.Error{What: "--oplog " + f.oplog + ": " + err.Error(), Remedy: "name a file that can be written"}
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		settings.Log = log
	}
	return serveWhile(cmd.Context(), server, func() error {
		return f.play(cmd, replay.New(source, settings), server, source.Resources())
	})
}

// serveWhile serves until do has ended.
func serveWhile(ctx context.Context, server *replay.Server, do func() error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var both errgroup.Group
	both.Go(func() error { return server.Run(serving) })
	both.Go(func() error {
		defer stop()
		return do()
	})
	return both.Wait()
}

// source opens what is to be played; done closes it.
func (f *replayFlags) source(args []string) (s replay.Source, done func() error, err error) {
	none := func() error { return nil }
	if f.plan == "" {
		t, err := replay.FromTrace(args[0])
		if err != nil {
			return nil, none, &badinput.Error{What: err.Error(), Remedy: "use a file of watchbench record"}
		}
		return t, t.Close, nil
	}
	var p *plan.Plan
	cfg, err := plan.ReadFile(f.plan)
	if err == nil {
		p, err = plan.New(cfg)
	}
	if err != nil {
		return nil, none, &badinput.Error{What: err.Error(), Remedy: "see docs/load.md"}
	}
	if s, err = replay.FromPlan(p); err != nil {
		return nil, none, &badinput.Error{What: f.plan + ": " + err.Error(), Remedy: "see docs/load.md"}
	}
	return s, none, nil
}

const watchPoll = 20 * time.Millisecond

// play plays to the end and says what came of it.
func (f *replayFlags) play(cmd *cobra.Command, e *replay.Engine, server *replay.Server,
	resources []apisim.Resource) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := e.Prepare(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "serving on %s\n", server.URL())
	for server.API.Stats("").Open < f.await {
		if err := lifecycle.Pause(ctx, watchPoll); err != nil {
			return err
		}
	}
	stop := following(cmd, f.quiet, playing(time.Now(), e.Progress))
	stats, err := e.Load(ctx, nil)
	stop()
	if err != nil && !errors.Is(err, record.ErrTruncated) {
		return err
	}
	took := max(time.Duration(stats.Finished-stats.Started), 1).Seconds()
	fmt.Fprintf(out, "played %d events in %.1f s at speed %s: %.0f/s, %d impossible\n", stats.Done, took,
		f.speed, float64(stats.Done)/took, stats.Errors)
	if f.end {
		var unread error // something is not written to every watch
		for _, r := range resources {
			unread = cmp.Or(unread, server.API.AwaitReaders(ctx, r.Key(), 0))
		}
		return errors.Join(unread, err)
	}
	if err != nil { // the recording was killed: what there is of it is served
		fmt.Fprintf(cmd.ErrOrStderr(), "watchbench: %v\n", err)
	}
	<-ctx.Done()
	return nil
}
