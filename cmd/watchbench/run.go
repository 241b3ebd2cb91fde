package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type runFlags struct {
	provider       string
	cluster        cluster.Options
	out            string
	sets           []string
	repeat         int
	seed           uint64
	watcherCommand string
	format         string
	quiet          bool
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO...",
		Short: "Run scenarios and write their results and reports",
		Long: `Run scenarios, by the name of a shipped one or the path of a file, and write their
results and reports to a folder each. See watchbench scenarios list.`,
		Example: `  watchbench run smoke
  watchbench run strategies --set matrix.watcher.strategy=keyed,dedup --repeat 3
  watchbench run ./mine.yaml --cluster kubeconfig --kubeconfig ~/.kube/config --context test`,
		Args: needArgs(1, -1, "at least one scenario"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.provider, "cluster", "", "embedded, kind or kubeconfig (default: the scenario's, else embedded)")
	fl.StringVar(&f.cluster.Kubeconfig.Path, "kubeconfig", "", "kubeconfig: the file")
	fl.StringVar(&f.cluster.Kubeconfig.Context, "context", "", "kubeconfig: the context, which must be named")
	fl.StringVar(&f.cluster.Kind.Name, "kind-name", "", "kind: name of the cluster (default watchbench)")
	fl.StringVar(&f.cluster.Kind.Image, "kind-image", "", "kind: node image (default: kindest/node in the version our client is made for)")
	fl.BoolVar(&f.cluster.Kind.Reuse, "kind-reuse", false, "kind: use a running cluster of that name and leave it")
	fl.BoolVar(&f.cluster.Kind.Keep, "kind-keep", false, "kind: leave the cluster that was created")
	fl.StringVar(&f.out, "out", "out", "folder for the runs' folders")
	fl.StringArrayVar(&f.sets, "set", nil, "override a field, path=value, or choose points, matrix.axis=a,b")
	fl.IntVar(&f.repeat, "repeat", 0, "how often every cell is run (default: the scenario's)")
	fl.Uint64Var(&f.seed, "seed", 0, "of plan, latency and order (default: the scenario's)")
	fl.StringVar(&f.watcherCommand, "watcher-command", "", "another watcher; {config} stands for the path of its config file")
	fl.StringVar(&f.format, "format", "table", "what to print at the end: table or json")
	fl.BoolVar(&f.quiet, "quiet", false, "no progress")
	return cmd
}

// planned is a scenario that was read and can be run.
type planned struct {
	name string
	file *spec.File
}

func (f *runFlags) run(cmd *cobra.Command, refs []string) error {
	if f.format != "table" && f.format != "json" {
		return usage{fmt.Errorf("--format %s is not known; use table or json", f.format)}
	}
	// All input is read before anything is started.
	var todo []planned
	for _, ref := range refs {
		file, err := f.read(cmd, ref)
		if err != nil {
			return err
		}
		todo = append(todo, planned{ref, file})
	}
	bins, err := runner.FindBinaries()
	if err != nil {
		return err
	}
	var worst error
	for _, p := range todo {
		res, err := f.one(cmd, p, bins)
		if err != nil {
			return err
		}
		worst = worse(worst, judgement(res))
	}
	return worst
}

func (f *runFlags) read(cmd *cobra.Command, ref string) (*spec.File, error) {
	name, data, err := scenarios.Read(ref)
	if err != nil {
		return nil, err
	}
	sets := append([]string(nil), f.sets...)
	for _, short := range []struct{ flag, set string }{
		{"cluster", "cluster.provider=" + f.provider}, {"repeat", fmt.Sprintf("repeat=%d", f.repeat)},
		{"seed", fmt.Sprintf("seed=%d", f.seed)}, {"watcher-command", "watcher.command=" + quote(f.watcherCommand)},
	} {
		if cmd.Flags().Changed(short.flag) {
			sets = append(sets, short.set)
		}
	}
	return spec.Parse(name, data, sets...)
}

// quote makes a text one YAML word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (f *runFlags) one(cmd *cobra.Command, p planned, bins runner.Binaries) (*result.Results, error) {
	ctx := cmd.Context()
	provider := p.file.Base().Cluster.Provider
	newProvider := func(logs string) (cluster.Provider, error) {
		opts := f.cluster
		opts.Embedded.Logs = logs
		return cluster.New(provider, opts)
	}
	var progress *runner.Progress
	if !f.quiet {
		progress = runner.NewProgress(cmd.ErrOrStderr(), isTerminal(cmd.ErrOrStderr()))
	}
	out, err := runner.Run(ctx, runner.Options{
		Scenario: p.file, Name: p.name, Binaries: bins, NewProvider: newProvider, ProviderName: provider,
		OutDir: f.out, Progress: progress, Command: os.Args,
	})
	if out.Results == nil || len(out.Results.Cells) == 0 {
		return out.Results, err
	}
	// What was measured is shown, also after a failure or an interruption.
	return out.Results, errors.Join(err, f.show(ctx, cmd, out))
}

func (f *runFlags) show(_ context.Context, cmd *cobra.Command, out runner.Outcome) error {
	if err := render.All(out.Dir, out.Results); err != nil {
		return err
	}
	if f.format == "json" {
		return result.Encode(cmd.OutOrStdout(), out.Results)
	}
	if err := render.Terminal(cmd.OutOrStdout(), out.Results, terminalOptions(cmd.OutOrStdout())); err != nil {
		return err
	}
	dir := out.Dir
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, dir); err == nil {
			dir = rel
		}
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", filepath.Join(dir, "index.html"))
	return err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func terminalOptions(w io.Writer) render.TerminalOptions {
	if !isTerminal(w) {
		return render.TerminalOptions{}
	}
	o := render.TerminalOptions{Color: os.Getenv("NO_COLOR") == ""}
	if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
		o.Width = width
	}
	return o
}

// judgement is the verdict on a run, nil when all cells are valid and everything
// expected holds.
func judgement(res *result.Results) error {
	var failed, invalid []string
	for _, c := range res.Cells {
		for g, check := range c.Checks {
			if check.Verdict == result.Fail {
				failed = append(failed, c.ID+" "+g)
			}
		}
		if !c.Valid {
			invalid = append(invalid, c.ID)
		}
	}
	return firstVerdict(failed, invalid)
}
