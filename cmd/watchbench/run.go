package main

import (
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
	"github.com/watchbench/watchbench/scenarios/campaign"
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
		Long: `Run scenarios, by shipped name or file path, and write the results and reports of each
to a folder of its own. watchbench scenarios list shows the shipped ones.`,
		Example: `  watchbench run smoke
  watchbench run strategies --set matrix.watcher.strategy=keyed,dedup --repeat 3
  watchbench run ./mine.yaml --cluster kubeconfig --kubeconfig ~/.kube/config --context test`,
		Args: needArgs(1, -1, "at least one scenario"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.cluster.Kind.Name, "kind-name", "", "kind: cluster name (default watchbench)")
	fl.StringVar(&f.cluster.Kind.Image, "kind-image", "", "kind: node image (default: kindest/node of our client's Kubernetes version)")
	fl.BoolVar(&f.cluster.Kind.Reuse, "kind-reuse", false, "kind: use a running cluster of that name and keep it")
	fl.BoolVar(&f.cluster.Kind.Keep, "kind-keep", false, "kind: keep the cluster that was created")
	fl.IntVar(&f.repeat, "repeat", 0, "how often to run every cell (default: the scenario's)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed for the plan, latency and cell order (default: the scenario's)")
	fl.StringVar(&f.format, "format", "table", "what to print at the end: table or json")
	return cmd
}

const setUsage = "override a field (path=value), or choose matrix points (matrix.axis=a,b)"

// common adds the flags of every command that runs scenarios.
func (f *runFlags) common(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.provider, "cluster", "", "embedded, kind or kubeconfig (default: embedded, or the scenario's in watchbench run)")
	fl.StringVar(&f.cluster.Kubeconfig.Path, "kubeconfig", "", "kubeconfig: path of the file")
	fl.StringVar(&f.cluster.Kubeconfig.Context, "context", "", "kubeconfig: context to use (required)")
	fl.StringVar(&f.out, "out", "out", "folder in which each run gets its own")
	fl.StringArrayVar(&f.sets, "set", nil, setUsage)
	fl.StringVar(&f.watcherCommand, "watcher-command", "", "command of another watcher; {config} stands for the path of its config file")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

// newProvider makes the chosen provider, whose parties log to a folder.
func (f *runFlags) newProvider(name, logs string) (cluster.Provider, error) {
	opts := f.cluster
	opts.Embedded.Logs = logs
	return cluster.New(name, opts)
}

// progress shows a run on standard error; nil shows nothing.
func (f *runFlags) progress(cmd *cobra.Command) *runner.Progress {
	if f.quiet {
		return nil
	}
	return runner.NewProgress(cmd.ErrOrStderr(), isTerminal(cmd.ErrOrStderr()))
}

// reporter prints lines of progress to standard error.
func (f *runFlags) reporter(cmd *cobra.Command) func(string, ...any) {
	return func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
		}
	}
}

func (f *runFlags) run(cmd *cobra.Command, refs []string) error {
	if f.format != "table" && f.format != "json" {
		return usage{fmt.Errorf("--format %s is not known; use table or json", f.format)}
	}
	// Read all input before starting anything.
	var todo []campaign.Scenario
	for _, ref := range refs {
		file, err := f.read(cmd, ref)
		if err != nil {
			return err
		}
		todo = append(todo, campaign.Scenario{Name: ref, File: file})
	}
	bins, err := runner.FindBinaries()
	if err != nil {
		return err
	}
	var worst error
	for _, s := range todo {
		res, err := f.one(cmd, s, bins)
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

// quote makes a text a YAML scalar.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (f *runFlags) one(cmd *cobra.Command, s campaign.Scenario, bins runner.Binaries) (*result.Results, error) {
	provider := s.File.Base().Cluster.Provider
	out, err := runner.Run(cmd.Context(), runner.Options{
		Scenario: s.File, Name: s.Name, Binaries: bins, ProviderName: provider, OutDir: f.out, Progress: f.progress(cmd), Command: os.Args,
		NewProvider: func(logs string) (cluster.Provider, error) { return f.newProvider(provider, logs) },
	})
	if out.Results == nil || len(out.Results.Cells) == 0 {
		return out.Results, err
	}
	// Show what was measured, even after a failure or an interruption.
	return out.Results, errors.Join(err, f.show(cmd, out))
}

func (f *runFlags) show(cmd *cobra.Command, out runner.Outcome) error {
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
