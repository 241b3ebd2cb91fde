package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/simulate"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type simulateFlags struct {
	sets      []string
	seed      uint64
	overhead  time.Duration
	api       time.Duration
	wake      time.Duration
	against   string
	tolerance string
	format    string
	quiet     bool
}

func simulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate [SCENARIO]",
		Short: "Predict the figures of a scenario in virtual time, at any scale",
		Long: `Play each point of a scenario's matrix through the watcher's own queue code in virtual
time, with storage's latency and capacity. Nothing is measured: the watcher's CPU, the
network and the apiserver's limits are not in it. A point that is not drained at
drainTimeout is cut, as in a run. See docs/simulate.md.

With --against instead of a scenario, each valid cell of a saved run is simulated with the
arrivals of its op log, and held against what was measured.

Exit code 3 if a cell's drain time or storage rate is predicted worse than --tolerance
allows, 5 if there is no cell to compare, or none that storage twice as slow would
change by more than that; 5 as well if each point of a scenario is cut.`,
		Example: `  watchbench simulate strategies
  watchbench simulate mine.yaml --set watcher.podQueueNum=2000
  watchbench simulate --against out/simulated-20260102-150405 --tolerance 5%`,
		Args: needArgs(0, 1, "a scenario, by name or path, or --against with the folder of a run"), ValidArgsFunction: scenarioNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.format != "table" && f.format != "json" {
				return badinput.New("use table or json", "--format %s is not known", f.format)
			}
			if f.overhead < 0 || f.wake < 0 || f.api <= 0 {
				return badinput.New("give a duration such as 2ms", "--overhead %s, --wake %s, --api-latency %s: want 0 or more, and the last more than 0", f.overhead, f.wake, f.api)
			}
			switch {
			case f.against == "" && len(args) == 0:
				return badinput.New("", "watchbench simulate needs a scenario, by name or path, or --against with the folder of a run")
			case f.against != "" && len(args) > 0:
				return badinput.New("leave one out", "scenario %s and --against %s: the run has its own scenario", args[0], f.against)
			case f.against == "" && cmd.Flags().Changed("tolerance"):
				return badinput.New("leave it out", "--tolerance means nothing without --against")
			}
			if f.against != "" {
				return f.compare(cmd, f.against)
			}
			return f.simulate(cmd, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.sets, "set", nil, setUsage)
	offerBy(cmd, "set", overrides)
	fl.Uint64Var(&f.seed, "seed", 0, "seed for the plan and storage latency (default: the scenario's)")
	fl.DurationVar(&f.overhead, "overhead", 0, "time per request besides storage latency, such as 700us (default 0s; with --against, fitted on the run's other points)")
	fl.DurationVar(&f.wake, "wake", 0, "time from an event to its request where a worker has nothing to do, such as 500us (default 0s; with --against, taken from the run)")
	fl.DurationVar(&f.api, "api-latency", simulate.DefaultAPI, "time from a write's dispatch to its answer and to the watcher")
	fl.StringVar(&f.against, "against", "", "folder of a run to simulate, and to hold against what it measured")
	offerBy(cmd, "against", runs)
	fl.StringVar(&f.tolerance, "tolerance", "5%", "with --against: largest error of drain time and storage rate; beyond it the exit code is 3")
	fl.StringVar(&f.format, "format", "table", "what to print: table or json")
	offer(cmd, "format", "table", "json")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *simulateFlags) simulate(cmd *cobra.Command, ref string) error {
	_, file, err := parse(ref, f.sets...)
	if err != nil {
		return err
	}
	var points []simulate.Point
	for i, c := range file.Cells() {
		began := time.Now()
		o, err := simulate.Run(cmd.Context(), &c.Scenario, simulate.Options{Seed: f.seed, Overhead: f.overhead, Wake: f.wake, API: f.api, Progress: f.progress(cmd, fmt.Sprintf("[%d/%d] %s", i+1, len(file.Cells()), c.ID))})
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "[%d/%d] %s: %d events in %s\n", i+1, len(file.Cells()), c.ID, o.Events, time.Since(began).Round(time.Millisecond))
		}
		p := simulate.Point{Cell: c.ID, Params: map[string]string{}, Strategy: c.Scenario.Watcher.Strategy, Load: loadOf(&c.Scenario), Outcome: *o}
		for _, x := range c.Params {
			p.Params[x.Name] = x.Value
		}
		points = append(points, p)
	}
	if f.format == "json" {
		err = result.EncodeJSON(cmd.OutOrStdout(), simulate.Document{
			Schema: simulate.Schema, Scenario: file.Base().Metadata.Name, OverheadMs: f.overhead.Seconds() * 1e3, WakeMs: f.wake.Seconds() * 1e3,
			APILatencyMs: f.api.Seconds() * 1e3, Points: points,
		})
	} else {
		err = writePoints(cmd.OutOrStdout(), points, f)
	}
	if err == nil && !slices.ContainsFunc(points, func(p simulate.Point) bool { return !p.Cut }) {
		return &verdict{exitInvalid, "no point drains within drainTimeout"}
	}
	return err
}

