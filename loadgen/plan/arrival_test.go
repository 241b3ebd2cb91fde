package plan

import (
	"math"
	"testing"
	"time"
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

func TestArrivalModels(t *testing.T) {
	steps := func(all ...RateStep) func(*Config) {
		return func(c *Config) { c.Rate, c.Steps = 0, all }
	}
	for _, tc := range []struct {
		name           string
		change         func(*Config)
		mean           float64
		calm, restless float64 // bounds of the dispersion
		tolerance      float64 // of the mean
	}{
		{"constant", func(*Config) {}, 100, 0, 0.001, 0.001},
		{"poisson", func(c *Config) { c.Arrival = ArrivalPoisson }, 100, 0.8, 1.25, 0.02},
		{"steps", steps(RateStep{Length: minute, Rate: 10}, RateStep{Length: minute}, RateStep{Length: minute, Rate: 109.5 * 8}),
			(10 + 109.5*8*8) / 10, 10, 1000, 0.001},
		{"from nothing", steps(RateStep{Length: 10 * minute, From: new(0.0), Rate: 200}), 100, 10, 100, 0.001},
		{"downwards", steps(RateStep{Length: 5 * minute, From: new(200.0)}, RateStep{Length: minute, Rate: 100}), 100, 10, 100, 0.001},
		{"longer than the load", steps(RateStep{Length: 60 * minute, From: new(0.0), Rate: 1200}), 100, 10, 100, 0.001},
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
			if mean := openPlan(t, func(c *Config) { c.Rate, c.Duration = 100, 10*minute; tc.change(c) }).cfg.MeanRate(); math.Abs(mean/tc.mean-1) > 1e-6 {
				t.Errorf("MeanRate is %.2f, want %.2f", mean, tc.mean)
			}
			if d := spread / runs; d < tc.calm || d > tc.restless {
				t.Errorf("the dispersion is %.3f, want %v to %v", d, tc.calm, tc.restless)
			}
		})
	}
	times := arrived(t, 1, steps(RateStep{Length: minute, Rate: 10}, RateStep{Length: minute}, RateStep{Length: minute, Rate: 50}))
	counts := make([]float64, 10)
	for _, at := range times {
		counts[at/time.Minute]++
	}
	for i, want := range []float64{600, 0, 3000, 3000} {
		if math.Abs(counts[i]-want) > 1 {
			t.Errorf("minute %d of the steps has %v, want %v", i, counts[i], want)
		}
	}
}

// A profile's pods follow the arrivals, whatever one arrival stands for.
func TestProfileRates(t *testing.T) {
	for _, name := range []string{ProfileServiceChurn, ProfileBatchJobs, ProfileMixedProduction} {
		total := 0.0
		for seed := range uint64(2) {
			p := profilePlan(t, name, func(c *Config) {
				c.Seed, c.Nodes, c.Duration, c.Rate = seed, 100, 2*minute, 20
				c.Tuning.Cluster.LeasePeriod = new(minute)
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
