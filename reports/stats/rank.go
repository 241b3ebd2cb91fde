package stats

import (
	"math"
	"slices"
)

const (
	// Alpha is the two-sided p-value at which two figures are different. It is below the usual 5 % because a
	// table compares many pairs, and a run may look after each block whether it is decided.
	Alpha = 0.001
	// Same is the factor within which two figures are the same for whoever has to choose.
	Same = 1.1
	// louder and quieter bound how many times a pair's own variance may be the pooled one for it to be used.
	louder, quieter = 2.0, 0.25
)

// Ranking holds rows of figures against each other that were measured in blocks, each block once by each row.
type Ranking struct {
	N      int   // blocks that all rows have
	Order  []int // rows by their figures, the lowest first
	ratios [][]Ratio
}

// Rank is the rule for "different". A figure of rows[i] and one of rows[j] are compared block by block, as the
// mean of the logarithm of their ratio, from LeastTrimmed blocks on trimmed as in Ratio. What chance makes of
// it is pooled over all pairs, since three blocks of one pair have 2 degrees of freedom, of five rows up to 8.
// How many they really have depends on how alike the rows' own variances are (Satterthwaite): where one row
// makes all the noise, they are hardly more than a pair's. A pair that varies more than twice as much as
// all do, or less than a quarter, is judged by its own variance: one loud row hides no lead of the others.
//
// ok is false with fewer than two rows, and with fewer than Least blocks in which every row has a figure above
// zero; NaN is none.
func Rank(rows [][]float64) (k Ranking, ok bool) {
	var blocks [][]float64
	for b := 0; len(rows) > 1 && b < len(rows[0]); b++ {
		block := make([]float64, len(rows))
		for i, r := range rows {
			block[i] = r[b]
		}
		if l, ok := logsInOrder(block); ok {
			blocks = append(blocks, l)
		}
	}
	if len(blocks) < Least {
		return k, false
	}
	k = Ranking{N: len(blocks), Order: make([]int, len(rows)), ratios: make([][]Ratio, len(rows))}
	n := float64(len(rows))
	all, of := 0.0, make([]float64, len(rows)) // variances of the pairs' means: their sum, and those of each row's
	for i := range rows {
		k.Order[i], k.ratios[i] = i, make([]Ratio, len(rows))
		for j := range rows {
			d := make([]float64, len(blocks))
			for b := range blocks {
				d[b] = blocks[b][j] - blocks[b][i]
			}
			slices.Sort(d)
			x := trim(d)
			k.ratios[i][j] = Ratio{Median: math.Exp(middle(d)), N: len(d), center: x.mean, se: math.Sqrt(x.variance()), df: x.kept - 1}
			all += x.variance() / 2
			of[i] += x.variance()
		}
	}
	// A pair's variance is the sum of two rows'.
	pooled, squares := 2*all/(n*(n-1)), 0.0
	for i := range rows {
		of[i] = max(0, of[i]-all/(n-1)) / max(1, n-2)
		squares += of[i] * of[i]
	}
	share := n - 1
	if squares > 0 {
		share = min(share, max(1, all*all/(n-1)/(n-1)/squares*(n-1)/n))
	}
	for i := range rows {
		for j := range rows {
			if r := &k.ratios[i][j]; i != j && pools(r.se, pooled) {
				r.se, r.df = math.Sqrt(pooled), r.df*share
			}
		}
	}
	if len(rows) == 2 {
		a, b := [][]float64{column(blocks, 0)}, [][]float64{column(blocks, 1)}
		k.ratios[0][1], k.ratios[1][0] = against(a, b)[0], against(b, a)[0]
	}
	slices.SortStableFunc(k.Order, func(i, j int) int {
		switch c := k.ratios[i][j].center; {
		case c > 0:
			return -1
		case c < 0:
			return 1
		}
		return 0
	})
	return k, true
}

// pools reports whether a pair's standard error is near enough to that of all pairs to be taken for chance. One of
// 0 is: values that are all equal were counted in coarse steps.
func pools(se, pooled float64) bool {
	return se == 0 || se*se <= louder*pooled && se*se >= quieter*pooled
}

// halfway is how many degrees of freedom are believed in where two sides are compared: what Satterthwaite makes of few
// values is itself chance, too few where the sides are alike; all of them would be too many where one is loud.
func halfway(found, all float64) float64 { return (min(found, all) + all) / 2 }

// column is a row's figures, of which blocks have the logarithms.
func column(blocks [][]float64, row int) (values []float64) {
	for _, b := range blocks {
		values = append(values, math.Exp(b[row]))
	}
	return values
}

// Ratio is how many times row a's figure row b's is.
func (k Ranking) Ratio(a, b int) Ratio { return k.ratios[a][b].finish() }

// Differs reports whether the true ratio is not 1, all but certainly.
func (r Ratio) Differs() bool { return 2*min(r.PAbove(1), r.PBelow(1)) <= Alpha }

// Same reports whether the true ratio is within Same, with 99 % confidence: to call two figures the same by
// mistake harms nobody as much as to call them different.
func (r Ratio) Same() bool { return max(r.PAbove(1/Same), r.PBelow(Same)) <= 0.01 }

// Against compares two runs point by point: how many times changed[i] is base[i]. The runs were not measured in blocks,
// so drift between them is part of what it finds. Noise is pooled over the points as Rank pools it over rows. A Ratio
// of N 0 is not known: fewer than Least values on a side, or one that is not above zero.
func Against(base, changed [][]float64) []Ratio {
	all := against(base, changed)
	for i := range all {
		if all[i].N > 0 {
			all[i] = all[i].finish()
		}
	}
	return all
}

// against is Against but for what finish adds.
func against(base, changed [][]float64) []Ratio {
	all := make([]Ratio, len(base))
	var sum, free, square float64 // of squares, of degrees of freedom, of squares² ÷ degrees of freedom
	sides := make([][2]trimmed, len(base))
	for i := range base {
		r, x, y, ok := unpaired(base[i], changed[i])
		if !ok {
			continue
		}
		all[i], sides[i] = r, [2]trimmed{x, y}
		for _, x := range sides[i] {
			sum, free, square = sum+x.squares, free+x.kept-1, square+x.squares*x.squares/(x.kept-1)
		}
	}
	for i := range all {
		r := &all[i]
		if r.N == 0 {
			continue
		}
		if v := sum / free * (1/sides[i][0].kept + 1/sides[i][1].kept); square > 0 && pools(r.se, v) {
			r.se, r.df = math.Sqrt(v), halfway(sum*sum/square, free)
		}
	}
	return all
}
