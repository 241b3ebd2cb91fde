package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/campaign"
	"github.com/watchbench/watchbench/scenarios/search"
)

type tuneFlags struct {
	runFlags
	rate, latency, profile, trace    string
	objective, queues, lengths, only string
	find, resolution                 string
	limits                           []string
	length, budget                   time.Duration
	earlier                          string
	asked                            float64  // writes per second of a profile
	notes                            []string // how the question became a scenario
}

// profileLength is --for where nothing is said, with a profile: of a shorter load chance has
// too large a part.
const profileLength = 30 * time.Second

func tuneCommand() *cobra.Command {
	f := tuneFlags{objective: "freshness.p99", queues: search.QueueRange.String(), lengths: search.LengthRange.String(),
		length: 20 * time.Second, budget: 8 * time.Minute, find: "settings", resolution: "5%"}
	f.repeat, f.apart = 3, []string{"repeat"}
	cmd := &cobra.Command{
		Use:   "tune [SCENARIO] | tune --rate R --storage L",
		Short: "Find the settings, or the highest rate, for a load and a storage",
		Long: `Search strategy, number of queues and their lengths for an objective (docs/tune.md). The
load is that of a scenario, a recorded trace, or what you know: writes per second and the
storage's latency. Every candidate is screened in virtual time; those near the answer are
measured, and only what was measured is recommended. Configuration fragments for k8s-watch
and bcs-k8s-watch, the reasons and what would change the answer go to a folder.

Objectives: freshness.p99=2s, drain=30s (from the first change), drainAfterLoad=5s,
rate=200/s (carried without loss). With a value, tune looks for the smallest setting that
meets it; without one, for the smallest within 5 % of the fastest it measured.

With --rate or --trace the API server is simulated (provider replay) unless --cluster names
another. Exit code 3 if nothing meets the objective, 5 if that could not be measured.

With --find rate, tune keeps the scenario's settings and finds the highest rate of each
strategy without loss, without a growing backlog and with freshness within the objective.
The scenario needs an open loop with one rate; --set changes it. If the generator is the
limit, the answer is "at least". --strategies, --budget
(default: none), --resolution and --watcher-command apply.`,
		Example: `  watchbench tune --rate 200/s --storage 80ms --profile service-churn
  watchbench tune --rate 200/s --storage p50=60ms,p99=400ms --limit inflight=60
  watchbench tune --trace trace.zst --storage 80ms --objective drainAfterLoad=5s
  watchbench tune replay-burst --objective drain --strategies keyed,partitioned
  watchbench tune examples/rate --find rate --objective freshness.p99=2s
  watchbench tune mine.yaml --find rate --watcher-command './mine -f {config}'`,
		Args:              needArgs(0, 1, "at most one scenario"),
		ValidArgsFunction: scenarioNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.tune(cmd, args) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.find, "find", f.find,
		"what to find: settings, or the highest rate that each strategy of a scenario carries")
	fl.StringVar(&f.resolution, "resolution", f.resolution,
		"with --find rate: how far the highest rate may be from the next that was tried, 0.5% to 50%")
	fl.StringVar(&f.rate, "rate", "", "writes per second that the API server takes, of all kinds watched, such as 200/s")
	fl.StringVar(&f.latency, "storage", "",
		"time to answer one request: 'p50=60ms,p99=400ms', 80ms, or a distribution of storage.latency")
	fl.StringVar(&f.profile, "profile", "",
		"what the writes are, with --rate: a profile of docs/load.md (default: plain Pods)")
	fl.StringVar(&f.trace, "trace", "", "recorded trace that is the load, instead of --rate")
	fl.StringVar(&f.objective, "objective", f.objective,
		"what to reach: "+strings.Join(search.ObjectiveWords(), ", ")+"; with =value, the smallest setting within it")
	fl.StringArrayVar(&f.limits, "limit", nil,
		"what a setting must not exceed: memory=64MiB (of the watcher), inflight=60 (requests)")
	fl.StringVar(&f.queues, "queues", f.queues, "values of podQueueNum to search, from..to")
	fl.StringVar(&f.lengths, "lengths", f.lengths,
		"queue lengths to search, from..to: writerQueueLen and handlerQueueLen, in events")
	fl.StringVar(&f.only, "strategies", strings.Join(search.Strategies, ","), "comma-separated strategies that take part")
	fl.IntVar(&f.repeat, "repeat", f.repeat,
		"how often the recommendation is measured, each time with another seed: 1 to 20")
	fl.DurationVar(&f.length, "for", f.length,
		"length of the load of one measurement, with --rate, 2s to 1h; 30s with --profile unless given")
	fl.DurationVar(&f.budget, "budget", f.budget,
		"time for the whole search, at least 10s; what is not measured by then is not recommended")
	fl.StringVar(&f.earlier, "resume", "", "folder of an earlier tune of the same load, whose measurements are used again")
	formatFlag(cmd, &f.format)
	offer(cmd, "find", "settings", "rate")
	offer(cmd, "profile", plan.ProfileNames()...)
	offer(cmd, "objective", "freshness.p99=", "freshness.p99", "freshness.p50=", "freshness.max=", "drain=", "drain",
		"drainAfterLoad=", "rate=")
	offer(cmd, "limit", "memory=", "inflight=")
	offerList(cmd, "strategies", search.Strategies...)
	offerBy(cmd, "resume", folders)
	return cmd
}

