package render

import (
	"bytes"
	"strings"
	"testing"
)

// TestLatencyQuantilesAreShown beside the mean: in the second table, throughput.csv and the
// method.
func TestLatencyQuantilesAreShown(t *testing.T) {
	res := sized(paced{"keyed", "20", 0, 1, 1})
	s := &res.Cells[0].Storage
	s.LatencyMeanMs, s.SeenMs = 83.7, withFreshness(drained(1), 61_000, 61_000, 405_000).Freshness
	s.SeenMs.P50, s.SeenMs.P99 = 61, 405
	var page, csv bytes.Buffer
	if err := HTML(&page, res); err != nil {
		t.Fatal(err)
	}
	if err := CSV(&csv, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"configured p50", "configured p99", "served p50", "served p99", ">61.0</td>", ">405.0</td>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, want := range []string{"storage_latency_configured_p50_ms,storage_latency_configured_ms,storage_latency_configured_p99_ms,storage_latency_p50_ms,storage_latency_p99_ms", ",60,83.7,400,61,405,"} {
		if !strings.Contains(csv.String(), want) {
			t.Errorf("throughput.csv lacks %q", want)
		}
	}
}
