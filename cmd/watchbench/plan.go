package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func (f *runFlags) plan(cmd *cobra.Command, todo []runner.Scenario) error {
	for _, s := range todo {
		steps := runner.Steps(s.File)
		if f.resume != "" {
			bins, err := party.FindBinaries()
			if err != nil {
				return err
			}
			r, err := runner.Resume(cmd.Context(), runner.Options{Scenario: s.File, Binaries: bins,
				Provider: s.File.Base().Cluster.Provider, InCluster: f.pods}, f.resume)
			if err != nil {
				return err
			}
			steps = r.Steps()
			r.Discard()
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", s.Name, extent(s.File, steps))
		tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for i, step := range steps {
			fmt.Fprintf(tw, "  %d\t%s\trepetition %d\tabout %s", i+1, step.ID, step.Repetition, step.Expected.Round(time.Second))
			if step.Why != "" {
				fmt.Fprint(tw, "\t", step.Why)
			}
			fmt.Fprintln(tw)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func extent(f *spec.File, steps []runner.Step) string {
	return fmt.Sprintf("%s × repeat %d: %s to run, about %s on %s", units.Count(len(f.Cells()), "point"), f.Base().Repeat,
		units.Count(len(steps), "cell"),
		runner.Expected(steps).Round(time.Second), f.Base().Cluster.Provider)
}
