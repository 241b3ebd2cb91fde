package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/runner"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR",
		Short: "Judge the record of a run, or of one cell, again",
		Long: `Judge the record of a run, or of one cell, again: from op log, ledger and final states
alone, without a cluster. Exit code 3 if a check fails that the scenario expects to
pass.`,
		Args: needArgs(1, 1, "the folder of a run or of a cell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cells, err := runner.Recheck(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printChecks(cmd, cells)
		},
	}
}

// printChecks shows one row per cell, then what the failures are about.
func printChecks(cmd *cobra.Command, cells []runner.Rechecked) error {
	out := cmd.OutOrStdout()
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "cell\t"+strings.Join(check.Guarantees, "\t"))
	var failed, remarks []string
	for _, c := range cells {
		row := []string{c.ID}
		for _, g := range check.Guarantees {
			x := c.Checks[g]
			row = append(row, short[x.Verdict])
			if x.Verdict == result.Fail {
				failed = append(failed, c.ID+" "+g)
			}
			if x.Verdict == result.Fail || x.Verdict == result.Allowed {
				remarks = append(remarks, fmt.Sprintf("%s %s (%d of %d): %s", c.ID, g, x.Violations, x.Judged, x.Counterexample))
			}
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
		for _, g := range c.Changed() {
			remarks = append(remarks, fmt.Sprintf("%s %s: results.json has %s, the record now gives %s", c.ID, g, c.Recorded[g].Verdict, c.Checks[g].Verdict))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, r := range remarks {
		fmt.Fprintln(out, r)
	}
	return firstVerdict(failed, nil)
}

// short is how a verdict fits into a column.
var short = map[string]string{
	result.Pass: "pass", result.Fail: "FAIL", result.Allowed: "fail*", result.NotJudged: "–", result.NotApply: "n/a",
}
