package gate

import "github.com/aclements/go-moremath/stats"

// chance is the highest p-value at which more invalid cells of NEW are put down to NEW. It is
// low because cells are late in clusters, and two of one side are neighbours in each block.
const chance = 0.001

// fisher is the one-sided p-value of Fisher's exact test: how likely, of as many bad ones as
// there are, at least a are among the first n, and at most b among the other m.
func fisher(a, n, b, m int) float64 {
	return 1 - stats.HypergeometicDist{N: n + m, K: a + b, Draws: n}.CDF(float64(a-1))
}
