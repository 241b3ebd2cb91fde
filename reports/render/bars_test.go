package render

import (
	"strings"
	"testing"
)

// TestPercentilesSayWhatTheyAreOf: charts of several repetitions say that these are merged.
func TestPercentilesSayWhatTheyAreOf(t *testing.T) {
	merged := "of several repetitions together"
	table := arrange(fixture(t))
	for _, c := range []*chart{freshnessDots("a", table.under("heavy")), freshnessCurve("b", table.under("heavy"))} {
		if !strings.Contains(c.Caption, merged) {
			t.Errorf("%s: %s", c.Title, c.Caption)
		}
	}
	one := []*row{row1(withFreshness(drained(1), 5, 7, 9))}
	for _, c := range []*chart{freshnessDots("a", one), freshnessCurve("b", one)} {
		if strings.Contains(c.Caption, merged) {
			t.Errorf("of one repetition: %s: %s", c.Title, c.Caption)
		}
	}
}
