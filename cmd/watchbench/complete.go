package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
)

// scenarioNames offers the shipped scenarios; a shell offers files where none matches.
func scenarioNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return scenarios.All(), cobra.ShellCompDirectiveDefault
}

// rowNames offers the rows and the scenarios of the fault matrix.
func rowNames(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, r := range result.MatrixRows {
		if r.NotBuilt == "" {
			names = append(names, cobra.CompletionWithDesc(r.ID, r.Title))
		}
	}
	return slices.Concat(names, scenarios.FaultNames(), scenarios.RegressionNames()), cobra.ShellCompDirectiveNoFileComp
}

// folders has a shell offer folders.
func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// runs offers the runs and matrices of a folder, the latest first: those of out where nothing
// is typed. Where there is none a shell offers folders.
func runs(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	parent, _ := filepath.Split(typed)
	all := runsIn(parent, typed)
	if parent == "" {
		all = append(runsIn("out/", typed), all...)
	}
	if len(all) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func runsIn(parent, typed string) (all []cobra.Completion) {
	entries, err := os.ReadDir(cmp.Or(parent, "."))
	if err != nil {
		return nil
	}
	began := map[string]time.Time{}
	for _, e := range entries {
		name := parent + e.Name()
		if strings.HasPrefix(name, typed) && isRun(name) {
			if info, err := e.Info(); err == nil {
				began[name] = info.ModTime()
			}
			all = append(all, name)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return began[b].Compare(began[a]) })
	return all
}

func isRun(dir string) bool {
	for _, name := range []string{result.FileName, result.MatrixFile, result.TuningFile, "run.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// offer has a shell offer the values of a flag.
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
