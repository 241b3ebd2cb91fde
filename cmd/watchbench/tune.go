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
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/scenarios/tune"
)

type tuneFlags struct {
	runFlags
	rate, latency, profile, trace    string
	objective, queues, lengths, only string
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
	f := tuneFlags{objective: "freshness.p99", queues: tune.QueueRange.String(), lengths: tune.LengthRange.String(), length: 20 * time.Second, budget: 8 * time.Minute}
	f.repeat = 3
	cmd := &cobra.Command{
		Use:   "tune [SCENARIO] | tune --rate R --storage L",
		Short: "Find the settings that a load and a storage need",
		Long: `Search strategy, number of queues and their lengths for an objective (docs/tune.md). The
load is that of a scenario, a recorded trace, or what you know: writes per second and the
storage's latency. Every candidate is screened in virtual time; those near the answer are
measured, and only what was measured is recommended. Configuration fragments for k8s-watch
and bcs-k8s-watch, the reasons and what would change the answer go to a folder.

An objective with a value asks for the smallest setting within it, one without for the
smallest within 5 % of the lowest: freshness.p99=2s, drain=30s (from the first change),
drainAfterLoad=5s, rate=200/s (carried without loss).

With --rate or --trace the API server is simulated (provider replay) unless --cluster names
another. Exit code 3 if nothing meets the objective, 5 if that could not be measured.`,
		Example: `  watchbench tune --rate 200/s --storage 80ms --profile service-churn
  watchbench tune --rate 200/s --storage p50=60ms,p99=400ms --limit inflight=60
  watchbench tune --trace trace.zst --storage 80ms --objective drainAfterLoad=5s
  watchbench tune replay-burst --objective drain --strategies keyed,partitioned`,
		Args:              needArgs(0, 1, "at most one scenario"),
		ValidArgsFunction: scenarioNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.tune(cmd, args) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.rate, "rate", "", "writes per second that the API server takes, of all kinds watched, such as 200/s")
	fl.StringVar(&f.latency, "storage", "", "time to answer one request: 'p50=60ms,p99=400ms', 80ms, or a distribution of storage.latency")
	fl.StringVar(&f.profile, "profile", "", "what the writes are, with --rate: a profile of docs/load.md (default: plain Pods)")
	fl.StringVar(&f.trace, "trace", "", "recorded trace that is the load, instead of --rate")
	fl.StringVar(&f.objective, "objective", f.objective, "what to reach: "+strings.Join(tune.ObjectiveWords(), ", ")+"; with =value, the smallest setting within it")
	fl.StringArrayVar(&f.limits, "limit", nil, "what a setting must not exceed: memory=64MiB (of the watcher), inflight=60 (requests)")
	fl.StringVar(&f.queues, "queues", f.queues, "values of podQueueNum to search, from..to")
	fl.StringVar(&f.lengths, "lengths", f.lengths, "queue lengths to search, from..to: writerQueueLen and handlerQueueLen, in events")
	fl.StringVar(&f.only, "strategies", strings.Join(tune.Strategies, ","), "comma-separated strategies that take part")
	fl.IntVar(&f.repeat, "repeat", f.repeat, "how often the recommendation is measured, each time with another seed: 1 to 20")
	fl.DurationVar(&f.length, "for", f.length, "length of the load of one measurement, with --rate, 2s to 1h; 30s with --profile unless given")
	fl.DurationVar(&f.budget, "budget", f.budget, "time for measuring, at least 10s; what is not measured by then is not recommended")
	fl.StringVar(&f.earlier, "resume", "", "folder of an earlier tune of the same load, whose measurements are used again")
	offer(cmd, "profile", plan.ProfileNames()...)
	offer(cmd, "objective", "freshness.p99=", "freshness.p99", "freshness.p50=", "freshness.max=", "drain=", "drain", "drainAfterLoad=", "rate=")
	offer(cmd, "limit", "memory=", "inflight=")
	offerList(cmd, "strategies", tune.Strategies...)
	offerBy(cmd, "resume", folders)
	return cmd
}

