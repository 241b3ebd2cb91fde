package main

import (
	"fmt"
	"io"
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
arrivals of its op log and compared with what was measured.

Exit code 3 if a cell's drain time or storage rate is predicted worse than --tolerance
allows, 5 if there is no cell to compare, or none that storage twice as slow would
change by more than that; 5 as well if each point of a scenario is cut.`,
		Example: `  watchbench simulate strategies
  watchbench simulate mine.yaml --set watcher.podQueueNum=2000
  watchbench simulate --against out/simulated-20260102-150405 --tolerance 5%`,
		Args:              needArgs(0, 1, "a scenario, by name or path, or --against with the folder of a run"),
		ValidArgsFunction: scenarioNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := knownFormat(f.format); err != nil {
				return err
			}
			if f.overhead < 0 || f.wake < 0 || f.api <= 0 {
				return badinput.New("give a duration such as 2ms",
					"--overhead %s, --wake %s, --api-latency %s: want 0 or more, and the last more than 0", f.overhead, f.wake, f.api)
			}
			switch {
			case f.against == "" && len(args) == 0:
				return badinput.New("",
					"watchbench simulate needs a scenario, by name or path, or --against with the folder of a run")
			case f.against != "" && len(args) > 0:
				return badinput.New("leave one out", "scenario %s and --against %s: the run has its own scenario", args[0],
					f.against)
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
	fl.Uint64Var(&f.seed, "seed", 0, "seed for the plan and storage latency (default: the scenario's)")
	fl.DurationVar(&f.overhead, "overhead", 0,
		"time per request besides storage latency, such as 700us (default 0; with --against, fitted on the run's other "+
			"points)")
	fl.DurationVar(&f.wake, "wake", 0,
		"time from an event to its request where a worker is idle, such as 500us (default 0; with --against, the run's)")
	fl.DurationVar(&f.api, "api-latency", simulate.DefaultAPI,
		"time from a write's dispatch to its answer and to the watcher")
	fl.StringVar(&f.against, "against", "", "folder of a run to simulate and compare with what it measured")
	offerBy(cmd, "against", folders)
	fl.StringVar(&f.tolerance, "tolerance", "5%",
		"with --against: largest error of drain time and storage rate; beyond it the exit code is 3")
	formatFlag(cmd, &f.format)
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *simulateFlags) simulate(cmd *cobra.Command, ref string) error {
	_, file, err := parse(ref, f.sets...)
	if err != nil {
		return err
	}
	doc := simulate.Document{
		Schema: simulate.Schema, Scenario: file.Base().Metadata.Name, OverheadMs: f.overhead.Seconds() * 1e3,
		WakeMs: f.wake.Seconds() * 1e3, APILatencyMs: f.api.Seconds() * 1e3,
	}
	cells, cut := file.Cells(), 0
	for i, c := range cells {
		began := time.Now()
		o, err := simulate.Run(cmd.Context(), &c.Scenario, simulate.Options{Seed: f.seed, Overhead: f.overhead, Wake: f.wake,
			API: f.api})
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if !f.quiet {
			took := time.Since(began).Round(time.Millisecond)
			fmt.Fprintf(cmd.ErrOrStderr(), "[%d/%d] %s: %d events in %s\n", i+1, len(cells), c.ID, o.Events, took)
		}
		if o.Cut {
			cut++
		}
		p := simulate.Point{Cell: c.ID, Params: map[string]string{}, Strategy: c.Scenario.Watcher.Strategy,
			Load: loadOf(&c.Scenario), Outcome: *o}
		for _, x := range c.Params {
			p.Params[x.Name] = x.Value
		}
		doc.Points = append(doc.Points, p)
	}
	out := cmd.OutOrStdout()
	if f.format == jsonFormat {
		err = result.EncodeJSON(out, doc)
	} else {
		fmt.Fprintf(out, "simulated: nothing was measured; overhead %s per request, "+
			"%s to wake a worker, apiserver %s per write\n", f.overhead, f.wake, f.api)
		err = render.TableTerminal(out, pointTable(doc.Points, cells[0].Params), terminalOptions(out))
		if cut > 0 {
			fmt.Fprintf(out, "%s cut at drainTimeout with events left: drain, rates and freshness are not known. "+
				"--set drainTimeout=… plays on.\n", units.Count(cut, "point"))
		}
	}
	if err == nil && cut == len(cells) {
		return &verdict{exitInvalid, "no point drains within drainTimeout"}
	}
	return err
}

func loadOf(s *spec.Scenario) string {
	load := fmt.Sprintf("%s %g/s × %s", s.Load.Profile, s.Load.Rate, s.Load.Duration)
	if s.Load.Model == result.ModelClosed {
		load = fmt.Sprintf("%s %d threads", s.Load.Profile, s.Load.Threads)
	}
	return strings.TrimSpace(load)
}

// pointTable has a row for each point, named by strategy, load, and the other fields that are swept.
func pointTable(points []simulate.Point, params []spec.Param) (t render.Table) {
	var axes []string
	for _, p := range params {
		if p.Name != "watcher.strategy" && p.Name != "load.rate" {
			axes = append(axes, p.Name)
		}
	}
	t = table(append([]string{"strategy", "load"}, axes...), "events", "requests", "left", "coalesced", "dropped",
		"drain,s", "drain after load,s", "storage,/s", "efficiency", "imbalance", "freshness p50,s", "freshness p99,s",
		"max depth", "writer full,s")
	for _, p := range points {
		keys := []string{p.Strategy, p.Load}
		for _, name := range axes {
			keys = append(keys, p.Params[name])
		}
		p50, p99 := optional(nil), optional(nil)
		if p.Freshness != nil {
			p50, p99 = render.Brief(p.Freshness.P50), render.Brief(p.Freshness.P99)
		}
		for _, n := range []int64{p.Events, p.Requests, p.Left, p.Coalesced, p.Dropped} {
			keys = append(keys, fmt.Sprint(n))
		}
		t.Rows = append(t.Rows, render.Cells(append(keys, optional(p.DrainSeconds), optional(p.DrainAfterLoadSeconds),
			optional(p.StorageQPS), known(p.Efficiency), known(p.Imbalance), p50, p99,
			fmt.Sprint(p.WriterMaxDepth+p.HandlerMaxDepth), render.Brief(p.WriterFullSeconds))...))
	}
	return t
}

// table has columns that name the row, and others by title and, behind a comma, unit.
func table(keys []string, titles ...string) render.Table {
	t := render.Table{}
	for _, k := range keys {
		t.Heads = append(t.Heads, render.Head{Title: k, Words: true})
	}
	for _, text := range titles {
		title, unit, _ := strings.Cut(text, ",")
		t.Heads = append(t.Heads, render.Head{Title: title, Unit: unit})
	}
	return t
}

func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return render.Brief(*v)
}

// known is a figure that is 0 where there is none.
func known(v float64) string {
	if v == 0 {
		return optional(nil)
	}
	return render.Brief(v)
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
	for _, flag := range []string{"set", "seed", "wake", "api-latency"} {
		if cmd.Flags().Changed(flag) {
			return badinput.New("leave it out", "--%s means nothing with --against: the run has its own", flag)
		}
	}
	all, left, err := simulate.Against(cmd.Context(), dir, overhead)
	if err != nil {
		return err
	}
	doc := simulate.AgainstDocument{
		Schema: simulate.AgainstSchema, Tolerance: float64(tolerance),
		Cells: append([]simulate.Comparison{}, all...), Left: append([]string{}, left...), // [] rather than null
	}
	var worse []string
	for _, c := range all {
		if c.Telling(doc.Tolerance) {
			doc.Telling++
		}
		if !c.Within(doc.Tolerance) {
			worse = append(worse, fmt.Sprintf("%s: drain %+.1f %%, rate %+.1f %%", c.Cell, 100*c.DrainError, 100*c.RateError))
		}
	}
	if f.format == jsonFormat {
		err = result.EncodeJSON(cmd.OutOrStdout(), doc)
	} else {
		err = writeComparison(cmd.OutOrStdout(), &doc)
	}
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return &verdict{exitInvalid, "no cell could be compared"}
	case len(worse) > 0:
		return &verdict{exitCheck, fmt.Sprintf("%d of %d cells are not predicted within %s: %s", len(worse), len(all),
			f.tolerance, strings.Join(worse, "; "))}
	case doc.Telling == 0:
		return &verdict{exitInvalid,
			"nothing is shown: storage twice as slow would change no drain or storage rate by more than " + f.tolerance}
	}
	return nil
}

func writeComparison(w io.Writer, doc *simulate.AgainstDocument) error {
	fmt.Fprintln(w, "simulated, beside what was measured; m: measured, p: predicted from the arrivals of the op log")
	t := table([]string{"cell", "repetition"}, "sensitive", "overhead,ms", "requests m", "requests p", "drain m,s",
		"drain p,s", "drain error,%",
		"storage m,/s", "storage p,/s", "storage error,%", "freshness p99 m,s", "freshness p99 p,s")
	for _, c := range doc.Cells {
		m, p, sensitive, overhead := &c.Measured, &c.Predicted, "no", fmt.Sprintf("%.2f", c.OverheadMs)
		switch {
		case c.FittedOn > 0:
			overhead += fmt.Sprintf(", of %d others", c.FittedOn)
		case c.OverheadMs == 0:
			overhead = "none"
		default:
			overhead += ", given"
		}
		if c.Telling(doc.Tolerance) {
			sensitive = "yes"
		}
		t.Rows = append(t.Rows, render.Cells(c.Cell, fmt.Sprint(c.Repetition), sensitive, overhead, fmt.Sprint(m.Requests),
			fmt.Sprint(p.Requests),
			render.Brief(m.DrainSeconds), render.Brief(p.DrainSeconds), fmt.Sprintf("%+.1f", 100*c.DrainError),
			render.Brief(m.StorageQPS), render.Brief(p.StorageQPS), fmt.Sprintf("%+.1f", 100*c.RateError),
			render.Brief(m.FreshnessP99), render.Brief(p.FreshnessP99)))
	}
	if err := render.TableTerminal(w, t, terminalOptions(w)); err != nil {
		return err
	}
	if len(doc.Cells) > 0 {
		fmt.Fprintf(w, "%d of %d cells are sensitive: storage twice as slow would change their drain or rate by more than "+
			"%g %%. "+
			"The others follow their load, whatever the model is.\n",
			doc.Telling, len(doc.Cells), 100*doc.Tolerance)
	}
	for _, l := range doc.Left {
		fmt.Fprintln(w, "left out:", l)
	}
	return nil
}
