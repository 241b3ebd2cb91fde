package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR",
		Short: "Recompute results and checks from a saved record",
		Long: `Recompute figures, checks and the fault matrix from a saved folder, without a cluster:
results.json of a run's folder, matrix.json of a matrix's. A missing file is written; an
existing one is compared, and what differs is listed. For the folder of a single cell,
only its checks are shown.

Exit code 3 if a check fails that the scenario expects to pass, or an asserted cell of
the matrix; 5 if a scenario of the matrix proves nothing.`,
		Args: needArgs(1, 1, "the folder of a run, of a matrix or of a cell"),
		RunE: func(cmd *cobra.Command, args []string) error { return recheck(cmd, args[0]) },
	}
}

func recheck(cmd *cobra.Command, dir string) error {
	c, err := assess.Check(cmd.Context(), dir)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if c.Matrix != nil {
		if c.Missing {
			err = render.WriteMatrix(dir, c.Matrix)
		}
		if err == nil {
			err = render.MatrixTerminal(out, c.Matrix, terminalOptions(out))
		}
	} else {
		if c.Missing {
			err = result.Save(filepath.Join(dir, result.FileName), c.Results)
		}
		if err == nil {
			err = render.Checks(out, c.Results.Cells, terminalOptions(out))
		}
	}
	if err != nil {
		return err
	}
	for _, d := range c.Differences {
		fmt.Fprintln(out, d)
	}
	if c.Matrix != nil {
		return matrixVerdict(c.Matrix)
	}
	for _, cell := range c.Results.Cells {
		for _, why := range cell.InvalidReasons {
			fmt.Fprintf(out, "%s is invalid: %s\n", cell.ID, why)
		}
	}
	return judgement(c.Results)
}
