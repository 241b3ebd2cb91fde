package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/search"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// ofSettings are the flags of tune that mean nothing with --find rate, ofRates those that mean nothing without it.
var (
	ofSettings = []string{"rate", "storage", "profile", "trace", "limit", "queues", "lengths", "repeat", "for", "resume"}
	ofRates    = []string{"resolution", "watcher-command"}
)

// rates reports whether --find asks for rates, and refuses the flags of the other search.
func (f *tuneFlags) rates(cmd *cobra.Command) (bool, error) {
	other := ofRates
	switch f.find {
	case "settings":
	case "rate":
		other = ofSettings
	default:
		return false, badinput.New("use settings or rate", "--find %s is not known", f.find)
	}
	for _, flag := range other {
		if cmd.Flags().Changed(flag) {
			return false, badinput.New("leave it out", "--%s means nothing with --find %s", flag, f.find)
		}
	}
	return f.find == "rate", nil
}

func (f *tuneFlags) findRates(cmd *cobra.Command, args []string) (err error) {
	o, err := f.rateOptions(cmd)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return badinput.New("write for example watchbench tune examples/rate --find rate", "--find rate needs a scenario")
	}
	todo, err := f.read(cmd, args)
	if err != nil {
		return err
	}
	o.Scenario = todo[0].File
	if o.Strategies, err = f.searched(cmd, o.Scenario); err != nil {
		return err
	}
	x, err := search.NewRates(o)
	if err != nil {
		return err
	}
	m, err := f.measurer(cmd, todo[0])
	if err != nil {
		return err
	}
	r, err := x.Run(cmd.Context(), m, m.Line)
	err = errors.Join(err, m.Close())
	if !slices.ContainsFunc(r.Strategies, func(s search.StrategyRate) bool { return len(s.Cells) > 0 }) {
		return err
	}
	r.Command = commandLine()
	if err = errors.Join(err, f.emit(cmd, m.dir, result.RatesFile, r, r.Document())); err != nil {
		return err
	}
	return rateVerdict(r)
}

// rateOptions reads the flags of a search for rates but --strategies.
func (f *tuneFlags) rateOptions(cmd *cobra.Command) (o search.Options, err error) {
	if !cmd.Flags().Changed("objective") {
		f.objective = "freshness.p99=2s"
	}
	if o.Objective, err = search.ParseObjective(f.objective); err != nil {
		return o, err
	}
	if o.Objective.Bound == 0 || o.Objective.Rate > 0 || !strings.HasPrefix(o.Objective.Metric, "freshness.") {
		return o, badinput.New("write for example freshness.p99=2s",
			"--objective %s: --find rate needs a freshness objective with a value", f.objective)
	}
	var share units.Share
	if err := share.UnmarshalText([]byte(f.resolution)); err != nil {
		return o, badinput.New("use 0.5% to 50%, for example 5%", "--resolution %s cannot be used", f.resolution)
	}
	if o.Resolution = float64(share); cmd.Flags().Changed("budget") {
		o.Budget = f.budget
	}
	return o, nil
}

// searched are the strategies of a search for rates: those of --strategies, else of the scenario; none for another
// watcher.
func (f *tuneFlags) searched(cmd *cobra.Command, file *spec.File) (all []string, err error) {
	for _, c := range file.Cells() {
		if w := &c.Scenario.Watcher; w.Command == "" && !slices.Contains(all, w.Strategy) {
			all = append(all, w.Strategy)
		}
	}
	switch {
	case !cmd.Flags().Changed("strategies"):
		return all, nil
	case len(all) == 0:
		return nil, badinput.New("leave it out", "--strategies means nothing for another watcher")
	}
	return f.strategies(spec.Strategies)
}

func rateVerdict(r *search.Rates) error {
	var none, open []string
	for _, s := range r.Strategies {
		switch {
		case s.Rate != nil:
		case slices.ContainsFunc(s.Cells, func(c search.RateCell) bool { return c.Verdict == search.NotCarried }):
			none = append(none, s.Strategy)
		default:
			open = append(open, s.Strategy)
		}
	}
	switch {
	case len(none) > 0:
		return &verdict{exitCheck, "no rate that was tried meets the objective: " + strings.Join(none, ", ")}
	case len(open) > 0:
		return &verdict{exitInvalid, "no rate was decided: " + strings.Join(open, ", ")}
	}
	return nil
}

func kneeCommand() *cobra.Command {
	const instead = "write watchbench tune SCENARIO --find rate --objective freshness.p99=2s"
	return &cobra.Command{
		Use: "knee", Short: "Is now a part of tune: " + instead, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return badinput.New(instead, "watchbench knee is now a part of tune")
		},
	}
}
