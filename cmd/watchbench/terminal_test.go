package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/terminal"
)

// TestHelpFits: no line of any help is wider than a terminal.
func TestHelpFits(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
			if len([]rune(strings.TrimRight(line, " \n"))) > terminal.HelpColumns {
				t.Errorf("%s: %q", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(command())
}
