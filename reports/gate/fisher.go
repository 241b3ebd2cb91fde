package gate

import "math"

// chance is the highest p-value at which more invalid cells of NEW are put down to NEW. It is
// low because cells are late in clusters, and two of one side are neighbours in each block.
const chance = 0.001

// fisher is the one-sided p-value of Fisher's exact test: how likely, of as many bad ones as
// there are, at least a are among the first n, and at most b among the other m.
func fisher(a, n, b, m int) (p float64) {
	bad := a + b
	for x := a; x <= min(bad, n); x++ {
		if bad-x <= m {
			p += math.Exp(choose(n, x) + choose(m, bad-x) - choose(n+m, bad))
		}
	}
	return min(1, p)
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k int) float64 {
	of := func(n int) float64 {
		l, _ := math.Lgamma(float64(n + 1))
		return l
	}
	return of(n) - of(k) - of(n-k)
}
