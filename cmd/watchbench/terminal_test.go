package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/commandline"
)

// TestCompletion: a shell is offered names and values, not files.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"run ":                                 "smoke",
		"run smoke ":                           "faults/f02-refuse",
		"scenarios show ":                      "strategies",
		"scenarios validate ":                  "regression/parked-comes-back",
		"matrix F":                             "F2\tstorage refuses connections, forgets",
		"matrix F2 ":                           "faults/f02-refuse",
		"run --cluster ":                       "kubeconfig",
		"run --format ":                        "json",
		"matrix --profile ":                    "legacy",
		"report d --format md,":                "md,html",
		"compare a b --metrics freshness.p50,": "freshness.p50,freshness.p99",
		"compare a b --format ":                "json",
		"cluster ":                             "status\tShow cluster status; exit code 1 if none is up",
	} {
		out, _, _, err := invoke(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if err != nil || !slices.Contains(strings.Split(out, "\n"), want) {
			t.Errorf("%s: offers %q, %v, want %q", line, out, err, want)
		}
	}
}

// TestHelpFits: no line of any help is wider than a terminal.
func TestHelpFits(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
			if len([]rune(strings.TrimRight(line, " \n"))) > commandline.Columns {
				t.Errorf("%s: %q", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(command())
}
