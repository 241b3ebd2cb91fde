package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
)

// scenarioNames offers the shipped scenarios; a shell offers files where none matches.
func scenarioNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return scenarios.All(), cobra.ShellCompDirectiveDefault
}

func rowNames(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, r := range result.MatrixRows {
		if r.NotBuilt == "" {
			names = append(names, cobra.CompletionWithDesc(r.ID, r.Title))
		}
	}
	return slices.Concat(names, scenarios.FaultNames(), scenarios.RegressionNames()), cobra.ShellCompDirectiveNoFileComp
}

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func offer(cmd *cobra.Command, flag string, values ...string) {
	offerBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// offerList does so for a comma-separated list of them.
func offerList(cmd *cobra.Command, flag string, values ...string) {
	offerBy(cmd, flag, func(_ *cobra.Command, _ []string, typed string) (all []cobra.Completion,
		_ cobra.ShellCompDirective) {
		done := typed[:strings.LastIndex(typed, ",")+1]
		for _, v := range values {
			all = append(all, done+v)
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

func offerBy(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
}
