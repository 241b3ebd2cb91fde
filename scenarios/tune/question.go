package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/trace"
	"github.com/watchbench/watchbench/scenarios/party"
)

// Question is what somebody knows who has no scenario.
type Question struct {
	Rate    float64       // writes per second
	Storage string        // latency, as ParseStorage returns it
	Profile string        // of the load; empty: plain Pods
	Length  time.Duration // of the load
	Trace   string        // a recording, instead of rate and profile
}

// traced is a question about a recording, plain one without a profile: an open load of Pods.
const (
	traced = `# Made by watchbench tune.
apiVersion: watchbench/v1
kind: Scenario
metadata: {name: tune}
cluster: {provider: replay}
watcher:
  synchronizer: {disabled: true}  # what a strategy loses is not to be repaired
`
	plain = traced + `load: {model: open, arrival: poisson, lifecycle: pod/fast, objectBytes: 3KiB}
`
)

// Source is the scenario of a question without a profile, and the overrides that make it the
// question.
func (q Question) Source() (data []byte, sets []string, err error) {
	sets = append(sets, "storage.latency="+strconv.Quote(q.Storage))
	if q.Trace == "" {
		return []byte(plain), append(sets, "load.rate="+number(q.Rate), "load.duration="+q.Length.String()), nil
	}
	kinds, err := recorded(q.Trace)
	if err != nil {
		return nil, nil, err
	}
	return []byte(traced), append(sets, "cluster.replay.trace="+strconv.Quote(q.Trace), "watcher.resources=["+strings.Join(kinds, ",")+"]"), nil
}

// recorded are the kinds of a recording that the watcher can be told of.
func recorded(path string) (kinds []string, err error) {
	t, err := trace.Open(path)
	if err != nil {
		return nil, &badinput.Error{What: "--trace " + path, Remedy: "name a file of watchbench record", Err: err}
	}
	for _, r := range t.Header().Resources {
		if party.Watchable(r.Kind) && !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, podKind) {
		return nil, badinput.New("record with --resources pods,…", "--trace %s has no Pods", path)
	}
	return kinds, nil
}

// Profiled overrides the scenario of a profile: its rate of pods is such that the plan has the
// writes per second that were asked for. The note says how that came about.
func (q Question) Profiled(l plan.Load, seed uint64) (sets []string, note string, err error) {
	pods, perPod, got, err := q.pods(l, seed)
	if err != nil {
		return nil, "", err
	}
	sets = []string{"cluster.provider=replay", "load.rate=" + number(pods), "load.duration=" + q.Length.String(), "watcher.synchronizer.disabled=true"}
	if q.Storage != "" {
		sets = append(sets, "storage.latency="+strconv.Quote(q.Storage))
	}
	note = fmt.Sprintf("%s writes/s of profile %s: %s pods/s, each of about %s writes in its life; plans of %s have %s writes/s on average, those used %s ± %.0f %%",
		figure(q.Rate), l.Profile, figure(pods), figure(perPod), q.Length, figure(got), figure(q.Rate), 100*nearRate)
	return sets, note, nil
}

const (
	// nearRate is how far the rate of a plan may be from what was asked for. Profiles scale by
	// chance, some of them by a hundred Pods at once: of 30 s each seed has another rate.
	nearRate = 0.05
	// averaged is how many plans a profile's rate is the mean of.
	averaged = 16
	// guessedPods is the rate of Pods at which their writes are counted first.
	guessedPods = 5
	// maxTries bounds how often the rate is corrected: by chance the mean does not grow evenly.
	maxTries = 8
	// maxSeeds is how many plans are looked at for one with the rate that was asked for.
	maxSeeds = 200
)

// pods finds the Pods per second with which a profile's plans have the rate of writes on
// average. It begins with the writes of a Pod at some rate.
func (q Question) pods(l plan.Load, seed uint64) (pods, perPod, got float64, err error) {
	l.Profile, l.Model = q.Profile, plan.ModelOpen
	l.Duration = units.Duration(q.Length)
	l.Rate = guessedPods
	fixed, perPod, err := writesOf(l, seed)
	if err != nil {
		return 0, 0, 0, err
	}
	if perPod <= 0 {
		return 0, 0, 0, badinput.New("use another profile", "--profile %s: its writes do not follow from a rate", q.Profile)
	}
	if q.Rate <= fixed {
		return 0, 0, 0, badinput.New(fmt.Sprintf("use more than %s/s", figure(fixed)), "--rate %s/s: profile %s makes %s writes/s by the clock alone", figure(q.Rate), q.Profile, figure(fixed))
	}
	next := (q.Rate - fixed) / perPod
	for range maxTries {
		l.Rate = math.Round(next*1e4) / 1e4
		mean := 0.0
		for i := range uint64(averaged) {
			n, err := rateOf(l, seed+i)
			if err != nil {
				return 0, 0, 0, &badinput.Error{What: fmt.Sprintf("--rate %s/s of profile %s, which is %s pods/s", figure(q.Rate), q.Profile, figure(next)), Err: err}
			}
			mean += n / averaged
		}
		if pods == 0 || math.Abs(mean-q.Rate) < math.Abs(got-q.Rate) {
			pods, got = l.Rate, mean
		}
		if math.Abs(mean-q.Rate) <= nearRate*q.Rate || mean <= fixed {
			break
		}
		next *= (q.Rate - fixed) / (mean - fixed)
	}
	if math.Abs(got-q.Rate) > 4*nearRate*q.Rate {
		return 0, 0, 0, badinput.New("use a longer --for, or another rate", "--rate %s/s: plans of profile %s come to %s/s on average", figure(q.Rate), q.Profile, figure(got))
	}
	return pods, perPod, got, nil
}

// writesOf is the writes per second that plans have by the clock alone, and those for each Pod.
func writesOf(l plan.Load, seed uint64) (fixed, perPod float64, err error) {
	for i := range uint64(averaged) {
		p, err := plan.New(plan.Config{Seed: seed + i, RunID: "tune", Load: l})
		if err != nil {
			return 0, 0, err
		}
		for kind, e := range p.Expect(l.Duration.Std(), 0) {
			if plan.ByTheClock(kind) {
				fixed += float64(e.Writes) / averaged / l.Duration.Std().Seconds()
			} else {
				perPod += float64(e.Writes) / averaged / l.Duration.Std().Seconds() / l.Rate
			}
		}
	}
	return fixed, perPod, nil
}

// rateOf is the writes per second of a plan.
func rateOf(l plan.Load, seed uint64) (float64, error) {
	p, err := plan.New(plan.Config{Seed: seed, RunID: "tune", Load: l})
	if err != nil {
		return 0, err
	}
	return float64(p.Planned()) / l.Duration.Std().Seconds(), nil
}
