package xk6

import (
	"math"
	"testing"
	"time"

	"go.k6.io/k6/lib/executor"
	"go.k6.io/k6/lib/types"
	"gopkg.in/guregu/null.v3"
)

func TestConstantTick(t *testing.T) {
	c := &executor.ConstantArrivalRateConfig{Rate: null.IntFrom(12_500), TimeUnit: types.NullDurationFrom(1000 * time.Second)}
	for i, want := range map[float64]time.Duration{0: 0, 1: 80 * time.Millisecond, 125: 10 * time.Second} {
		if got := constantTick(c, i); (got - want).Abs() > time.Microsecond {
			t.Errorf("iteration %v at %v, want %v", i, got, want)
		}
	}
}

// TestRampingTick compares with the rate added up in small steps.
func TestRampingTick(t *testing.T) {
	stages := []struct {
		length time.Duration
		target int64
	}{{2 * time.Second, 10}, {3 * time.Second, 10}, {2 * time.Second, 40}, {2 * time.Second, 0}}
	c := &executor.RampingArrivalRateConfig{StartRate: null.IntFrom(2), TimeUnit: types.NullDurationFrom(time.Second)}
	for _, s := range stages {
		c.Stages = append(c.Stages, executor.Stage{Duration: types.NullDurationFrom(s.length), Target: null.IntFrom(s.target)})
	}
	const step = 1e-5
	area, from, at, i := 0.0, 2.0, 0.0, 0.0
	for _, s := range stages {
		n := int(s.length.Seconds() / step)
		for k := range n {
			area += step * (from + (float64(s.target)-from)*(float64(k)+0.5)/float64(n))
			at += step
			if area >= i+1 {
				got, ok := rampingTick(c, i)
				if !ok || math.Abs(got.Seconds()-at) > 1e-3 {
					t.Errorf("iteration %v at %v, %v; want %.4f s", i, got, ok, at)
				}
				i++
			}
		}
		from = float64(s.target)
	}
	if i < 100 {
		t.Fatalf("only %v iterations were compared", i)
	}
	if _, ok := rampingTick(c, 1000); ok {
		t.Error("an iteration beyond the last stage has a time")
	}
}