// options reads all flags but those of the scenario.
func (f *tuneFlags) options() (o tune.Options, err error) {
	if o.Objective, err = tune.ParseObjective(f.objective); err != nil {
		return o, err
	}
	if o.Limits, err = tune.ParseLimits(f.limits); err != nil {
		return o, err
	}
	if o.Queues, err = tune.ParseRange("queues", f.queues, tune.QueueRange); err != nil {
		return o, err
	}
	if o.Lengths, err = tune.ParseRange("lengths", f.lengths, tune.LengthRange); err != nil {
		return o, err
	}
	for s := range strings.SplitSeq(f.only, ",") {
		if s = strings.TrimSpace(s); !slices.Contains(tune.Strategies, s) || slices.Contains(o.Strategies, s) {
			return o, badinput.New("use some of "+strings.Join(tune.Strategies, ", "), "--strategies %s: %q is not one, or is there twice", f.only, s)
		}
		o.Strategies = append(o.Strategies, s)
	}
	switch {
	case f.repeat < 1 || f.repeat > 20:
		return o, badinput.New("use 1 to 20", "--repeat %d is out of range", f.repeat)
	case f.length < 2*time.Second || f.length > time.Hour:
		return o, badinput.New("use 2s to 1h", "--for %s is out of range", f.length)
	case f.budget < 10*time.Second:
		return o, badinput.New("use 10s or more", "--budget %s is less than one measurement takes", f.budget)
	}
	o.Repeat, o.Budget, o.Simulate = f.repeat, f.budget, tune.Virtual()
	return o, nil
}

// question finds what is asked: the scenario to be parsed.
func (f *tuneFlags) question(cmd *cobra.Command, args []string, o tune.Objective) (source, error) {
	var q tune.Question
	var err error
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	switch {
	case len(args) == 1 && (given("rate") || given("storage") || given("profile") || given("trace") || given("for")):
		return source{}, badinput.New("use --set, for example --set load.rate=200", "--rate, --storage, --profile, --trace and --for are for a question without a scenario")
	case len(args) == 1:
		return f.scenario(args[0], o)
	case given("trace") && (given("rate") || given("profile") || given("for") || o.Rate > 0):
		return source{}, badinput.New("leave one of them out", "--trace is the load, so --rate, --profile, --for and a rate to reach mean nothing")
	case !given("trace") && !given("rate") && o.Rate == 0:
		return source{}, badinput.New("write for example watchbench tune --rate 200/s --storage 'p50=60ms,p99=400ms'", "there is no load: no scenario, --rate or --trace")
	}
	q.Trace, q.Profile, q.Length, q.Rate = f.trace, f.profile, f.length, o.Rate
	if given("rate") {
		if q.Rate, err = tune.ParseRate(f.rate); err != nil {
			return source{}, err
		}
		if o.Rate > 0 && o.Rate != q.Rate {
			return source{}, badinput.New("give one", "--rate %s is not the rate of --objective %s", f.rate, f.objective)
		}
	}
	if !given("storage") {
		return source{}, badinput.New("add for example --storage 'p50=60ms,p99=400ms'", "--storage is missing: the time that storage takes to answer")
	}
	if q.Storage, err = tune.ParseStorage(f.latency); err != nil {
		return source{}, err
	}
	if q.Profile != "" {
		if f.asked = q.Rate; !given("for") {
			q.Length = profileLength
		}
		return f.profiled(q)
	}
	data, sets, err := q.Source()
	if err != nil {
		return source{}, err
	}
	return source{"tune", func(more ...string) (*spec.File, error) {
		return faults.Format.Parse("tune", data, slices.Concat(sets, more)...)
	}}, nil
}

// profiled is the shipped scenario of a profile, at the rate that is asked for.
func (f *tuneFlags) profiled(q tune.Question) (source, error) {
	if !slices.Contains(plan.ProfileNames(), q.Profile) {
		return source{}, badinput.New("use one of "+strings.Join(plan.ProfileNames(), ", "), "--profile %s is not known", q.Profile)
	}
	_, file, err := parse(q.Profile)
	if err != nil {
		return source{}, err
	}
	base := file.Base()
	sets, note, err := q.Profiled(base.Load.Load, base.Seed)
	if err != nil {
		return source{}, err
	}
	f.notes = append(f.notes, note)
	return source{q.Profile, func(more ...string) (*spec.File, error) {
		_, file, err := parse(q.Profile, slices.Concat(sets, more)...)
		return file, err
	}}, nil
}

