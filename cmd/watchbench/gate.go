package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/versus"
)

// gateFlags are those of every way to come by the two sides.
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
axis watcher of its matrix. See docs/gate.md.

Instead of saved runs, two watchers may be run side by side, in blocks A B B A: by their
commands, or k8s-watch as it is at two revisions of this repository, which are built. See
docs/gate-ci.md.

PASS, WARN: exit code 0, WARN with --strict: 4. FAIL: 4. INCONCLUSIVE (too few samples, too
much noise) and INVALID (missing or not comparable): 5, never 0.

The verdict is printed; --out writes it in every format, and both sides in the Go benchmark
format, as base.txt and new.txt: benchstat base.txt new.txt.`,
		Example: `  watchbench gate out/gate-20260102-150405
  watchbench gate out/base out/new --control out/base-again --rules rules.yaml
  watchbench gate --base-command 'OLD {config}' --new-command 'NEW {config}'
  watchbench gate --base-rev v1.4.0
  watchbench gate rules > rules.yaml`,
		ValidArgsFunction: runs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if run, err := r.asked(cmd); err != nil {
				return err
			} else if run {
				return f.runBoth(cmd, args, &r)
			}
			if err := needArgs(1, 2, "two runs, or one that holds both sides, or the flags that name two watchers: --base-command and --new-command, or --base-rev")(cmd, args); err != nil {
				return err
			}
			return f.saved(cmd, args)
		},
	}
	f.add(cmd)
	r.register(cmd)
	cmd.AddCommand(gateRulesCommand())
	return cmd
}

// add defines the flags.
func (f *gateFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.rules, "rules", "", "file of changes to the rules that watchbench gate rules prints")
	fl.StringVar(&f.control, "control", "", "a second run of BASE, to tell what two sessions differ by")
	fl.StringVar(&f.format, "format", tableFormat, "what to print: "+strings.Join(gateFormats(), ", "))
	fl.StringVar(&f.out, "out", "", "folder to write all formats to (default: that of the run, if one is made; else none)")
	fl.BoolVar(&f.strict, "strict", false, "exit code 4 for WARN too")
	offer(cmd, "format", gateFormats()...)
	offerBy(cmd, "control", runs)
	offerBy(cmd, "out", folders)
	offerBy(cmd, "rules", cobra.FixedCompletions([]cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
}

const tableFormat = "table"

func gateFormats() []string {
	names := []string{tableFormat}
	for _, g := range render.GateFormats() {
		names = append(names, g.Name)
	}
	return names
}

func gateRulesCommand() *cobra.Command {
	schema := false
	cmd := &cobra.Command{
		Use: "rules", Short: "Print the default rules", Args: noArgs,
		Example: "  watchbench gate rules > rules.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if schema {
				data, err := gate.Schema()
				return write(cmd, data, err)
			}
			return write(cmd, gate.DefaultsFile(), nil)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of rules files instead")
	return cmd
}

// read reads the rules, and checks the other flags.
func (f *gateFlags) read() (gate.Rules, error) {
	known := false
	for _, name := range gateFormats() {
		known = known || name == f.format
	}
	if !known {
		return gate.Rules{}, badinput.New("use one of "+strings.Join(gateFormats(), ", "), "--format %s is not known", f.format)
	}
	if f.rules == "" {
		return gate.Defaults(), nil
	}
	return gate.LoadRules(f.rules)
}

// saved judges one or two saved runs.
func (f *gateFlags) saved(cmd *cobra.Command, args []string) error {
	rules, err := f.read()
	if err != nil {
		return err
	}
	if len(args) == 1 && f.control != "" {
		return badinput.New("leave it out: the run's blocks are its control", "--control is for two saved runs")
	}
	if f.control != "" {
		args = append(args, f.control)
	}
	var runs []*result.Results
	var unread []string
	for _, path := range args {
		res, err := versus.Load(path)
		switch {
		case err == nil:
			runs = append(runs, res)
		case notARun(err):
			return err
		default: // a run that cannot be read is no run that is as good
			unread = append(unread, err.Error())
		}
	}
	switch {
	case len(unread) > 0:
		return f.conclude(cmd, gate.Unread(rules, unread...), nil, nil)
	case len(args) == 1:
		return f.paired(cmd, runs[0], rules)
	}
	base, changed, control := runs[0], runs[1], (*result.Results)(nil)
	if len(runs) > 2 {
		control = runs[2]
	}
	v, err := gate.Saved(base, changed, control, rules)
	if err != nil {
		return err
	}
	return f.conclude(cmd, v, gate.Side(base, ""), gate.Side(changed, ""))
}

// notARun reports whether an argument names something else than a run.
func notARun(err error) bool {
	return errors.Is(err, versus.ErrMissing) || errors.Is(err, versus.ErrMatrix) || errors.Is(err, versus.ErrNoFile) || errors.Is(err, versus.ErrNoRun)
}

// paired judges one run that holds both sides.
func (f *gateFlags) paired(cmd *cobra.Command, res *result.Results, rules gate.Rules) error {
	v, err := gate.Paired(res, rules)
	if err != nil {
		return err
	}
	return f.conclude(cmd, v, gate.Side(res, gate.BaseSide), gate.Side(res, gate.NewSide))
}

// conclude prints and writes a verdict and returns what its exit code is. The sides are
// those in the Go benchmark format; nil where they could not be read.
func (f *gateFlags) conclude(cmd *cobra.Command, v *gate.Verdict, base, changed *result.Results) error {
	if f.out != "" {
		if err := writeGate(f.out, v, base, changed); err != nil {
			return err
		}
	}
	if err := f.print(cmd.OutOrStdout(), v); err != nil {
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

func (f *gateFlags) print(out io.Writer, v *gate.Verdict) error {
	for _, g := range render.GateFormats() {
		if g.Name == f.format {
			return g.Write(out, v)
		}
	}
	return render.GateTerminal(out, v, terminalOptions(out))
}

// writeGate writes every format into a folder.
func writeGate(dir string, v *gate.Verdict, base, changed *result.Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &badinput.Error{What: "--out", Err: err, Remedy: "name a folder"}
	}
	put := func(name string, write func(io.Writer) error) error {
		return result.Replace(filepath.Join(dir, name), write)
	}
	errs := []error{put("gate.txt", func(w io.Writer) error { return render.GateTerminal(w, v, render.TerminalOptions{}) })}
	for _, g := range render.GateFormats() {
		errs = append(errs, put(g.File, func(w io.Writer) error { return g.Write(w, v) }))
	}
	for name, res := range map[string]*result.Results{"base.txt": base, "new.txt": changed} {
		if res != nil {
			errs = append(errs, put(name, func(w io.Writer) error { return render.Bench(w, res) }))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}
	return nil
}