// progress shows how far a cell is, and how long it still takes at this rate.
func (f *simulateFlags) progress(cmd *cobra.Command, which string) func(done, of int64) {
	if f.quiet {
		return nil
	}
	s, began := screen(cmd), time.Now()
	return func(done, of int64) {
		took := time.Since(began)
		text := fmt.Sprintf("%s: %d events, %.0f/s", which, done, float64(done)/max(took.Seconds(), 1e-3))
		if done > 0 && of >= done {
			left := time.Duration(float64(took) * float64(of-done) / float64(done))
			text = fmt.Sprintf("%s: %.0f%%, %s left, %.0f events/s", which, 100*float64(done)/float64(of), left.Round(time.Second), float64(done)/max(took.Seconds(), 1e-3))
		}
		s.Status(text, false)
	}
}

// loadOf names a load in a few characters.
func loadOf(s *spec.Scenario) string {
	what := s.Load.Profile
	if s.Load.Model == result.ModelClosed {
		return strings.TrimSpace(fmt.Sprintf("%s %d threads", what, s.Load.Threads))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %g/s × %s", what, s.Load.Rate, s.Load.Duration))
}

func writePoints(w io.Writer, points []simulate.Point, f *simulateFlags) error {
	fmt.Fprintf(w, "simulated: nothing was measured; overhead %s per request, %s to wake a worker, apiserver %s per write\n", f.overhead, f.wake, f.api)
	t := render.Table{Keys: 2, Heads: heads("strategy,load", "events", "requests", "coalesced", "dropped", "drain,s", "drain after load,s", "storage,/s", "efficiency", "imbalance",
		"freshness p50,s", "freshness p99,s", "max depth", "writer full,s")}
	unfinished := 0
	for _, p := range points {
		requests, p50, p99 := fmt.Sprint(p.Requests), "–", "–"
		if p.Cut {
			requests += fmt.Sprintf(", %d left", p.Left)
			unfinished++
		}
		if p.Freshness != nil {
			p50, p99 = figure(p.Freshness.P50), figure(p.Freshness.P99)
		}
		t.Rows = append(t.Rows, render.Cells(p.Strategy, p.Load, fmt.Sprint(p.Events), requests, fmt.Sprint(p.Coalesced), fmt.Sprint(p.Dropped),
			optional(p.DrainSeconds), optional(p.DrainAfterLoadSeconds), optional(p.StorageQPS), known(p.Efficiency), known(p.Imbalance), p50, p99,
			fmt.Sprint(p.WriterMaxDepth+p.HandlerMaxDepth), figure(p.WriterFullSeconds)))
	}
	if err := render.TableTerminal(w, t, terminalOptions(w)); err != nil {
		return err
	}
	if unfinished > 0 {
		fmt.Fprintf(w, "%s cut at drainTimeout with events left: their counts are until then, and their drain, rates and freshness are not known. --set drainTimeout=… plays on.\n", units.Count(unfinished, "point"))
	}
	return nil
}

// heads are columns: the first two of words, each other by its title and, behind a comma, unit.
func heads(keys string, titles ...string) (all []render.Head) {
	for k := range strings.SplitSeq(keys, ",") {
		all = append(all, render.Head{Title: k, Words: true})
	}
	for _, t := range titles {
		title, unit, _ := strings.Cut(t, ",")
		all = append(all, render.Head{Title: title, Unit: unit})
	}
	return all
}

// optional is a figure, if it is known.
func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return figure(*v)
}

// figure has three significant digits, and all those before the point.
func figure(v float64) string {
	digits := 2
	if v != 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	return fmt.Sprintf("%.*f", min(digits, 6), v)
}

