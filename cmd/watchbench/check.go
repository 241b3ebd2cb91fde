package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/runner"
)

func checkCommand() *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:   "check DIR | check --merge OPLOG PART...",
		Short: "Recompute the results and checks of a saved run",
		Long: `Recompute figures, checks and the fault matrix from a saved folder, without a cluster:
results.json of a run; matrix.json of a matrix, and results.json of each of its runs. A
missing file is written; an existing one is compared, and differences are listed. For the
folder of a single cell, only its checks are shown.

With --merge, the op logs that several generators wrote become one, and are removed.

Exit code 3 if a check that the scenario expects to pass, a threshold or an asserted
cell of the matrix fails, or if a file differs from the record; 5 if a cell is invalid,
or missing because the run was interrupted.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if into != "" {
				return needArgs(1, plan.MaxShards, "the op logs of generators")(cmd, args)
			}
			return needArgs(1, 1, "the folder of a run, of a matrix or of a cell")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if into != "" {
				return mergeOps(cmd.OutOrStdout(), into, args)
			}
			return recheck(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&into, "merge", "", "make this op log of those that several generators wrote, the arguments")
	return cmd
}

// mergeOps makes one op log of parts, and says who wrote how much.
func mergeOps(out io.Writer, into string, parts []string) error {
	if err := userfile.CheckOutputs(oplog.Output("--merge", into)); err != nil {
		return badinput.Wrap(err)
	}
	all, err := oplog.Merge(into, parts)
	if err != nil {
		return badinput.Wrap(err)
	}
	for i, p := range all {
		fmt.Fprintf(out, "%s: generator %d, %s\n", parts[i], p.Shard, units.Count(p.Written, "operation"))
		if p.Cut {
			err = errors.Join(err, fmt.Errorf("%s has no end mark: its generator was killed; it is kept", parts[i]))
		}
	}
	return err
}

func recheck(cmd *cobra.Command, dir string) error {
	c, err := assess.Check(cmd.Context(), dir)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if c.Matrix != nil {
		err = render.DocumentTerminal(out, render.Matrix(c.Matrix, ""), terminalOptions(out))
	} else {
		err = render.Checks(out, c.Results.Cells, terminalOptions(out))
	}
	if err != nil {
		return err
	}
	differ, other := 0, ""
	if c.Results != nil && c.Results.Gap() != "" {
		fmt.Fprintln(out, c.Results.Gap())
	}
	for _, one := range append([]*assess.Checked{c}, c.Runs...) {
		if err := settle(out, one); err != nil {
			return err
		}
		differ += len(one.Differences)
		if one.Results != nil && other == "" {
			other = runner.OtherCommit(&one.Results.Environment)
		}
	}
	if differ > 0 && other != "" {
		fmt.Fprintf(out, "%s: %s\n", dir, other)
	}
	err = checkedVerdict(out, c)
	if differ > 0 {
		err = worse(err, &verdict{exitCheck,
			units.Count(differ, "difference") + " between what was recorded and what the record gives"})
	}
	return err
}

// settle writes the file of a folder that lacks it, or says whether it agrees and lists
// what it says otherwise. A lone cell has no such file.
func settle(out io.Writer, c *assess.Checked) error {
	path := filepath.Join(c.Dir, result.FileName)
	if c.Matrix != nil {
		path = filepath.Join(c.Dir, result.MatrixFile)
	}
	if c.Missing {
		fmt.Fprintln(out, path+" is written")
		if c.Matrix != nil {
			return render.WriteMatrix(c.Dir, c.Matrix)
		}
		return result.Save(path, c.Results)
	}
	for _, d := range c.Differences {
		fmt.Fprintf(out, "%s: %s\n", c.Dir, d)
	}
	if len(c.Differences) == 0 && !c.Lone {
		fmt.Fprintf(out, "%s agrees with the record: every figure and verdict\n", path)
	}
	return nil
}

func checkedVerdict(out io.Writer, c *assess.Checked) error {
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
