package plan

import (
	"maps"
	"testing"
	"time"
)

// TestExpectIsThePlan: what is expected of a load is what its plan has, up to a time.
func TestExpectIsThePlan(t *testing.T) {
	p := profilePlan(t, ProfileMixedProduction, nil)
	for _, length := range []time.Duration{p.cfg.Duration.Std(), 10 * time.Second} {
		want := map[string]int64{}
		for op := range p.Timed() {
			if op.At <= length {
				want[op.Target.Kind]++
			}
		}
		got := map[string]int64{}
		for kind, e := range p.Expect(length) {
			got[kind] = e.Writes
			if (e.Bytes == 0) != (kind == "EndpointSlice") {
				t.Errorf("a %s has %v bytes", kind, e.Bytes)
			}
		}
		if !maps.Equal(got, want) || want["Pod"] == 0 {
			t.Errorf("expected %v, planned %v", got, want)
		}
	}
}