// options reads all flags but those of the scenario.
func (f *tuneFlags) options() (o search.Options, err error) {
	if o.Objective, err = search.ParseObjective(f.objective); err != nil {
		return o, err
	}
	if o.Limits, err = search.ParseLimits(f.limits); err != nil {
		return o, err
	}
	if o.Queues, err = search.ParseRange("queues", f.queues, search.QueueRange); err != nil {
		return o, err
	}
	if o.Lengths, err = search.ParseRange("lengths", f.lengths, search.LengthRange); err != nil {
		return o, err
	}
	if o.Strategies, err = f.strategies(search.Strategies); err != nil {
		return o, err
	}
	switch {
	case f.repeat < 1 || f.repeat > 20:
		return o, badinput.New("use 1 to 20", "--repeat %d is out of range", f.repeat)
	case f.length < 2*time.Second || f.length > time.Hour:
		return o, badinput.New("use 2s to 1h", "--for %s is out of range", f.length)
	}
	o.Repeat, o.Budget, o.Simulate = f.repeat, f.budget, search.Virtual()
	return o, nil
}

func (f *tuneFlags) strategies(known []string) (all []string, err error) {
	for s := range strings.SplitSeq(f.only, ",") {
		if s = strings.TrimSpace(s); !slices.Contains(known, s) || slices.Contains(all, s) {
			return nil, badinput.New(badinput.Ask(badinput.Nearest(s, known), "use some of "+strings.Join(known, ", ")),
				"--strategies %s: %q is not one, or is there twice", f.only, s)
		}
		all = append(all, s)
	}
	return all, nil
}

func (f *tuneFlags) tune(cmd *cobra.Command, args []string) (err error) {
	if err := knownFormat(f.format); err != nil {
		return err
	}
	if f.budget < 10*time.Second {
		return badinput.New("use 10s or more", "--budget %s is less than one measurement takes", f.budget)
	}
	if rates, err := f.rates(cmd); rates || err != nil {
		if err == nil {
			err = f.findRates(cmd, args)
		}
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	src, err := f.question(cmd, args, o.Objective)
	if err != nil {
		return err
	}
	todo, err := f.parseAll(cmd, []source{src})
	if err != nil {
		return err
	}
	o.Scenario, o.Asked = todo[0].File, f.asked
	if f.earlier != "" {
		if o.Known, err = f.known(o); err != nil {
			return err
		}
	}
	x, err := search.New(o)
	if err != nil {
		return err
	}
	m, err := f.measurer(cmd, campaign.Scenario{Name: src.name, File: o.Scenario})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for _, n := range f.notes {
		m.Line(n)
	}
	t, err := x.Run(cmd.Context(), m, m.Line)
	if err == nil || t.Measured+t.Reused > 0 {
		t.Notes = slices.Concat(f.notes, t.Notes)
		err = errors.Join(err, f.publish(cmd, m.dir, t))
	}
	if err != nil {
		return err
	}
	return tuneVerdict(t)
}

// publish writes the answer into its folder and prints it.
func (f *tuneFlags) publish(cmd *cobra.Command, dir string, t *result.Tuning) error {
	for i := range t.Fragments {
		if err := checkFragment(&t.Fragments[i]); err != nil {
			return err
		}
	}
	err := f.emit(cmd, dir, result.TuningFile, t, render.TuningDocument(t))
	for _, g := range t.Fragments {
		err = errors.Join(err, result.Replace(filepath.Join(dir, g.File), func(w io.Writer) error {
			_, err := io.WriteString(w, g.Text)
			return err
		}))
	}
	if t.Interrupted {
		fmt.Fprintf(cmd.ErrOrStderr(), "the same command with --resume %s uses again what was measured\n", relative(dir))
	}
	return err
}

func tuneVerdict(t *result.Tuning) error {
	if t.Met {
		return nil
	}
	if c := t.At(t.Best); c == nil || len(c.Cells) == 0 || c.Verdict == result.TunedInvalid {
		return &verdict{exitInvalid, "no setting could be confirmed by a valid measurement"}
	}
	return &verdict{exitCheck, "no setting that was tried meets the objective " + t.Objective.Text}
}

// emit writes a report to a folder (the record as JSON, the page and Markdown) and prints it.
func (f *tuneFlags) emit(cmd *cobra.Command, dir, name string, record any, d *render.Document) error {
	err := errors.Join(
		result.Replace(filepath.Join(dir, name), func(w io.Writer) error { return result.EncodeJSON(w, record) }),
		result.Replace(filepath.Join(dir, "index.html"), func(w io.Writer) error { return render.DocumentHTML(w, d) }),
		result.Replace(filepath.Join(dir, "report.md"), func(w io.Writer) error { return render.DocumentMarkdown(w, d) }),
	)
	out := cmd.OutOrStdout()
	if f.format == jsonFormat {
		return errors.Join(err, result.EncodeJSON(out, record))
	}
	err = errors.Join(err, render.DocumentTerminal(out, d, terminalOptions(out)))
	_, werr := fmt.Fprintf(out, "\n%s\n", filepath.Join(relative(dir), "index.html"))
	return errors.Join(err, werr)
}
