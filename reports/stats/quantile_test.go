package stats

import (
	"math"
	"testing"
)

// TestStudent: for 1 and 2 degrees of freedom the distribution function has an inverse in closed
// form: tan(π(p−½)) and (2p−1) ÷ √(2p(1−p)). For others the density, (1 + t²/ν)^−(ν+1)/2 but for a
// factor, is integrated; for infinitely many it is that of the normal distribution.
func TestStudent(t *testing.T) {
	for _, level := range []float64{0.5, 0.9, 0.95, 0.99} {
		p := (1 + level) / 2
		for df, want := range map[float64]float64{1: math.Tan(math.Pi * (p - 0.5)), 2: (2*p - 1) / math.Sqrt(2*p*(1-p))} {
			if got := Student(level, df); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%g degrees of freedom, %g: %.6f, want %.6f", df, level, got, want)
			}
		}
		for _, df := range []float64{1, 2, 3, 4, 5, 7.5, 10, 30, 100, 1000} {
			density := func(x float64) float64 { return math.Exp(-(df + 1) / 2 * math.Log1p(x*x/df)) }
			within := simpson(density, Student(level, df))
			if got := within / halfMass(density); math.Abs(got-level) > 1e-6 {
				t.Errorf("%g degrees of freedom: %.7f lie within the quantile of %g", df, got, level)
			}
		}
		if got := math.Erf(Student(level, math.Inf(1)) / math.Sqrt2); math.Abs(got-level) > 5e-5 { // manyDegrees are not infinitely many
			t.Errorf("normal: %.7f lie within the quantile of %g", got, level)
		}
	}
}

// halfMass is the integral of an even density above 0, with x = u ÷ (1−u).
func halfMass(density func(float64) float64) float64 {
	return simpson(func(u float64) float64 {
		if u == 1 {
			u = math.Nextafter(1, 0)
		}
		return density(u/(1-u)) / ((1 - u) * (1 - u))
	}, 1)
}

// simpson integrates from 0 to end.
func simpson(f func(float64) float64, end float64) float64 {
	const steps = 20_000 // even
	sum := f(0) + f(end)
	for i := 1; i < steps; i++ {
		sum += float64(2+2*(i%2)) * f(end*float64(i)/steps)
	}
	return sum * end / steps / 3
}
