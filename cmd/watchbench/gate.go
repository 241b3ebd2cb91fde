package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
)

type gateFlags struct {
	rules, control, format, out string
	strict                      bool
}

func gateCommand() *cobra.Command {
	var f gateFlags
	var r sideBySide
	cmd := &cobra.Command{
		Use:   "gate BASE NEW | gate RUN | gate --base-… --new-…",
		Short: "Judge whether a change made a watcher worse",
		Long: `Judge whether NEW is worse than BASE, by rules: invariants, exact counters, CPU, then wall
clock. BASE and NEW are saved runs; RUN holds both sides, as the points base and new of the
axis watcher of its matrix.

Without saved runs, gate runs two watchers side by side, in blocks A B B A: two commands,
or k8s-watch built from two revisions of this repository. See docs/gate.md.

PASS, WARN: exit code 0, WARN with --strict: 4. FAIL: 4. INCONCLUSIVE (too few samples, too
much noise) and INVALID (missing or not comparable): 5, never 0.

The verdict is printed; --out writes it in every format, and both sides in the Go benchmark
format, as base.txt and new.txt: benchstat base.txt new.txt.`,
		Example: `  watchbench gate out/gate-20260102-150405
  watchbench gate out/base out/new --control out/base-again --rules rules.yaml
  watchbench gate --base-command 'OLD {config}' --new-command 'NEW {config}'
  watchbench gate --base-rev v1.4.0
  watchbench gate rules > rules.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if run, err := r.asked(cmd); err != nil {
				return err
			} else if run {
				return f.runBoth(cmd, args, &r)
			}
			return f.saved(cmd, args)
		},
	}
	f.add(cmd)
	r.register(cmd)
	cmd.AddCommand(gateRulesCommand())
	return cmd
}

func (f *gateFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.rules, "rules", "", "file of changes to the rules that watchbench gate rules prints")
	fl.StringVar(&f.control, "control", "", "a second run of BASE, to see by how much two sessions differ")
	fl.StringVar(&f.format, "format", tableFormat, "what to print: "+names(render.GateFormats()))
	fl.StringVar(&f.out, "out", "", "folder for all formats (default: that of the run, if one is made)")
	fl.BoolVar(&f.strict, "strict", false, "exit code 4 for WARN too")
}

const tableFormat = "table"

func gateRulesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rules", Short: "Print the default rules", Args: noArgs,
		Example: "  watchbench gate rules > rules.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return write(cmd, gate.DefaultsFile(), nil)
		},
	}
}

func (f *gateFlags) read() (gate.Rules, error) {
	if _, err := f.printer(); err != nil {
		return gate.Rules{}, err
	}
	if f.rules == "" {
		return gate.Defaults(), nil
	}
	return gate.LoadRules(f.rules)
}

func (f *gateFlags) saved(cmd *cobra.Command, args []string) error {
	const wanted = "two runs, or one that holds both sides, or the flags that name two watchers: " +
		"--base-command and --new-command, or --base-rev"
	if err := needArgs(1, 2, wanted)(cmd, args); err != nil {
		return err
	}
	rules, err := f.read()
	if err != nil {
		return err
	}
	if f.control != "" {
		if len(args) == 1 {
			return badinput.New("leave it out: the run's blocks are its control", "--control is for two saved runs")
		}
		args = append(args, f.control)
	}
	runs, unread := make([]*result.Results, 3), []string(nil)
	for i, path := range args {
		if runs[i], err = gate.Load(path); errors.As(err, new(gate.NotRun)) {
			return err
		} else if err != nil { // the verdict is INVALID
			unread = append(unread, err.Error())
		}
	}
	switch {
	case len(unread) > 0:
		return f.conclude(cmd, gate.Unread(rules, unread...), nil, nil)
	case len(args) == 1:
		return f.paired(cmd, runs[0], rules)
	}
	v, err := gate.Saved(runs[0], runs[1], runs[2], rules)
	if err != nil {
		return err
	}
	return f.conclude(cmd, v, gate.Side(runs[0], ""), gate.Side(runs[1], ""))
}

func (f *gateFlags) paired(cmd *cobra.Command, res *result.Results, rules gate.Rules) error {
	v, err := gate.Paired(res, rules)
	if err != nil {
		return err
	}
	return f.conclude(cmd, v, gate.Side(res, gate.BaseSide), gate.Side(res, gate.NewSide))
}

func (f *gateFlags) printer() (func(io.Writer, *gate.Verdict) error, error) {
	return printer(render.GateFormats(), f.format, func(w io.Writer, v *gate.Verdict) error {
		return render.GateTerminal(w, v, terminalOptions(w))
	})
}

// conclude prints and writes a verdict and returns what its exit code is. The sides are
// those in the Go benchmark format; nil where they could not be read.
func (f *gateFlags) conclude(cmd *cobra.Command, v *gate.Verdict, base, changed *result.Results) error {
	if f.out != "" {
		if err := writeAll(io.Discard, f.out, sided(base, changed), v); err != nil {
			return err
		}
	}
	write, err := f.printer()
	if err == nil {
		err = write(cmd.OutOrStdout(), v)
	}
	if err != nil {
		return err
	}
	switch {
	case v.Outcome == gate.Pass, v.Outcome == gate.Warn && !f.strict:
		return nil
	case v.Outcome == gate.Fail, v.Outcome == gate.Warn:
		return &verdict{exitRegression, "gate: " + string(v.Outcome)}
	}
	return &verdict{exitInvalid, "gate: " + string(v.Outcome)}
}

// sided are the formats of a verdict and, where they could be read, of both sides, for benchstat.
func sided(base, changed *result.Results) []render.Format[*gate.Verdict] {
	all := append(render.GateFormats(), render.Format[*gate.Verdict]{File: "gate.txt",
		Write: func(w io.Writer, v *gate.Verdict) error { return render.GateTerminal(w, v, render.TerminalOptions{}) }})
	for name, res := range map[string]*result.Results{"base.txt": base, "new.txt": changed} {
		if res != nil {
			all = append(all, render.Format[*gate.Verdict]{File: name,
				Write: func(w io.Writer, _ *gate.Verdict) error { return render.Bench(w, res) }})
		}
	}
	return all
}
