package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/watchbench/watchbench/reports/stats"
)

var planted = Scaling{Gamma: 11.5, Alpha: 0.02, Beta: 0.0004}

// measured draws rates by a law with noise of a factor.
func measured(s Scaling, noise float64, repeat int, rng *rand.Rand, queues ...int) (all []Rated) {
	for _, n := range queues {
		for range repeat {
			all = append(all, Rated{n, s.At(n) * math.Exp(noise*rng.NormFloat64())})
		}
	}
	return all
}

func TestScalingRecovers(t *testing.T) {
	f, err := ScalingOf(measured(planted, 0, 1, rand.New(rand.NewPCG(1, 1)), 1, 5, 10, 30, 60, 120))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "gamma", f.Gamma, planted.Gamma, 1e-4)
	near(t, "alpha", f.Alpha, planted.Alpha, 1e-4)
	near(t, "beta", f.Beta, planted.Beta, 1e-4)
	p, err := f.Peak()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "peak", p.Queues, math.Sqrt(0.98/0.0004), 1e-4)
}

// TestScalingCoverage: intervals hold the parameters about as often as they say. Of 60 at
// 95 %, fewer than 53 hold by chance once in a hundred times.
func TestScalingCoverage(t *testing.T) {
	for _, v := range []struct {
		name   string
		repeat int
		queues []int
	}{
		{"three repetitions", 3, []int{1, 5, 10, 30, 60, 120}},
		{"one repetition", 1, []int{1, 2, 5, 10, 20, 40, 80, 120}},
	} {
		const sets, least = 60, 53
		rng := rand.New(rand.NewPCG(7, uint64(v.repeat)))
		held := map[string]int{}
		for range sets {
			f, err := ScalingOf(measured(planted, 0.04, v.repeat, rng, v.queues...))
			if err != nil {
				t.Fatal(err)
			}
			holds := func(name string, in stats.Interval, want float64) {
				if in.Low <= want && want <= in.High {
					held[name]++
				}
			}
			holds("gamma", f.gammas, planted.Gamma)
			holds("alpha", f.AlphaIn, planted.Alpha)
			holds("beta", f.BetaIn, planted.Beta)
			if f.peaks.Low < f.peaks.High {
				holds("peak", f.peaks, math.Sqrt((1-planted.Alpha)/planted.Beta))
			}
		}
		t.Logf("%s: of %d sets held: %v", v.name, sets, held)
		for name, n := range held {
			if n < least {
				t.Errorf("%s: %d of %d intervals of %s hold it, at least %d are to", v.name, n, sets, name, least)
			}
		}
		if len(held) != 4 {
			t.Errorf("%s: judged only %v", v.name, held)
		}
	}
}

func TestScalingRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	_, err := ScalingOf(measured(planted, 0, 5, rng, 1, 5, 10, 30))
	refused(t, "four numbers of queues", err, TooFew)
	_, err = ScalingOf([]Rated{{1, 100}, {2, 30}, {4, 170}, {8, 40}, {16, 90}})
	refused(t, "no law", err, PoorFit)
	_, err = ScalingOf([]Rated{{1, 0}})
	refused(t, "no rate", err, OutOfDomain)
	peaks := 0
	for range 40 {
		for _, s := range []Scaling{{Gamma: 11}, {Gamma: 11, Alpha: 0.05}} {
			f, err := ScalingOf(measured(s, 0.02, 1, rng, 1, 5, 10, 30, 60, 120))
			if err != nil {
				t.Fatal(err)
			}
			if f.Alpha < 0 || f.Beta < 0 || f.AlphaIn.Low < 0 || f.BetaIn.Low < 0 {
				t.Errorf("below 0: %+v", f)
			}
			if _, err := f.Peak(); err == nil {
				peaks++
			} else {
				refused(t, "linear", err, NoPeak)
			}
		}
	}
	// An interval at 95 % lies above a β of 0 once in forty times.
	if peaks > 5 {
		t.Errorf("%d of 80 laws without a peak have one", peaks)
	}
	f, err := ScalingOf(measured(Scaling{Gamma: 11, Alpha: 0, Beta: 1e-5}, 0, 1, rng, 1, 5, 10, 30, 60, 120))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := f.Peak(); err != nil || math.Abs(p.Queues-316) > 1 {
		t.Errorf("a peak at 316 of 120 measured: %+v, %v", p, err)
	}
}
