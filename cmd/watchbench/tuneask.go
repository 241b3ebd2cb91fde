package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/search"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// question finds what is asked: the scenario to be parsed.
func (f *tuneFlags) question(cmd *cobra.Command, args []string, o search.Objective) (source, error) {
	given := cmd.Flags().Changed
	if len(args) == 1 {
		for _, flag := range []string{"rate", "storage", "profile", "trace", "for"} {
			if given(flag) {
				return source{}, badinput.New("use --set, for example --set load.rate=200",
					"--%s is for a question without a scenario", flag)
			}
		}
		return f.scenario(args[0], o)
	}
	q := search.Question{Trace: f.trace, Profile: f.profile, Length: f.length, Rate: o.Rate}
	var err error
	switch {
	case given("trace") && (given("rate") || given("profile") || given("for") || o.Rate > 0):
		return source{}, badinput.New("leave one of them out",
			"--trace is the load, so --rate, --profile, --for and a rate to reach mean nothing")
	case given("rate"):
		if q.Rate, err = search.ParseRate(f.rate); err != nil {
			return source{}, err
		}
		if o.Rate > 0 && o.Rate != q.Rate {
			return source{}, badinput.New("give one", "--rate %s is not the rate of --objective %s", f.rate, f.objective)
		}
	case !given("trace") && o.Rate == 0:
		return source{}, badinput.New("write for example watchbench tune --rate 200/s --storage 'p50=60ms,p99=400ms'",
			"the load is missing: no scenario, --rate or --trace")
	}
	if !given("storage") {
		return source{}, badinput.New("add for example --storage 'p50=60ms,p99=400ms'",
			"--storage is missing: the time that storage takes to answer")
	}
	if q.Storage, err = search.ParseStorage(f.latency); err != nil {
		return source{}, err
	}
	if q.Profile != "" {
		if f.asked = q.Rate; !given("for") {
			q.Length = profileLength
		}
		return f.profiled(q)
	}
	data, sets, err := q.Source()
	return source{"tune", func(more ...string) (*spec.File, error) {
		return faults.Format.Parse("tune", data, slices.Concat(sets, more)...)
	}}, err
}

// profiled is the shipped scenario of a profile, at the rate that is asked for.
func (f *tuneFlags) profiled(q search.Question) (source, error) {
	if !slices.Contains(plan.ProfileNames(), q.Profile) {
		return source{}, badinput.New("use one of "+strings.Join(plan.ProfileNames(), ", "), "--profile %s is not known",
			q.Profile)
	}
	_, file, err := parse(q.Profile)
	if err != nil {
		return source{}, err
	}
	sets, note, err := q.Profiled(file.Base().Load.Load, file.Base().Seed)
	f.notes = append(f.notes, note)
	return sourceOf(q.Profile, sets...), err
}

// scenario is a scenario of a file, at the rate of the objective if that names one.
func (f *tuneFlags) scenario(ref string, o search.Objective) (source, error) {
	if o.Rate == 0 {
		return sourceOf(ref), nil
	}
	_, file, err := parse(ref)
	if err == nil && file.Base().Load.Profile != "" {
		err = badinput.New("use --rate and --profile", "--objective %s: the rate of %s is of Pods, not of writes",
			f.objective, ref)
	}
	return sourceOf(ref, fmt.Sprintf("load.rate=%g", o.Rate)), err
}

// known are the measurements of an earlier search.
func (f *tuneFlags) known(o search.Options) (cells []result.TunedCell, err error) {
	t, err := result.LoadTuning(filepath.Join(f.earlier, result.TuningFile))
	if err != nil {
		return nil, &badinput.Error{What: "--resume " + f.earlier, Remedy: "name a folder of this version's watchbench tune",
			Err: err}
	}
	if t.Identity != search.Identity(o) {
		return nil, badinput.New("repeat the load, the storage and --set of that command, or drop --resume",
			"--resume %s: it is of another scenario, or one with other overrides", f.earlier)
	}
	for _, c := range t.Candidates {
		cells = append(cells, c.Cells...)
	}
	return cells, nil
}
