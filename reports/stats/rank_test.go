package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// shape draws the noise of a cell's logarithm.
type shape struct {
	name  string
	draw  func(rng *rand.Rand, row int) float64
	ticks float64 // in which a figure of 1 is counted; 0: it is continuous
}

var shapes = []shape{
	{name: "equal", draw: func(rng *rand.Rand, _ int) float64 { return 0.07 * rng.NormFloat64() }},
	{name: "coarse", draw: func(rng *rand.Rand, _ int) float64 { return 0.02 * rng.NormFloat64() }, ticks: 30},
	{name: "unequal", draw: func(rng *rand.Rand, row int) float64 {
		return []float64{0.2, 0.2, 0.007, 0.02, 0.07}[row] * rng.NormFloat64()
	}},
	{name: "one loud", draw: func(rng *rand.Rand, row int) float64 {
		return []float64{0.3, 0.01, 0.01, 0.01, 0.01}[row] * rng.NormFloat64()
	}},
	{name: "skewed", draw: func(rng *rand.Rand, _ int) float64 { return 0.07 * (rng.ExpFloat64() - 1) }},
	{name: "stalled", draw: func(rng *rand.Rand, _ int) float64 {
		if rng.IntN(12) == 0 {
			return 0.02*rng.NormFloat64() + 0.2 + 0.8*rng.Float64()
		}
		return 0.02 * rng.NormFloat64()
	}},
	{name: "heavy-tailed", draw: func(rng *rand.Rand, _ int) float64 { // Student's t with 3 degrees of freedom
		chi := 0.0
		for range 3 {
			n := rng.NormFloat64()
			chi += n * n
		}
		return 0.05 * rng.NormFloat64() / math.Sqrt(chi/3)
	}},
}

// mostBlocks is what the default scenario runs at most.
const mostBlocks = 8

// run draws blocks until the ranking is decided, as a run does, and returns it.
func (s shape) run(rng *rand.Rand, true5 []float64, shared, invalid float64) Ranking {
	rows := make([][]float64, len(true5))
	var k Ranking
	for b := range mostBlocks {
		block := shared * rng.NormFloat64()
		for i, v := range true5 {
			v *= math.Exp(block + s.draw(rng, i))
			if s.ticks > 0 {
				v = math.Round(v*s.ticks) / s.ticks
			}
			if invalid > 0 && rng.Float64() < invalid {
				v = math.NaN()
			}
			rows[i] = append(rows[i], v)
		}
		if b+1 < Least {
			continue
		}
		if k, _ = Rank(rows); k.N > 0 && k.Decided() {
			break
		}
	}
	return k
}

// Decided is what ends a run where no row is limited by its load.
func (k Ranking) Decided() bool {
	for i := 1; i < len(k.Order); i++ {
		if r := k.ratios[k.Order[i-1]][k.Order[i]]; !r.Differs() && !r.Same() {
			return false
		}
	}
	return true
}

// winner is the row that differs from all others, -1 for none.
func (k Ranking) winner() int {
	if k.N == 0 {
		return -1
	}
	for _, i := range k.Order[1:] {
		if !k.ratios[k.Order[0]][i].Differs() {
			return -1
		}
	}
	return k.Order[0]
}

// TestRankNamesNoFalseWinner: of 5,000 tables of each shape of noise, looked at after each block, at most 2 %
// name a winner of rows that are equal; and at most 2 % call one of two equal ones the better.
func TestRankNamesNoFalseWinner(t *testing.T) {
	const tables = 5000
	for _, s := range shapes {
		for name, rows := range map[string][]float64{"all equal": {1, 1, 1, 1, 1}, "two lead": {1, 1, 3, 4, 9}, "two rows": {1, 1}, "two lead, cells invalid": {1, 1, 3, 4, 9}} {
			invalid := 0.0
			if strings.HasSuffix(name, "invalid") {
				invalid = 0.1
			}
			rng := rand.New(rand.NewPCG(28, 0))
			false0, blocks, decided := 0, 0, 0
			for range tables {
				k := s.run(rng, rows, 0.1, invalid)
				false0 += count(k.winner() >= 0)
				decided += count(k.Decided())
				blocks += k.N
			}
			t.Logf("%s, %s: %.2f %% false winners, %.1f blocks, %.0f %% decided", s.name, name, 100*float64(false0)/tables, float64(blocks)/tables, 100*float64(decided)/tables)
			if false0 > tables/50 {
				t.Errorf("%s, %s: %.2f %% of the tables name a winner", s.name, name, 100*float64(false0)/tables)
			}
		}
	}
}