// known is a figure that is 0 where there is none.
func known(v float64) string {
	if v == 0 {
		return "–"
	}
	return figure(v)
}

func (f *simulateFlags) compare(cmd *cobra.Command, dir string) error {
	var tolerance units.Share
	if err := tolerance.UnmarshalText([]byte(f.tolerance)); err != nil {
		return &badinput.Error{What: "--tolerance", Err: err}
	}
	overhead := time.Duration(-1)
	if cmd.Flags().Changed("overhead") {
		overhead = f.overhead
	}
	if len(f.sets) > 0 || cmd.Flags().Changed("seed") || cmd.Flags().Changed("api-latency") || cmd.Flags().Changed("wake") {
		return badinput.New("leave it out", "--set, --seed, --wake and --api-latency mean nothing with --against: the run has its own")
	}
	all, left, err := simulate.Against(cmd.Context(), dir, overhead)
	if err != nil {
		return err
	}
	var worse []string
	telling := 0
	for i := range all {
		c := &all[i]
		if c.Telling(float64(tolerance)) {
			telling++
		}
		if !c.Within(float64(tolerance)) {
			worse = append(worse, fmt.Sprintf("%s: drain %+.1f %%, rate %+.1f %%", c.Cell, 100*c.DrainError, 100*c.RateError))
		}
	}
	if f.format == "json" {
		err = result.EncodeJSON(cmd.OutOrStdout(), simulate.AgainstDocument{
			Schema: simulate.AgainstSchema, Tolerance: float64(tolerance), Telling: telling,
			Cells: append([]simulate.Comparison{}, all...), Left: append([]string{}, left...), // [] rather than null
		})
	} else {
		err = writeComparison(cmd.OutOrStdout(), all, left, float64(tolerance))
	}
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return &verdict{exitInvalid, "no cell could be compared"}
	case len(worse) > 0:
		return &verdict{exitCheck, fmt.Sprintf("%d of %d cells are not predicted within %s: %s", len(worse), len(all), f.tolerance, strings.Join(worse, "; "))}
	case telling == 0:
		return &verdict{exitInvalid, fmt.Sprintf("nothing is shown: storage twice as slow would change no cell's drain time or storage rate by more than %s", f.tolerance)}
	}
	return nil
}

func writeComparison(w io.Writer, all []simulate.Comparison, left []string, tolerance float64) error {
	fmt.Fprintln(w, "simulated, beside what was measured; m: measured, p: predicted from the arrivals of the op log")
	t := render.Table{Keys: 2, Heads: heads("cell,repetition", "tells", "wake,ms", "overhead,ms", "fitted on", "requests m", "requests p", "drain m,s", "drain p,s", "drain error,%",
		"storage m,/s", "storage p,/s", "storage error,%", "freshness p50 m,s", "freshness p50 p,s", "freshness p99 m,s", "freshness p99 p,s")}
	telling := 0
	for _, c := range all {
		m, p, fitted, tells := &c.Measured, &c.Predicted, "given", "no"
		switch {
		case c.FittedOn > 0:
			fitted = fmt.Sprintf("%d others", c.FittedOn)
		case c.OverheadMs == 0:
			fitted = "none"
		}
		if c.Telling(tolerance) {
			tells, telling = "yes", telling+1
		}
		t.Rows = append(t.Rows, render.Cells(c.Cell, fmt.Sprint(c.Repetition), tells, fmt.Sprintf("%.2f", c.WakeMs), fmt.Sprintf("%.2f", c.OverheadMs), fitted,
			fmt.Sprint(m.Requests), fmt.Sprint(p.Requests), figure(m.DrainSeconds), figure(p.DrainSeconds), fmt.Sprintf("%+.1f", 100*c.DrainError),
			figure(m.StorageQPS), figure(p.StorageQPS), fmt.Sprintf("%+.1f", 100*c.RateError),
			figure(m.FreshnessP50), figure(p.FreshnessP50), figure(m.FreshnessP99), figure(p.FreshnessP99)))
	}
	if err := render.TableTerminal(w, t, terminalOptions(w)); err != nil {
		return err
	}
	if len(all) > 0 {
		fmt.Fprintf(w, "%d of %d cells tell: storage twice as slow would change their drain time or rate by more than %g %%. The others follow their load, whatever the model is.\n", telling, len(all), 100*tolerance)
	}
	for _, l := range left {
		fmt.Fprintln(w, "left out:", l)
	}
	return nil
}
