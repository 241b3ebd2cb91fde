package main

import (
	"fmt"
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
	sets     []string
	seed     uint64
	overhead time.Duration
	format   string
	quiet    bool
}

func simulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate SCENARIO",
		Short: "Predict the figures of a scenario in virtual time, at any scale",
		Long: `Play each point of a scenario's matrix through the watcher's own queue code in virtual
time, with storage's latency and capacity (docs/tune.md). Nothing is measured. A point
that is not drained at drainTimeout is cut, as in a run; if all are, the exit code is 5.`,
		Example: `  watchbench simulate strategies
  watchbench simulate mine.yaml --set watcher.podQueueNum=2000`,
		Args: needArgs(1, 1, "a scenario, by name or path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := knownFormat(f.format); err != nil {
				return err
			}
			if f.overhead < 0 {
				return badinput.New("give a duration such as 2ms", "--overhead %s is negative", f.overhead)
			}
			return f.simulate(cmd, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.sets, "set", nil, setUsage)
	fl.Uint64Var(&f.seed, "seed", 0, "seed for the plan and storage latency (default: the scenario's)")
	fl.DurationVar(&f.overhead, "overhead", 0, "time per request besides storage latency, such as 700us (default 0)")
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
	}
	cells, cut := file.Cells(), 0
	for i, c := range cells {
		began := time.Now()
		o, err := simulate.Run(cmd.Context(), &c.Scenario, simulate.Options{Seed: f.seed, Overhead: f.overhead})
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
		fmt.Fprintf(out, "simulated: nothing was measured; overhead %s per request\n", f.overhead)
		err = render.TableTerminal(out, pointTable(doc.Points), terminalOptions(out))
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
	load := fmt.Sprintf("%s %s/s × %s", s.Load.Profile, render.Brief(s.Load.MeanRate()), s.Load.Duration)
	if s.Load.Model == result.ModelClosed {
		load = fmt.Sprintf("%s %d threads", s.Load.Profile, s.Load.Threads)
	}
	return strings.TrimSpace(load)
}

func pointTable(points []simulate.Point) render.Table {
	t := render.Table{Heads: []render.Head{
		{Title: "point", Words: true}, {Title: "strategy", Words: true}, {Title: "events"}, {Title: "requests"},
		{Title: "left"}, {Title: "coalesced"}, {Title: "dropped"}, {Title: "drain", Unit: "s"},
		{Title: "storage", Unit: "/s"},
		{Title: "freshness p50", Unit: "s"}, {Title: "freshness p99", Unit: "s"}, {Title: "max depth"},
	}}
	for _, p := range points {
		row := []string{p.Cell, p.Strategy}
		p50, p99 := optional(nil), optional(nil)
		if p.Freshness != nil {
			p50, p99 = render.Brief(p.Freshness.P50), render.Brief(p.Freshness.P99)
		}
		for _, n := range []int64{p.Events, p.Requests, p.Left, p.Coalesced, p.Dropped} {
			row = append(row, fmt.Sprint(n))
		}
		t.Rows = append(t.Rows, render.Cells(append(row, optional(p.DrainSeconds), optional(p.StorageQPS),
			p50, p99, fmt.Sprint(p.WriterMaxDepth+p.HandlerMaxDepth))...))
	}
	return t
}

func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return render.Brief(*v)
}
