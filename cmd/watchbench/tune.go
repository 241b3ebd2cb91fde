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
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/search"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type tuneFlags struct {
	runFlags
	find, rate, burst, latency, profile string
	objective, queues, only             string
	length, budget                      time.Duration
}

// profileLength is --for where nothing is said, with a profile: of a shorter load chance has too large a part.
const profileLength = 30 * time.Second

func tuneCommand() *cobra.Command {
	f := tuneFlags{objective: search.DefaultObjective, queues: search.QueueRange.String(), length: 20 * time.Second,
		budget: 8 * time.Minute, find: "settings"}
	f.repeat, f.apart = 3, []string{"repeat", "budget"}
	cmd := &cobra.Command{
		Use:   "tune [SCENARIO] | tune --rate R --storage L",
		Short: "Find the settings, or the highest rate, for a load and a storage",
		Long: `Find the strategy, the number of queues and their lengths for an objective, or with --find rate
the highest rate of each strategy (docs/tune.md). The load comes from a scenario, or from the
writes per second and the storage latency that you give; the API server is then simulated
unless --cluster names another. Candidates are played in virtual time, and those near the
answer are measured. Exit code 3 if nothing meets the objective, 5 if that could not be measured.`,
		Example: `  watchbench tune --rate 200/s --storage 80ms --profile service-churn
  watchbench tune --rate 20/s --burst 150/s:5s --storage 'p50=60ms,p99=400ms'
  watchbench tune replay-burst --objective drain=30s --strategies keyed
  watchbench tune examples/rate --find rate
  watchbench tune mine.yaml --find rate --watcher-command './mine -f {config}'`,
		Args: needArgs(0, 1, "at most one scenario"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.tune(cmd, args) },
	}
	f.common(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.find, "find", f.find, "what to find: settings, or the highest rate of each strategy of a scenario")
	fl.StringVar(&f.rate, "rate", "", "writes per second, of all kinds watched, such as 200/s")
	fl.StringVar(&f.latency, "storage", "",
		"time to answer one request: 'p50=60ms,p99=400ms', 80ms, or a distribution of storage.latency")
	fl.StringVar(&f.burst, "burst", "", "a burst in the middle of the load: its rate, instead of --rate, and length, "+
		"such as 150/s:5s")
	fl.StringVar(&f.profile, "profile", "", "what the writes are, with --rate: a shipped profile (default: plain Pods)")
	fl.StringVar(&f.objective, "objective", f.objective,
		"figure and bound: one of "+strings.Join(search.ObjectiveWords(), ", ")+", with =time")
	fl.StringVar(&f.queues, "queues", f.queues, "values of podQueueNum to search, from..to")
	fl.StringVar(&f.only, "strategies", strings.Join(search.Strategies, ","), "comma-separated strategies that take part")
	fl.IntVar(&f.repeat, "repeat", f.repeat, "how often the answer is measured, each time with another seed: 1 to 20")
	fl.DurationVar(&f.length, "for", f.length, "length of one measurement's load, with --rate; 30s with --profile")
	fl.DurationVar(&f.budget, "budget", f.budget, "time for the search, at least 10s; with --find rate none by default")
	formatFlag(cmd, &f.format)
	return cmd
}

func (f *tuneFlags) options(cmd *cobra.Command) (o search.Options, err error) {
	if o.Objective, err = search.ParseObjective(f.objective); err != nil {
		return o, err
	}
	if o.Queues, err = search.ParseQueues(f.queues); err != nil {
		return o, err
	}
	given := cmd.Flags().Changed
	o.Rate, o.Repeat, o.Budget, o.Simulate = f.find == "rate", f.repeat, f.budget, search.Virtual
	if o.Rate && !given("budget") {
		o.Budget = 0
	}
	switch {
	case f.find != "settings" && f.find != "rate":
		return o, badinput.New("use settings or rate", "--find %s is not known", f.find)
	case o.Rate && given("queues"):
		return o, badinput.New("leave it out", "--queues means nothing with --find rate")
	case !o.Rate && given("watcher-command"):
		return o, badinput.New("leave it out", "--watcher-command means nothing with --find settings")
	case f.budget < 10*time.Second:
		return o, badinput.New("use 10s or more", "--budget %s is less than one measurement takes", f.budget)
	case f.repeat < 1 || f.repeat > 20:
		return o, badinput.New("use 1 to 20", "--repeat %d is out of range", f.repeat)
	case f.length < 2*time.Second || f.length > time.Hour:
		return o, badinput.New("use 2s to 1h", "--for %s is out of range", f.length)
	}
	return o, nil
}

// strategies returns the strategies of the flag or, without it, all that can be searched: in a search for rates the
// scenario's, and none for another watcher.
func (f *tuneFlags) strategies(cmd *cobra.Command, file *spec.File, rate bool) (all []string, err error) {
	known := search.Strategies
	if rate {
		known = spec.Strategies
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
		all = nil
	}
	for s := range strings.SplitSeq(f.only, ",") {
		if s = strings.TrimSpace(s); !slices.Contains(known, s) || slices.Contains(all, s) {
			return nil, badinput.New(badinput.Ask(badinput.Nearest(s, known), "use some of "+strings.Join(known, ", ")),
				"--strategies %s: %q is not a choice, or is listed twice", f.only, s)
		}
		all = append(all, s)
	}
	return all, nil
}