// TestRankFinds: leads of 1.6 and 1.9 are named in 19 of 20 runs under noise as it is: the deviations of
// an open load on a real control plane beside a build, and 7 % of different shapes; with stalls in 7 of 10.
func TestRankFinds(t *testing.T) {
	const tables = 1000
	measured := shape{name: "measured", draw: func(rng *rand.Rand, row int) float64 {
		return []float64{0.007, 0.021, 0.072, 0.007, 0.15}[row] * rng.NormFloat64()
	}}
	for _, s := range append(shapes, measured) {
		least := map[string]int{"equal": 950, "skewed": 950, "heavy-tailed": 950, "measured": 950, "stalled": 700}[s.name]
		if least == 0 {
			continue // louder than any machine
		}
		rng := rand.New(rand.NewPCG(29, 0))
		found, blocks := 0, 0
		for range tables {
			k := s.run(rng, []float64{1, 1.9, 3, 1, 10}, 0.1, 0) // row 3 is as good as row 0
			lead := k.ratios[0][1].Differs() && k.ratios[3][1].Differs() && k.ratios[1][2].Differs()
			found, blocks = found+count(lead), blocks+k.N
		}
		t.Logf("%s: %.1f %% find all, %.1f blocks", s.name, 100*float64(found)/tables, float64(blocks)/tables)
		if found < least {
			t.Errorf("%s: the leads are found in %.1f %%", s.name, 100*float64(found)/tables)
		}
	}
}

// TestCoarseStepsAreNoCertainty: rows that go up and down together by chance, as in steps of 10 ms, are not told apart
// by how little their differences vary.
func TestCoarseStepsAreNoCertainty(t *testing.T) {
	for _, rows := range [][][]float64{
		{{5, 5, 5}, {6, 6, 6}, {3, 4, 3}, {7, 9, 8}},
		{{29, 30, 29}, {30, 31, 30}, {29, 31, 30}, {31, 29, 30}},
		{{29, 30, 31}, {30, 31, 32}, {30, 29, 30}, {31, 30, 30}},
		{{5, 10, 15}, {6, 12, 18}, {5, 9, 14}, {7, 11, 13}},
	} {
		if k, ok := Rank(rows); !ok || k.Ratio(0, 1).Differs() {
			t.Errorf("%v: the first two differ: %+v", rows, k.Ratio(0, 1))
		}
	}
}

// TestLoudRowHidesNoLead: in a run of the default scenario a row that kept up, whose figure is mostly the API
// server's, varied ten times as much as two queues that 13 s and 4.8 s told apart; pooled, nothing was decided.
func TestLoudRowHidesNoLead(t *testing.T) {
	k, ok := Rank([][]float64{{0.31, 0.55, 0.34}, {0.36, 0.32, 0.47}, {4.80, 4.86, 4.78}, {12.9, 13.2, 12.8}})
	if !ok || !k.Ratio(2, 3).Differs() {
		t.Errorf("4.8 and 13 s are not told apart: %+v", k.Ratio(2, 3))
	}
	if k.Ratio(0, 1).Differs() {
		t.Errorf("two loud rows are: %+v", k.Ratio(0, 1))
	}
}

// Contrasts of five blocks, of which any two are independent and all vary alike.
var contrasts = [][]float64{{-2, -1, 0, 1, 2}, {2, -1, -2, -1, 2}, {-1, 2, 0, -2, 1}, {1, -4, 6, -4, 1}}

// row is one of noise with a variance along a contrast; below 0 it goes the other way.
func row(contrast int, variance float64) (values []float64) {
	squares := 0.0
	for _, c := range contrasts[contrast] {
		squares += c * c
	}
	for _, c := range contrasts[contrast] {
		values = append(values, math.Exp(math.Copysign(math.Sqrt(math.Abs(variance)/squares), variance)*c))
	}
	return values
}

// TestUnequalPairIsJudgedAlone: a pair that varies more than twice as much as all do has its own noise and degrees
// of freedom, and one that varies a little less than that does not.
func TestUnequalPairIsJudgedAlone(t *testing.T) {
	// Rows 0 and 1 are opposite, so their difference varies 24 ÷ (8 + 6 × variance) times as much as all do.
	for variance, own := range map[float64]bool{0.61: true, 0.72: false} {
		k, ok := Rank([][]float64{row(0, 1), row(0, -1), row(1, variance), row(2, variance)})
		if r := k.ratios[0][1]; !ok || (r.df == 4) != own {
			t.Errorf("rank, variance %v: %v degrees of freedom, own: %v", variance, r.df, own)
		}
	}
	// The first of three points varies 3 × variance ÷ (variance + 2) times as much as all do.
	for variance, own := range map[float64]bool{4.2: true, 3.8: false} {
		base, changed := [][]float64{row(0, variance), row(0, 1), row(0, 1)}, [][]float64{row(1, variance), row(1, 1), row(1, 1)}
		if r := Against(base, changed)[0]; (math.Abs(r.df-8) < 1e-6) != own {
			t.Errorf("against, variance %v: %v degrees of freedom, own: %v", variance, r.df, own)
		}
	}
}

// TestLoudRowIsNotPooled: from four times the variance of the others on, a row's noise is not theirs.
func TestLoudRowIsNotPooled(t *testing.T) {
	for variance, loud := range map[float64]bool{4.2: true, 3.8: false} {
		k, ok := Rank([][]float64{row(0, variance), row(1, 1), row(2, 1), row(3, 1)})
		quiet := math.Sqrt(2. / 20) // of the mean of five differences of two rows
		if r := k.ratios[1][2]; !ok || (math.Abs(r.se-quiet) < 1e-9) != loud {
			t.Errorf("variance %v: the others differ by ±%v, by themselves %v; loud: %v", variance, r.se, quiet, loud)
		}
	}
}
