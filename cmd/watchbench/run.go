package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type runFlags struct {
	provider       string
	borrowed       *cluster.Cluster // with --cluster running, once the scenarios are read
	cluster        cluster.Options
	out            string
	sets           []string
	repeat         int
	seed           uint64
	watcherCommand string
	name           string
	format         string
	explain        bool
	budget         time.Duration
	resume         string
	dryRun         bool
	quiet          bool
	live           string
	page           *livePage // with --live
	podFlags       podFlags
	pods           *runner.InCluster // with --in-cluster

	// apart are flags that have a meaning of their own in a command: they do not override the scenario's field.
	apart []string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO... | run --resume DIR",
		Short: "Run scenarios, and write their results and reports",
		Long: `Run scenarios, by shipped name or file path, and write the results and reports of each
to a folder of its own. watchbench scenarios list shows the shipped ones. All scenarios are
validated before anything is started.

--resume completes a run that was interrupted or killed, or has invalid cells: it runs only
what is missing or invalid, with the scenario and the flags of the run, and merges. An
invalid cell that violates a guarantee is kept.`,
		Example: `  watchbench run smoke
  watchbench run strategies --set matrix.watcher.strategy=keyed,dedup --repeat 3
  watchbench run --resume out/smoke-20260102-150405
  watchbench run ./mine.yaml --kubeconfig ~/.kube/config --context test
  watchbench run smoke --cluster kind --in-cluster`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.resume == "" {
				return needArgs(1, -1, "at least one scenario")(cmd, args)
			}
			return needArgs(0, 1, "at most one scenario with --resume")(cmd, args)
		},

		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.IntVar(&f.repeat, "repeat", 0, "how often to run each cell (default: the scenario's)")
	fl.DurationVar(&f.budget, "budget", 0,
		"how long to repeat the cells of a scenario that decides (default: the scenario's)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed for the plan, latency and cell order (default: the scenario's)")
	fl.StringVar(&f.name, "name", "",
		"what reports call the watcher (default: its strategy, or the words of --watcher-command)")
	fl.StringVar(&f.resume, "resume", "", "folder of an earlier run: run only its cells that are invalid or missing")
	fl.BoolVar(&f.dryRun, "dry-run", false,
		"print what would be run, in which order and about how long, and start nothing")
	fl.StringVar(&f.format, "format", "table", "what to print at the end: table, or json, a document per scenario")
	fl.StringVar(&f.live, "live", "",
		"serve a live page of the run at this address (:0 is any free port of the loopback address)")
	fl.BoolVar(&f.explain, "explain", false, explainUsage)
	f.podFlags.flags(cmd)
	return cmd
}

const explainUsage = "first print how and where the figures were measured"

const setUsage = "override a field (path=value), or choose matrix points (matrix.axis=a,b) or set a field of one " +
	"(matrix.axis.point.field=value)"

func (f *runFlags) common(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.onCluster(cmd)
	fl.StringVar(&f.watcherCommand, "watcher-command", "",
		"command of another watcher; {config} is replaced by the path of its config file")
	fl.StringVar(&f.out, "out", "out", "folder in which each run gets a folder of its own")
	fl.StringArrayVar(&f.sets, "set", nil, setUsage)
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

// up brings the cluster of a scenario up, whose parties log to a folder, or takes the one that is up.
func (f *runFlags) up(
	ctx context.Context, c spec.Cluster, logs string, p *runner.Progress,
) (*cluster.Cluster, error) {
	if f.borrowed != nil {
		p.Line("using the " + c.Provider + " cluster that is up, with kube-apiserver " + f.borrowed.Version)
		return f.borrowed, nil
	}
	opts := f.cluster
	opts.FSync, opts.Embedded.Logs, opts.Embedded.Controllers = c.FSync, logs, c.Controllers
	opts.Embedded.Gates = c.Gates
	provider, err := cluster.New(c.Provider, opts)
	if err != nil {
		return nil, err
	}
	up, err := provider.Up(ctx, p.Line)
	if err != nil {
		return nil, fmt.Errorf("bring the cluster up: %w", err)
	}
	return up, nil
}

func (f *runFlags) progress(cmd *cobra.Command) *runner.Progress {
	if f.quiet {
		return nil
	}
	return runner.NewProgress(screen(cmd))
}

func (f *runFlags) run(cmd *cobra.Command, refs []string) (err error) {
	if err := knownFormat(f.format); err != nil {
		return err
	}
	var todo []runner.Scenario
	if f.resume != "" {
		todo, err = f.readResumed(cmd, refs)
	} else {
		todo, err = f.read(cmd, refs)
	}
	if err != nil {
		return err
	}
	if err := f.inCluster(cmd.Flags(), todo); err != nil {
		return err
	}
	if f.podFlags.rbac {
		return f.printRBAC(cmd, todo)
	}
	if f.dryRun {
		return f.plan(cmd, todo)
	}
	bins, err := binaries(todo)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("live") {
		if f.page, err = openLive(cmd, f.live); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.page.close()) }()
	}
	var worst error
	for _, s := range todo {
		res, err := f.one(cmd, s.File, bins)
		if err != nil {
			return err
		}
		worst = worse(worst, judgement(res))
	}
	return worst
}

