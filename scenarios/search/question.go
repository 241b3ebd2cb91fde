package search

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

// Question describes load and storage without a scenario.
type Question struct {
	Rate    float64       // writes per second
	Storage string        // latency, as ParseStorage returns it
	Profile string        // of the load; empty: plain Pods
	Length  time.Duration // of the load
	Trace   string        // a recording, instead of rate and profile
}

// traced is the scenario of a recording, plain that of an open load of Pods.
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

// Source returns the scenario of a question without a profile, and its overrides.
func (q Question) Source() (data []byte, sets []string, err error) {
	sets = append(sets, "storage.latency="+strconv.Quote(q.Storage))
	if q.Trace == "" {
		return []byte(plain), append(sets, "load.rate="+number(q.Rate), "load.duration="+q.Length.String()), nil
	}
	kinds, err := recorded(q.Trace)
	if err != nil {
		return nil, nil, err
	}
	sets = append(sets, "cluster.replay.trace="+strconv.Quote(q.Trace), "watcher.resources=["+strings.Join(kinds, ",")+"]")
	return []byte(traced), sets, nil
}

// recorded lists the kinds of a recording that the watcher can watch.
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

// Profiled returns overrides for the scenario of a profile, with the rate of Pods at which plans have
// the requested writes per second, and a note that explains it.
func (q Question) Profiled(l plan.Load, seed uint64) (sets []string, note string, err error) {
	pods, got, err := q.pods(l, seed)
	if err != nil {
		return nil, "", err
	}
	sets = []string{
		"cluster.provider=replay", "load.rate=" + number(pods), "load.duration=" + q.Length.String(),
		"watcher.synchronizer.disabled=true", "storage.latency=" + strconv.Quote(q.Storage),
	}
	note = fmt.Sprintf("%s writes/s of profile %s: %s pods/s; plans of %s have %s writes/s on average, "+
		"those used %s ± %.0f %%",
		figure(q.Rate), q.Profile, figure(pods), q.Length, figure(got), figure(q.Rate), 100*nearRate)
	return sets, note, nil
}

const (
	// nearRate bounds how far the rate of a plan may be from the requested one. Profiles scale by
	// chance, some by a hundred Pods at once, so each seed has another rate.
	nearRate = 0.05
	// averaged is the number of plans over which a profile's rate is averaged.
	averaged = 16
	// maxTries bounds how often the rate is corrected: by chance the mean does not grow evenly.
	maxTries = 8
	// maxSeeds bounds the plans that are tried to find those with the requested rate.
	maxSeeds = 200
	// writesOfPod is a first guess at the writes per Pod.
	writesOfPod = 20
)

// pods finds the Pods per second at which a profile's plans have the requested writes on average.
func (q Question) pods(l plan.Load, seed uint64) (pods, got float64, err error) {
	l.Profile, l.Model, l.Duration = q.Profile, plan.ModelOpen, units.Duration(q.Length)
	mean := func(pods float64) (mean float64, err error) {
		l.Rate = pods
		for i := range uint64(averaged) {
			n, err := rateOf(l, seed+i)
			if err != nil {
				what := fmt.Sprintf("--rate %s/s of profile %s, which is %s pods/s", figure(q.Rate), q.Profile, figure(pods))
				return 0, &badinput.Error{What: what, Err: err}
			}
			mean += n / averaged
		}
		return mean, nil
	}
	clock, err := mean(leastRate) // nodes and leases are written whatever Pods do
	if err != nil {
		return 0, 0, err
	}
	if q.Rate <= clock {
		return 0, 0, badinput.New(fmt.Sprintf("use more than %s/s", figure(clock)),
			"--rate %s/s: profile %s makes %s writes/s by the clock alone", figure(q.Rate), q.Profile, figure(clock))
	}
	next := (q.Rate - clock) / writesOfPod
	for range maxTries {
		next = math.Round(next*1e4) / 1e4
		m, err := mean(next)
		if err != nil {
			return 0, 0, err
		}
		if pods == 0 || math.Abs(m-q.Rate) < math.Abs(got-q.Rate) {
			pods, got = next, m
		}
		if math.Abs(m-q.Rate) <= nearRate*q.Rate || m <= clock {
			break
		}
		next *= (q.Rate - clock) / (m - clock)
	}
	if math.Abs(got-q.Rate) > 4*nearRate*q.Rate {
		return 0, 0, badinput.New("use a longer --for, or another rate",
			"--rate %s/s: plans of profile %s have %s/s on average", figure(q.Rate), q.Profile, figure(got))
	}
	return pods, got, nil
}

// rateOf returns the writes per second of a plan.
func rateOf(l plan.Load, seed uint64) (float64, error) {
	p, err := plan.New(plan.Config{Seed: seed, RunID: "tune", Load: l})
	if err != nil {
		return 0, err
	}
	return float64(p.Planned()) / l.Duration.Std().Seconds(), nil
}

// plans chooses the seeds of the repetitions: the first ones whose plan has the requested rate.
type plans struct {
	load  plan.Load
	first uint64
	asked float64 // writes per second; 0: any
	found []uint64
}

func (p *plans) seed(rep int) (uint64, error) {
	for len(p.found) <= rep {
		next := p.first
		if n := len(p.found); n > 0 {
			next = p.found[n-1] + 1
		}
		for ; p.asked > 0; next++ {
			rate, err := rateOf(p.load, next)
			if err != nil {
				return 0, err
			}
			if math.Abs(rate-p.asked) <= nearRate*p.asked {
				break
			}
			if next >= p.first+maxSeeds {
				return 0, badinput.New("use a longer load",
					"of %d plans only %d have about %s writes/s", maxSeeds, len(p.found), figure(p.asked))
			}
		}
		p.found = append(p.found, next)
	}
	return p.found[rep], nil
}
