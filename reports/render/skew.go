package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// mostFields bounds a map of queues, some 100 bytes each.
const mostFields = 4000

// skewHeat maps how many events each Pod queue of each row handled, against the row's mean.
func skewHeat(id string, t *table) *chart {
	h := Heat{
		Title: "Queue skew by queue", X: "Pod queue", Unit: "× mean",
		Caption: "Events handled per Pod queue against the mean of its row: the more a field stands out from the page, the busier the queue.",
	}
	var rows []*row
	queues := map[string]bool{}
	for _, r := range believed(t.rows) {
		handled := r.representative().Queues
		if total := sum(handled); len(handled) < 2 || total <= 0 || !finiteNumber(total) {
			continue
		}
		rows = append(rows, r)
		for q := range handled {
			queues[q] = true
		}
	}
	h.Columns = slices.SortedFunc(maps.Keys(queues), compareNatural)
	if most, all := max(1, mostFields/max(1, len(h.Columns))), len(rows); most < all {
		uneven := slices.SortedStableFunc(slices.Values(rows), func(a, b *row) int { return cmp.Compare(busiest(b), busiest(a)) })[:most]
		rows = slices.DeleteFunc(rows, func(r *row) bool { return !slices.Contains(uneven, r) })
		h.Caption += fmt.Sprintf(" The %d most uneven of %d points.", most, all)
	}
	for _, r := range rows {
		handled := r.representative().Queues
		mean := sum(handled) / float64(len(handled))
		line := make([]*float64, len(h.Columns))
		for i, q := range h.Columns {
			if n, ok := handled[q]; ok {
				line[i] = new(n / mean)
			}
		}
		h.Rows, h.Values = append(h.Rows, r.legend()+" "+chartText(r.load)), append(h.Values, line)
	}
	return h.chart(id)
}

// sum adds up in a fixed order: the last digit of a float depends on it.
func sum(handled map[string]float64) (total float64) {
	for _, q := range slices.Sorted(maps.Keys(handled)) {
		total += handled[q]
	}
	return total
}

// busiest is the share of a row's busiest queue against the mean.
func busiest(r *row) float64 {
	handled := r.representative().Queues
	return slices.Max(slices.Collect(maps.Values(handled))) * float64(len(handled)) / sum(handled)
}
