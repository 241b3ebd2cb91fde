package latency_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/storagemock/latency"
)

// TestTails: a family with a heavy tail has the mean it says and the 99th percentile at
// the multiple asked for, so that runs with different tails compare the tail alone.
func TestTails(t *testing.T) {
	const mean0 = 150 * ms
	for _, ratio := range []float64{1.25, 3, 10} {
		for seed := range uint64(4) {
			p99 := time.Duration(ratio * float64(mean0))
			spec := fmt.Sprintf("lognormal(mean=%s,p99=%s)", mean0, p99)
			got := draw(t, spec, 100_000, seed)
			if m := mean(got); !within(m, mean0, 0.02) {
				t.Errorf("%s, seed %d: mean %s", spec, seed, m)
			}
			slices.Sort(got)
			if q := got[len(got)*99/100]; !within(q, p99, 0.05) {
				t.Errorf("%s, seed %d: p99 %s", spec, seed, q)
			}
			m, err := latency.ParseModel(spec, seed)
			if err != nil || !within(m.Mean("PUT", "Pod"), mean0, 1e-6) {
				t.Errorf("%s: the model says a mean of %s, %v", spec, m.Mean("PUT", "Pod"), err)
			}
		}
	}
}
