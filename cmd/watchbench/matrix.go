package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type matrixFlags struct {
	runFlags
	profile string
	byHand  bool
}

func matrixCommand() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix [ROW|SCENARIO...]",
		Short: "Run the fault matrix: which guarantees hold under which faults",
		Long: `Run the fault matrix: every scenario below faults/ and regression/, or those of the
named rows (F2) or names (faults/f02-refuse), on one control plane. make robustness also
runs the Go tests of what only k8s-watch supports. Row F0 is run first where another row
is compared with it. The table is printed, and written as index.html (with a timeline of
each cell), matrix.md and matrix.json beside the runs' folders.

A scenario with an invalid cell is retried once if only timing checks failed; retries are
counted below the table.

Exit code 3 if an asserted cell fails; 5 if a scenario is inconclusive (a fault did not
fire or hit fewer than 3 objects, the load fell short, an asserted column could not be
judged), or if more than 2 scenarios were retried. With --profile legacy only the rows
that are expected to fail are run, and passing is an error.`,
		Example: `  watchbench matrix
  watchbench matrix F2 F5 --profile legacy`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.matrix(cmd, args) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.profile, "profile", "default", "watcher profile: default or legacy")
	formatFlag(cmd, &f.format)
	fl.BoolVar(&f.byHand, "by-hand", false, "also include the long scenarios (hours)")
	return cmd
}

func (f *matrixFlags) matrix(cmd *cobra.Command, refs []string) (err error) {
	if f.profile != "default" && f.profile != "legacy" {
		return badinput.New("use default or legacy", "--profile %s is not known", f.profile)
	}
	if err := knownFormat(f.format); err != nil {
		return err
	}
	f.sets = append(f.sets, "watcher.profile="+f.profile)
	todo, rows, err := f.chosen(cmd, refs)
	if err != nil {
		return err
	}
	bins, err := binaries(todo)
	if err != nil {
		return err
	}
	on := controlPlane(todo)
	ctx := cmd.Context()
	dir, _, err := runner.MakeDir(f.out, "matrix-"+time.Now().Format("20060102-150405"))
	if err != nil {
		return err
	}
	progress := f.progress(cmd)
	up, err := f.up(ctx, on, filepath.Join(dir, "logs"), progress)
	if err != nil {
		_ = os.Remove(dir) // unless something was logged there
		return err
	}
	campaign := runner.Campaign{
		Scenarios: todo, Rows: rows, Profile: f.profile, Dir: dir, Report: progress.Line,
		Single: func(ctx context.Context, s runner.Scenario, baseline *result.Cell) (runner.Outcome, error) {
			return runner.Run(ctx, runner.Options{
				Scenario: s.File, Binaries: bins, Provider: s.File.Base().Cluster.Provider, OutDir: dir, Progress: f.progress(cmd),
				Command:  commandLine(),
				Baseline: baseline,
			}, up)
		},
	}
	m, err := campaign.Run(ctx)
	unwritten := render.WriteMatrixPage(dir, m)
	err = errors.Join(err, takeDown(ctx, up), unwritten, f.showMatrix(cmd, dir, m, unwritten == nil))
	if err != nil {
		return err
	}
	return matrixVerdict(m)
}

// controlPlane is the cluster of the scenarios; those with a simulated one bring it along.
func controlPlane(todo []runner.Scenario) spec.Cluster {
	for _, s := range todo {
		if on := s.File.Base().Cluster; on.Provider != spec.ProviderSimulated {
			return on
		}
	}
	return todo[0].File.Base().Cluster
}

func (f *matrixFlags) showMatrix(cmd *cobra.Command, dir string, m *result.Matrix, written bool) error {
	out := cmd.OutOrStdout()
	if f.format == jsonFormat {
		return result.EncodeJSON(out, m)
	}
	if err := render.DocumentTerminal(out, render.Matrix(m, ""), terminalOptions(out)); err != nil || !written {
		return err
	}
	_, err := fmt.Fprintf(out, "%.0f s, %s\n", m.Seconds, filepath.Join(relative(dir), "index.html"))
	return err
}

// chosen reads the scenarios to run. What is not run may not go with the flags, and need not.
func (f *matrixFlags) chosen(cmd *cobra.Command, refs []string) (todo []runner.Scenario, rows []string, err error) {
	var all []matrix.Scenario
	for _, name := range append(scenarios.FaultNames(), scenarios.RegressionNames()...) {
		_, file, err := parse(name)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, matrix.Scenario{Name: name, Fault: file.Base().Fault})
	}
	names, rows, err := matrix.Choose(all, matrix.Choice{Refs: refs, Legacy: f.profile == "legacy", Long: f.byHand})
	if err != nil {
		return nil, nil, &badinput.Error{What: err.Error()}
	}
	todo, err = f.read(cmd, names)
	return todo, rows, err
}
