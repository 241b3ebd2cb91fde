package render

import (
	"maps"
	"slices"
)

// skewHeat maps how many events each Pod queue of each row handled, against the row's mean.
func skewHeat(id string, t *table) *chart {
	h := Heat{
		Title: "Queue skew by queue", X: "Pod queue", Unit: "× mean", Linear: true,
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