// scenario is a scenario of a file, at the rate of the objective if that names one.
func (f *tuneFlags) scenario(ref string, o tune.Objective) (source, error) {
	var sets []string
	if o.Rate > 0 {
		_, file, err := parse(ref)
		if err != nil {
			return source{}, err
		}
		base := file.Base()
		if base.Load.Profile != "" {
			return source{}, badinput.New("use --rate and --profile", "--objective %s: the rate of %s is of Pods, not of writes", f.objective, ref)
		}
		sets = append(sets, fmt.Sprintf("load.rate=%g", o.Rate))
	}
	return source{ref, func(more ...string) (*spec.File, error) {
		_, file, err := parse(ref, slices.Concat(sets, more)...)
		return file, err
	}}, nil
}

func (f *tuneFlags) tune(cmd *cobra.Command, args []string) (err error) {
	o, err := f.options()
	if err != nil {
		return err
	}
	src, err := f.question(cmd, args, o.Objective)
	if err != nil {
		return err
	}
	// The number of repetitions is the search's, not the scenario's.
	repeat := f.repeat
	cmd.Flags().Lookup("repeat").Changed = false
	todo, err := f.parseAll(cmd, []source{src})
	if err != nil {
		return err
	}
	o.Scenario, o.Repeat, o.Asked = todo[0].File, repeat, f.asked
	if f.earlier != "" {
		if o.Known, err = f.known(o); err != nil {
			return err
		}
	}
	search, err := tune.New(o)
	if err != nil {
		return err
	}
	m, err := f.measurer(cmd, "tune", campaign.Scenario{Name: src.name, File: o.Scenario})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for _, n := range f.notes {
		m.Line(n)
	}
	search.Use(m, m.Line)
	t, err := search.Run(cmd.Context())
	if err == nil || t.Measured+t.Reused > 0 {
		t.Notes = slices.Concat(f.notes, t.Notes)
		err = errors.Join(err, f.publish(cmd, m.dir, t))
	}
	if err != nil {
		return err
	}
	return tuneVerdict(t)
}

// known are the measurements of an earlier search.
func (f *tuneFlags) known(o tune.Options) (cells []result.TunedCell, err error) {
	t, err := result.LoadTuning(filepath.Join(f.earlier, result.TuningFile))
	if err != nil {
		return nil, &badinput.Error{What: "--resume " + f.earlier, Remedy: "name a folder of watchbench tune", Err: err}
	}
	if t.Identity != tune.Identity(o) {
		return nil, badinput.New("repeat the load, the storage and --set of that command, or drop --resume", "--resume %s: it is of another scenario, or one with other overrides", f.earlier)
	}
	for _, c := range t.Candidates {
		cells = append(cells, c.Cells...)
	}
	return cells, nil
}

// publish writes the answer into its folder and prints it.
func (f *tuneFlags) publish(cmd *cobra.Command, dir string, t *result.Tuning) error {
	for i := range t.Fragments {
		if err := checkFragment(&t.Fragments[i]); err != nil {
			return err
		}
	}
	doc := render.TuningDocument(t)
	files := map[string]func(io.Writer) error{
		result.TuningFile: func(w io.Writer) error { return result.EncodeTuning(w, t) },
		"report.md":       func(w io.Writer) error { return render.DocumentMarkdown(w, doc) },
		"index.html":      func(w io.Writer) error { return render.DocumentHTML(w, doc) },
	}
	for _, g := range t.Fragments {
		files[g.File] = func(w io.Writer) error { _, err := io.WriteString(w, g.Text); return err }
	}
	var err error
	for name, write := range files {
		err = errors.Join(err, result.Replace(filepath.Join(dir, name), write))
	}
	err = errors.Join(err, render.DocumentTerminal(cmd.OutOrStdout(), doc, terminalOptions(cmd.OutOrStdout())))
	fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", filepath.Join(relative(dir), "index.html"))
	if t.Interrupted {
		fmt.Fprintf(cmd.ErrOrStderr(), "the same command with --resume %s uses again what was measured\n", relative(dir))
	}
	return err
}

// tuneVerdict is the exit code of an answer.
func tuneVerdict(t *result.Tuning) error {
	if t.Met {
		return nil
	}
	if c := t.At(t.Best); c == nil || len(c.Cells) == 0 || c.Verdict == result.TunedInvalid {
		return &verdict{exitInvalid, "no setting could be confirmed by a valid measurement"}
	}
	return &verdict{exitCheck, "no setting that was tried meets the objective " + t.Objective.Text}
}

var _ tune.Measurer = (*measurer)(nil)
