package render

import (
	"strings"
	"testing"
)

// TestSummaryCountsWhatItSums: n is that of the figure, not that of the row.
func TestSummaryCountsWhatItSums(t *testing.T) {
	res := measured(map[string][]float64{"keyed": {5, 5.1, 5.2}})
	v := 2.5
	res.Cells[0].Writer.FullSeconds = &v
	var b strings.Builder
	if err := Summary(&b, res); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "writer_full_s") && !strings.Contains(line, "writer_full_s,1,2.5") {
			t.Errorf("known in one of three repetitions: %s", line)
		}
	}
}
