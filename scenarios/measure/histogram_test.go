package measure

import "testing"

// TestP99OfFewIsTheMaximum: of 51 to 99 values the nearest rank would be the second largest.
func TestP99OfFewIsTheMaximum(t *testing.T) {
	for _, n := range []int64{1, 50, 51, 92, 99, 100, 200} {
		h := NewHistogram()
		for i := range n {
			h.Add((i + 1) * 1e9)
		}
		q, err := h.Quantiles(Seconds)
		if err != nil {
			t.Fatal(err)
		}
		if isMax := q.P99 == q.Max; isMax != (n < 100) {
			t.Errorf("of %d values p99 is %v and the maximum %v", n, q.P99, q.Max)
		}
	}
}
