package measure

import "testing"

// TestLatencyHasItsQuantiles: p50 and p99 are what people have, so both stand beside the mean, as configured and as
// served.
func TestLatencyHasItsQuantiles(t *testing.T) {
	e := backlog(0)
	e.cell.Scenario.Storage.Latency = "lognormal(p50=60ms,p99=400ms)"
	s := e.figures(t).Storage
	approx(t, "configured p50", &s.LatencyP50Ms, 60, 0.01)
	approx(t, "configured mean", &s.LatencyMeanMs, 83.7, 0.1)
	approx(t, "configured p99", &s.LatencyP99Ms, 400, 0.1)
	if s.SeenMs == nil || s.SeenMs.P50 < 199 || s.SeenMs.P50 > 201 || s.SeenMs.P99 < s.SeenMs.P50 {
		t.Errorf("served %+v, all of them in 200 ms", s.SeenMs)
	}
}