// one runs a scenario and shows what was measured, even after a failure or an interruption.
func (f *runFlags) one(cmd *cobra.Command, file *spec.File, bins party.Binaries) (*result.Results, error) {
	f.page.begin(file.Base().Metadata.Name)
	out, err := f.execute(cmd, file, bins)
	if out.Results != nil && len(out.Results.Cells) > 0 {
		var unwritten error
		if !out.Nothing {
			unwritten = render.All(out.Dir, out.Results)
		}
		err = errors.Join(err, unwritten, f.show(cmd, out, unwritten == nil))
	}
	if out.Results != nil && runner.Resumable(out.Results) {
		fmt.Fprintf(cmd.ErrOrStderr(), "watchbench run --resume %s runs the cells that are missing or invalid\n",
			relative(out.Dir))
	}
	return out.Results, err
}

func (f *runFlags) execute(cmd *cobra.Command, file *spec.File, bins party.Binaries) (out runner.Outcome, err error) {
	ctx, on, progress := cmd.Context(), file.Base().Cluster, f.progress(cmd)
	r, err := f.runner(ctx, runner.Options{
		Scenario: file, Binaries: bins, Provider: on.Provider, OutDir: f.out, Progress: progress, Command: commandLine(),
		Observer: f.page.observer(), InCluster: f.pods,
	})
	if err != nil {
		return out, err
	}
	if len(r.Steps()) == 0 {
		r.Discard()
		progress.Line("nothing to resume: no cell is missing, or invalid without a violation or a crash")
		return r.Outcome(), nil
	}
	up, err := f.up(ctx, on, r.Logs(), progress)
	if err != nil {
		r.Discard()
		return out, err
	}
	defer func() { err = errors.Join(err, takeDown(ctx, up)) }()
	return r.Run(ctx, up)
}

func (f *runFlags) runner(ctx context.Context, opts runner.Options) (*runner.Runner, error) {
	if f.resume == "" {
		return runner.New(opts)
	}
	r, err := runner.Resume(ctx, opts, f.resume)
	if err != nil {
		return nil, err
	}
	for _, s := range r.Steps() {
		opts.Progress.Line(fmt.Sprintf("to be run: %s, %s", s.ID, s.Why))
	}
	return r, nil
}

// show prints the results, and where their page is if it was written.
func (f *runFlags) show(cmd *cobra.Command, out runner.Outcome, written bool) error {
	if f.format == "json" {
		return result.Encode(cmd.OutOrStdout(), out.Results)
	}
	o := terminalOptions(cmd.OutOrStdout())
	o.Explain = f.explain
	if err := render.Terminal(cmd.OutOrStdout(), out.Results, o); err != nil || !written {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", filepath.Join(relative(out.Dir), "index.html"))
	return err
}

func relative(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil {
			return rel
		}
	}
	return path
}

// screen is where a command shows how far it is: its standard error, which main makes one.
func screen(cmd *cobra.Command) *terminal.Screen {
	if s, ok := cmd.ErrOrStderr().(*terminal.Screen); ok {
		return s
	}
	return terminal.New(cmd.ErrOrStderr(), false, nil)
}

func terminalOptions(w io.Writer) (o render.TerminalOptions) {
	if f, ok := w.(*os.File); ok {
		o.Color, o.Width = terminal.Of(f)
	}
	return o
}
