package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/reference"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// quick makes the run short: fewer rows, and drains that are cut. Load, threads and
// queues stay as published, and a storage rate that a backlog decides is known after seconds.
var quick = []string{"matrix.load=before-20,before-100,after-20,after-80", "drainTimeout=28s"}

// imitated leaves the points with the original's rules to --watcher-command.
var imitated = []string{
	"matrix.watcher.legacy-before.command=" + quote(spec.OpenCommand),
	"matrix.watcher.legacy-after.command=" + quote(spec.OpenCommand),
}

func referenceCommand() *cobra.Command {
	var f runFlags
	var short bool
	cmd := &cobra.Command{
		Use:   "reference",
		Short: "Measure the rows of the published tables, beside their figures",
		Long: `Run the scenario reference: the rows of the tables that the authors of bcs-k8s-watch
published, with k8s-watch and with its profile legacy (the original's rules), and compare
the results with the published figures: each row with its ratios, the storage rate after ÷
before, and a verdict on the shape. watchbench report DIR shows this again. The watcher of
--watcher-command, such as bcs-k8s-watch, runs in place of the profile.

The published drains add up to more than an hour for each watcher. --quick runs four rows
and cuts their drains after 28 s (projected drains are marked), in less than 10 minutes on
two cores.

Exit code 3 if a statement about the shape does not hold, or a check fails; 5 if the factor
after ÷ before could not be measured, or a cell is invalid.`,
		Example: `  watchbench reference --quick
  watchbench reference --quick --watcher-command 'bcs-k8s-watch -f {config}'
  watchbench reference --set matrix.load=before-20,after-20
  watchbench report out/reference-20260102-150405`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if short {
				f.sets = slices.Concat(quick, f.sets)
			}
			if f.watcherCommand != "" {
				f.sets = slices.Concat(imitated, f.sets)
			}
			return f.reference(cmd)
		},
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&short, "quick", false, "four of the rows, with drains cut after 28 s: less than 10 minutes on two cores")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what would be run, in which order, and about how long it takes")
	fl.BoolVar(&f.explain, "explain", false, explainUsage)
	return cmd
}

func (f *runFlags) reference(cmd *cobra.Command) error {
	todo, err := f.read(cmd, []string{reference.Scenario})
	if err != nil {
		return err
	}
	if f.dryRun {
		return f.plan(cmd, todo)
	}
	bins, err := binaries(todo)
	if err != nil {
		return err
	}
	file := todo[0].File
	f.progress(cmd).Line(reference.Scenario + ": " + extent(file, runner.Steps(file)))
	f.format = "table"
	res, err := f.one(cmd, file, bins)
	if err != nil {
		return err
	}
	return worse(judgement(res), shape(reference.Compare(res)))
}

// shape is the verdict on the statements about the tables; nil when all that were measured
// hold, the factor among them.
func shape(c *reference.Comparison) error {
	if c == nil {
		return &verdict{exitInvalid, "no row of the published tables was measured"}
	}
	var failed, open []string
	for _, r := range c.Rules {
		switch {
		case r.Verdict == reference.Fails:
			failed = append(failed, r.Watcher+": "+r.Name)
		case r.Verdict == reference.NotMeasured && r.Needed:
			open = append(open, r.Watcher+": "+r.Name)
		}
	}
	switch n := len(failed); {
	case n > 0:
		text := units.Count(n, "statement") + " about the shape failed: " + strings.Join(failed, "; ")
		return &verdict{exitCheck, text}
	case len(open) > 0:
		return &verdict{exitInvalid, "not measured: " + strings.Join(open, "; ")}
	}
	return nil
}
