package stats

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Alpha is the two-sided p-value at which two figures are different. It is below the usual 5 % because a
	// table compares many pairs, and a run may look after each block whether it is decided.
	Alpha = 0.001
	// Same is the factor within which two figures are the same for whoever has to choose.
	Same = 1.1
	// unequal is how many times a pair's own variance may be the pooled one.
	unequal = 2.0
	// loud is how many times a row's own variance is that of the others on average if it is not pooled with them.
	loud = 4.0
)

// Ranking holds rows of figures against each other that were measured in blocks, each block once by each row.
type Ranking struct {
	N      int   // blocks of the pair that has fewest
	Order  []int // rows by their figures, the lowest first
	ratios [][]Ratio
}

// Rank is the rule for "different". A figure of rows[i] and one of rows[j] are compared block by block, as the
// mean of the logarithm of their ratio, from LeastTrimmed blocks on trimmed as in Ratio. What chance makes of
// it is pooled over all pairs, since three blocks of one pair have 2 degrees of freedom, of five rows up to 8.
// How many they really have depends on how alike the rows' own variances are (Satterthwaite): where one row
// makes all the noise, they are hardly more than a pair's. A pair that varies more than twice as much as
// all do is judged by its own variance, and where rows are loud, the others are pooled without them: two queues that
// hardly vary are told apart beside a row that the API server makes vary.
//
// A pair is compared in the blocks in which both rows have a figure above zero; NaN is none. ok is false with fewer
// than two rows, and where a pair has fewer than Least such blocks.
func Rank(rows [][]float64) (k Ranking, ok bool) {
	if len(rows) < 2 {
		return k, false
	}
	k = Ranking{N: len(rows[0]), Order: make([]int, len(rows)), ratios: make([][]Ratio, len(rows))}
	quiet, ahead := make([]int, len(rows)), make([]float64, len(rows))
	for i := range rows {
		quiet[i], k.Order[i], k.ratios[i] = i, i, make([]Ratio, len(rows))
		for j := range rows {
			var d []float64
			for b := range rows[i] {
				if l, known := logsInOrder([]float64{rows[i][b], rows[j][b]}); known {
					d = append(d, l[1]-l[0])
				}
			}
			if len(d) < Least {
				return Ranking{}, false
			}
			k.N, k.ratios[i][j] = min(k.N, len(d)), paired(d)
			ahead[i] += k.ratios[i][j].center
		}
	}
	pools := []pool{k.pool(quiet)}
	for last := pools[0]; len(quiet) > 2 && last.loudest >= 0; pools = append(pools, last) {
		quiet = slices.DeleteFunc(quiet, func(i int) bool { return i == last.loudest })
		last = k.pool(quiet)
	}
	for i := range rows {
		for j := range rows {
			r := &k.ratios[i][j]
			for _, p := range slices.Backward(pools) {
				if i != j && slices.Contains(p.rows, i) && slices.Contains(p.rows, j) {
					if v := p.variance / (r.df + 1); r.se*r.se <= unequal*v {
						r.se, r.df = math.Sqrt(v), r.df*p.share
					}
					break
				}
			}
		}
	}
	if len(quiet) == 2 { // differences of one pair can be small by chance
		i, j := quiet[0], quiet[1]
		a, b := both(rows[i], rows[j])
		k.ratios[i][j], k.ratios[j][i] = Against(a, b)[0], Against(b, a)[0]
	}
	slices.SortStableFunc(k.Order, func(i, j int) int { return cmp.Compare(ahead[j], ahead[i]) })
	return k, true
}

// pool is the noise of some rows together.
type pool struct {
	rows     []int
	variance float64 // of a pair's difference in a block
	share    float64 // how many times a pair's degrees of freedom it has
	loudest  int     // the row that is loud among them, -1 if none is
}

// pool pools rows by their pairs' own variances, of which each is the sum of two rows'.
func (k Ranking) pool(rows []int) pool {
	n := float64(len(rows))
	all, of := 0.0, make([]float64, len(rows)) // sums of the pairs' variances
	for i, a := range rows {
		for _, b := range rows {
			r := k.ratios[a][b]
			v := r.se * r.se * (r.df + 1)
			all, of[i] = all+v/2, of[i]+v
		}
	}
	p := pool{rows: slices.Clone(rows), variance: 2 * all / (n * (n - 1)), share: n - 1, loudest: -1}
	squares, sum := 0.0, 0.0
	for i := range of {
		of[i] = max(0, of[i]-all/(n-1)) / max(1, n-2)
		squares, sum = squares+of[i]*of[i], sum+of[i]
	}
	if squares > 0 {
		p.share = min(p.share, max(1, all*all/(n-1)/(n-1)/squares*(n-1)/n))
	}
	if most := slices.Index(of, slices.Max(of)); len(rows) > 2 && of[most] > loud*(sum-of[most])/(n-1) {
		p.loudest = rows[most]
	}
	return p
}

// halfway is how many degrees of freedom are believed in where two sides are compared: what Satterthwaite makes of few
// values is itself chance, too few where the sides are alike; all of them would be too many where one is loud.
func halfway(found, all float64) float64 { return (min(found, all) + all) / 2 }

// both are the figures of two rows in the blocks that both have.
func both(x, y []float64) (a, b [][]float64) {
	a, b = make([][]float64, 1), make([][]float64, 1)
	for i := range x {
		if _, known := logsInOrder([]float64{x[i], y[i]}); known {
			a[0], b[0] = append(a[0], x[i]), append(b[0], y[i])
		}
	}
	return a, b
}

// Ratio is how many times row a's figure row b's is.
func (k Ranking) Ratio(a, b int) Ratio { return k.ratios[a][b] }

// Differs reports whether the true ratio is not 1, all but certainly.
func (r Ratio) Differs() bool { return 2*min(r.PAbove(1), r.PBelow(1)) <= Alpha }

// Same reports whether the true ratio is within Same, with 99 % confidence: to call two figures the same by
// mistake harms nobody as much as to call them different.
func (r Ratio) Same() bool { return max(r.PAbove(1/Same), r.PBelow(Same)) <= 0.01 }

// Against compares two runs point by point: how many times changed[i] is base[i]. The runs were not measured in
// blocks, so drift between them is part of what it finds. Noise is pooled over the points as Rank pools it over rows.
// A Ratio of N 0 is not known: fewer than Least values on a side, or one that is not above zero.
func Against(base, changed [][]float64) []Ratio {
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
		if v := sum / free * (1/sides[i][0].kept + 1/sides[i][1].kept); square > 0 && r.se*r.se <= unequal*v {
			r.se, r.df = math.Sqrt(v), halfway(sum*sum/square, free)
		}
	}
	return all
}