func (f *tuneFlags) question(cmd *cobra.Command, args []string) (s source, err error) {
	given := cmd.Flags().Changed
	if len(args) == 1 {
		for _, flag := range []string{"rate", "burst", "storage", "profile", "for"} {
			if given(flag) {
				return s, badinput.New("use --set, for example --set load.rate=200",
					"--%s is for a question without a scenario", flag)
			}
		}
		return sourceOf(args[0]), nil
	}
	switch {
	case !given("rate"):
		return s, badinput.New("write for example watchbench tune --rate 200/s --storage 'p50=60ms,p99=400ms'",
			"the load is missing: no scenario and no --rate")
	case f.find == "rate":
		return s, badinput.New("write for example watchbench tune examples/rate --find rate", "--find rate needs a scenario")
	case !given("storage"):
		return s, badinput.New("add for example --storage 'p50=60ms,p99=400ms'",
			"--storage is missing: the time that storage takes to answer")
	case f.profile != "" && !slices.Contains(plan.ProfileNames(), f.profile):
		return s, badinput.New("use one of "+strings.Join(plan.ProfileNames(), ", "), "--profile %s is not known", f.profile)
	}
	q := search.Question{Length: f.length}
	if q.Rate, err = search.ParseRate(f.rate); err != nil {
		return s, err
	}
	if q.Storage, err = search.ParseStorage(f.latency); err != nil {
		return s, err
	}
	if given("burst") {
		if q.Burst, err = search.ParseBurst(f.burst, f.length); err != nil {
			return s, err
		}
		if f.profile != "" {
			return s, badinput.New("leave one of them out, or give a scenario with the profile and load.steps",
				"--burst is of plain Pods, not of --profile")
		}
	}
	s = source{result.TuningQuestion, func(sets ...string) (*spec.File, error) {
		return faults.Format.Parse(result.TuningQuestion, []byte(search.Plain), sets...)
	}}
	if f.profile != "" {
		if s = sourceOf(f.profile); !given("for") {
			q.Length = profileLength
		}
	}
	file, err := s.parse()
	if err != nil {
		return s, err
	}
	base := file.Base()
	sets, err := q.Sets(&base)
	name, below := s.name, s.parse
	return source{name, func(more ...string) (*spec.File, error) { return below(slices.Concat(sets, more)...) }}, err
}

func (f *tuneFlags) tune(cmd *cobra.Command, args []string) (err error) {
	if err := knownFormat(f.format); err != nil {
		return err
	}
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	src, err := f.question(cmd, args)
	if err != nil {
		return err
	}
	todo, err := f.parseAll(cmd, []source{src})
	if err != nil {
		return err
	}
	o.Scenario = todo[0].File
	if o.Strategies, err = f.strategies(cmd, o.Scenario, o.Rate); err != nil {
		return err
	}
	x, err := search.New(o)
	if err != nil {
		return err
	}
	m, err := f.measurer(cmd, runner.Scenario{Name: src.name, File: o.Scenario})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	t, err := x.Run(cmd.Context(), m, m.progress.Line)
	if err == nil || t.Measured > 0 {
		err = errors.Join(err, f.publish(cmd, m.dir, t))
	}
	if err != nil {
		return err
	}
	return tuneVerdict(t)
}

// publish writes the answer into its folder (the record as JSON, the page, Markdown and the fragments) and prints it.
func (f *tuneFlags) publish(cmd *cobra.Command, dir string, t *result.Tuning) (err error) {
	d := render.TuningDocument(t)
	save := func(name string, write func(io.Writer) error) {
		err = errors.Join(err, result.Replace(filepath.Join(dir, name), write))
	}
	save(result.TuningFile, func(w io.Writer) error { return result.EncodeJSON(w, t) })
	page := filepath.Join(relative(dir), "index.html")
	save("index.html", func(w io.Writer) error { return render.DocumentHTML(w, d) })
	save("report.md", func(w io.Writer) error { return render.DocumentMarkdown(w, d) })
	for i := range t.Fragments {
		save(t.Fragments[i].File, func(w io.Writer) error {
			_, err := io.WriteString(w, t.Fragments[i].Text)
			return err
		})
	}
	out := cmd.OutOrStdout()
	if f.format == jsonFormat {
		return errors.Join(err, result.EncodeJSON(out, t))
	}
	err = errors.Join(err, render.DocumentTerminal(out, d, terminalOptions(out)))
	if err == nil { // else the page may not be there
		_, err = fmt.Fprintf(out, "\n%s\n", page)
	}
	return err
}

func tuneVerdict(t *result.Tuning) error {
	switch {
	case t.Met:
		return nil
	case !slices.ContainsFunc(t.Candidates, func(c result.TunedCandidate) bool {
		return c.Verdict == result.TunedFails || c.Verdict == result.TunedWrong
	}):
		return &verdict{exitInvalid, "nothing could be confirmed by a valid measurement; run it again on a less busy machine"}
	}
	return &verdict{exitCheck, "nothing that was tried meets the objective " + t.Objective.Text}
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
