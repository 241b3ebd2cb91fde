package stats

import moremath "github.com/aclements/go-moremath/stats"

// manyDegrees of freedom are as good as infinitely many.
const manyDegrees = 1e4

// Student is the two-sided quantile of Student's t: a value lies within ± it with the
// probability level. df are the degrees of freedom, above 0; +Inf is the normal distribution.
func Student(level, df float64) float64 {
	t, p := moremath.TDist{V: min(df, manyDegrees)}, (1+level)/2
	low, high := 0.0, 1.0
	for t.CDF(high) < p && high < 1e9 {
		high *= 2
	}
	for range 80 {
		if mid := (low + high) / 2; t.CDF(mid) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
