package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/spelling"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/knee"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type kneeFlags struct {
	runFlags
	objective  string
	strategies []string
	resolution string
	cells      int
}

func kneeCommand() *cobra.Command {
	var f kneeFlags
	cmd := &cobra.Command{
		Use:   "knee SCENARIO",
		Short: "Find the highest rate that each strategy carries",
		Long: `Find the knee of each strategy: the highest rate of an open loop at which nothing is
lost, the backlog does not grow and freshness is within the objective; then measure
freshness at 70 % of it.

The scenario needs an open loop with one rate, and one point besides its strategies;
--set changes it, such as --set load.duration=20s. Each probe is a cell of its own on one
cluster. A probe for which the generator is late is the generator's limit, and the knee
is then "at least" the highest rate below it.

Exit code 3 if a strategy carries none of the rates that were tried, 5 if nothing valid
was measured of one.`,
		Example: `  watchbench knee examples/knee --objective freshness.p99=2s
  watchbench knee ./mine.yaml --strategies keyed,dedup --resolution 10%
  watchbench knee ./mine.yaml --cluster embedded --set load.duration=20s
  watchbench knee ./mine.yaml --watcher-command './mine -f {config}'`,
		Args: needArgs(1, 1, "one scenario"), ValidArgsFunction: scenarioNames,
		RunE: func(cmd *cobra.Command, args []string) error { return f.find(cmd, args[0]) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.objective, "objective", "freshness.p99=2s", "what a rate must meet: freshness.p50, freshness.p90, freshness.p99 or freshness.max at most so long")
	fl.StringSliceVar(&f.strategies, "strategies", nil, "comma-separated strategies to search (default: those of the scenario)")
	fl.StringVar(&f.resolution, "resolution", fmt.Sprintf("%g%%", 100*knee.DefaultResolution), "how wide the bracket around a knee may be, as a share of the knee: 0.5% to 50%")
	fl.IntVar(&f.cells, "cells", knee.DefaultCells, "the most cells that the search takes per strategy, at least 4")
	fl.IntVar(&f.repeat, "repeat", knee.DefaultRepeat, "how often to measure at 70 % of the knee")
	fl.Uint64Var(&f.seed, "seed", 0, "seed for the plans and latency (default: the scenario's)")
	fl.StringVar(&f.format, "format", "table", "what to print at the end: table or json")
	offer(cmd, "format", "table", "json")
	offerList(cmd, "strategies", spec.Strategies...)
	var objectives []string
	for _, q := range knee.Quantiles {
		objectives = append(objectives, q+"=")
	}
	offer(cmd, "objective", objectives...)
	return cmd
}

func (f *kneeFlags) find(cmd *cobra.Command, ref string) (err error) {
	if f.format != "table" && f.format != "json" {
		return badinput.New("use table or json", "--format %s is not known", f.format)
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	todo, err := f.read(cmd, []string{ref})
	if err != nil {
		return err
	}
	o.Scenario = todo[0].File
	if err := f.choose(&o); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	m, err := f.measurer(cmd, "knee", todo[0])
	if err != nil {
		return err
	}
	o.Report = m.Line
	r, err := knee.Find(cmd.Context(), m, o)
	err = errors.Join(err, m.Close())
	if r == nil || !slices.ContainsFunc(r.Strategies, func(s knee.Strategy) bool { return s.Cells > 0 }) {
		return err
	}
	r.Command = commandLine()
	err = errors.Join(err, writeDocument(m.dir, "knee.json", r, r.Document()), f.showKnee(cmd, m.dir, r))
	if err != nil {
		return err
	}
	return kneeVerdict(r)
}

// options reads the flags that are the search's own.
func (f *kneeFlags) options() (o knee.Options, err error) {
	if o.Objective, err = knee.ParseObjective(f.objective); err != nil {
		return o, flagged("objective", err)
	}
	var share units.Share
	if err := share.UnmarshalText([]byte(f.resolution)); err != nil {
		return o, badinput.New("use 0.5% to 50%, for example 5%", "--resolution %s: not a percentage", f.resolution)
	}
	o.Resolution, o.MaxCells, o.Repeat = float64(share), f.cells, f.repeat
	return o, nil
}

// flagged says which flag an error is about.
func flagged(flag string, err error) error {
	if e, ok := errors.AsType[*badinput.Error](err); ok {
		return &badinput.Error{What: "--" + flag + ": " + e.What, Remedy: e.Remedy, Err: e.Err}
	}
	return err
}

// choose sets the strategies to be searched.
func (f *kneeFlags) choose(o *knee.Options) error {
	o.Strategies = knee.Strategies(o.Scenario)
	if len(f.strategies) == 0 {
		return nil
	}
	if len(o.Strategies) == 0 {
		return badinput.New("leave it out", "--strategies means nothing for another watcher, which has none of ours")
	}
	for i, s := range f.strategies {
		s = strings.TrimSpace(s)
		if !slices.Contains(spec.Strategies, s) {
			return badinput.New(spelling.Ask(spelling.Nearest(s, spec.Strategies), "use some of "+strings.Join(spec.Strategies, ", ")), "--strategies: %q is not known", s)
		}
		if slices.Contains(f.strategies[:i], s) {
			return badinput.New("name it once", "--strategies: %s is there twice", s)
		}
		f.strategies[i] = s
	}
	o.Strategies = f.strategies
	return nil
}

func (f *kneeFlags) showKnee(cmd *cobra.Command, dir string, r *knee.Report) error {
	if f.format == "json" {
		return result.EncodeJSON(cmd.OutOrStdout(), r)
	}
	return showDocument(cmd, dir, r.Document())
}

// kneeVerdict is the verdict on a search.
func kneeVerdict(r *knee.Report) error {
	var failed, open []string
	for _, s := range r.Strategies {
		switch {
		case s.Knee != nil:
		case s.Bound == knee.ByStrategy:
			failed = append(failed, s.Strategy)
		default:
			open = append(open, s.Strategy)
		}
	}
	switch {
	case len(failed) > 0:
		return &verdict{exitCheck, "no rate that was tried meets the objective: " + strings.Join(failed, ", ")}
	case len(open) > 0:
		return &verdict{exitInvalid, "nothing valid was measured: " + strings.Join(open, ", ")}
	}
	return nil
}

// writeDocument writes a report that is no run's own into a folder: the record as JSON, the
// page and Markdown.
func writeDocument(dir, name string, record any, d *render.Document) error {
	return errors.Join(
		result.Replace(filepath.Join(dir, name), func(w io.Writer) error { return result.EncodeJSON(w, record) }),
		result.Replace(filepath.Join(dir, "index.html"), func(w io.Writer) error { return render.DocumentHTML(w, d) }),
		result.Replace(filepath.Join(dir, "report.md"), func(w io.Writer) error { return render.DocumentMarkdown(w, d) }),
	)
}

// showDocument prints it, and where the page is.
func showDocument(cmd *cobra.Command, dir string, d *render.Document) error {
	if err := render.DocumentTerminal(cmd.OutOrStdout(), d, terminalOptions(cmd.OutOrStdout())); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", filepath.Join(relative(dir), "index.html"))
	return err
}

var (
	_ knee.Measurer = (*measurer)(nil)
	_ knee.Witness  = (*measurer)(nil)
)
