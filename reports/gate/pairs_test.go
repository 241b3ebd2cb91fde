package gate

import (
	"flag"
	"testing"
)

var pairs = flag.Int("pairs", 0, "pairs of each kind in the tests of error rates, instead of the 50 and 20 that must hold")

// TestErrorRates: what must hold of pairs with the noise of real cells. Real ones are in TestRecordedPairs.
func TestErrorRates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		p     planted
		pairs int
		noise noise
		n     int     // blocks, or repetitions of a saved run less four
		want  Outcome // of which all but one have to be; of PASS, all but one must not FAIL
	}{
		{"the same", planted{}, 50, usual, 16, Pass},
		{"20 % more CPU", planted{cpu: 1.2}, 20, usual, 6, Fail},
		{"one request more per event", planted{requests: 1}, 20, usual, 6, Fail},
		{"one request more in a hundred events", planted{requests: 0.01}, 20, usual, 6, Fail},
	} {
		for _, blocked := range []bool{true, false} {
			n := tt.pairs
			if *pairs > 0 {
				n = *pairs
			}
			counts := map[Outcome]int{}
			for seed := range uint64(n) {
				var v *Verdict
				if blocked {
					v = mustPaired(t, paired(seed, tt.noise, tt.n, tt.p))
				} else {
					even := tt.noise // a drift between the sessions cannot be told from a change
					even.drift, even.related = 0, 0
					base, changed := saved(seed, even, tt.n+4, tt.p)
					v = mustSaved(t, base, changed)
				}
				counts[v.Outcome]++
			}
			t.Logf("%s, blocked %v: %v of %d", tt.name, blocked, counts, n)
			switch {
			case tt.want == Pass && counts[Fail] > n/50:
				t.Errorf("%s, blocked %v: %d false FAIL of %d", tt.name, blocked, counts[Fail], n)
			case tt.want == Pass && counts[Pass] < n/2:
				t.Errorf("%s, blocked %v: only %d PASS of %d", tt.name, blocked, counts[Pass], n)
			case tt.want == Fail && n-counts[Fail] > n/20:
				t.Errorf("%s, blocked %v: %d of %d missed", tt.name, blocked, n-counts[Fail], n)
			}
		}
	}
}
