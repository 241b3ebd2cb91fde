package plan

import (
	"math"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
)

// arrived are the times of a load of ten minutes with 100 a second on average.
func arrived(t *testing.T, seed uint64, change func(*Config)) []time.Duration {
	t.Helper()
	p := openPlan(t, func(c *Config) {
		c.Seed, c.Rate, c.Duration = seed, 100, 10*minute
		change(c)
	})
	var times []time.Duration
	for at := range p.cfg.arrivals(p.rng(streamArrival)) {
		if n := len(times); n > 0 && at < times[n-1] || at >= p.cfg.Duration.Std() {
			t.Fatalf("%s after %v", at, times[max(0, n-3):])
		}
		times = append(times, at)
	}
	return times
}

// dispersion is the variance of the counts per second over their mean: 0 where they are
// evenly spaced, 1 for a Poisson process, more where they come in bursts.
func dispersion(times []time.Duration) float64 {
	counts := make([]float64, 600)
	for _, at := range times {
		counts[int(at/time.Second)]++
	}
	mean := float64(len(times)) / 600
	v := 0.0
	for _, n := range counts {
		v += (n - mean) * (n - mean)
	}
	return v / 600 / mean
}

func between(times []time.Duration, from, to time.Duration) (n float64) {
	for _, at := range times {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func TestArrivalModels(t *testing.T) {
	diurnal := func(c *Config) {
		c.Arrival, c.Diurnal = ArrivalDiurnal, &Diurnal{Period: 10 * minute, Amplitude: 0.4}
	}
	mmpp := &MMPP{Factor: 5, Share: 0.2, Stay: second / 5} // short, so that ten minutes have many
	for _, tc := range []struct {
		name           string
		change         func(*Config)
		mean           float64
		calm, restless float64 // bounds of the dispersion
		tolerance      float64 // of the mean
	}{
		{"constant", func(*Config) {}, 100, 0, 0.001, 0.001},
		{"poisson", func(c *Config) { c.Arrival = ArrivalPoisson }, 100, 0.8, 1.25, 0.02},
		{"step", func(c *Config) {
			c.Rate, c.Arrival, c.Steps = 0, ArrivalStep, []RateStep{{Length: minute, Rate: 10}, {Length: minute}, {Length: minute, Rate: 109.5 * 8}}
		}, (10 + 109.5*8*8) / 10, 10, 1000, 0.001},
		{"mmpp", func(c *Config) { c.Arrival, c.MMPP = ArrivalMMPP, mmpp }, 100, 5, 100, 0.06},
		{"diurnal", diurnal, 100, 4, 20, 0.02},
		{"diurnal with mmpp", func(c *Config) { diurnal(c); c.MMPP = mmpp }, 100, 10, 150, 0.06},
	} {
		t.Run(tc.name, func(t *testing.T) {
			total, spread := 0.0, 0.0
			const runs = 3
			for seed := range uint64(runs) {
				times := arrived(t, seed, tc.change)
				total += float64(len(times)) / 600
				spread += dispersion(times)
			}
			if mean := total / runs; math.Abs(mean/tc.mean-1) > tc.tolerance {
				t.Errorf("%.2f a second, want %.2f", mean, tc.mean)
			}
			if d := spread / runs; d < tc.calm || d > tc.restless {
				t.Errorf("the dispersion is %.3f, want %v to %v", d, tc.calm, tc.restless)
			}
		})
	}

	steps := arrived(t, 1, func(c *Config) {
		c.Rate, c.Arrival, c.Steps = 0, ArrivalStep, []RateStep{{Length: minute, Rate: 10}, {Length: minute}, {Length: minute, Rate: 50}}
	})
	for i, want := range []float64{600, 0, 3000, 3000} {
		from := time.Duration(i) * time.Minute
		if got := between(steps, from, from+time.Minute); math.Abs(got-want) > 1 {
			t.Errorf("minute %d of the steps has %v, want %v", i, got, want)
		}
	}
	day := arrived(t, 1, diurnal)
	if up, down := between(day, 2*time.Minute, 3*time.Minute), between(day, 7*time.Minute, 8*time.Minute); up/down < 2 || up/down > 2.7 {
		t.Errorf("noon has %v, midnight %v", up, down)
	}
	want := []units.Duration{0, second, second, 90 * second}
	for i, at := range arrived(t, 1, func(c *Config) { c.Rate, c.Arrival, c.Trace = 0, ArrivalTrace, want }) {
		if at != want[i].Std() {
			t.Errorf("time %d of the trace is %s, want %s", i, at, want[i])
		}
	}
}

// A profile's pods follow the arrivals, whatever one arrival stands for.
func TestProfileRates(t *testing.T) {
	for _, name := range []string{ProfileServiceChurn, ProfileBatchJobs, ProfileMixedProduction, ProfileRecreate} {
		total := 0.0
		for seed := range uint64(2) {
			p := profilePlan(t, name, func(c *Config) {
				c.Seed, c.Nodes, c.Duration, c.Rate = seed, 100, 2*minute, 20
				c.Tuning.Recreate.Pods, c.Tuning.Cluster.LeasePeriod = 500, ptr(minute)
			})
			for op := range p.Timed() {
				if op.Target.Kind == "Pod" && op.Type == "create" {
					total++
				}
			}
		}
		// Large Jobs and scale operations are rare, so that the mean of few is uncertain.
		if rate := total / 2 / 120; rate < 12 || rate > 28 {
			t.Errorf("%s creates %.1f pods per second, want about 20", name, rate)
		}
	}
}
