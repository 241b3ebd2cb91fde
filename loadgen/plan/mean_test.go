package plan

import (
	"math"
	"testing"

	"github.com/watchbench/watchbench/internal/units"
)

// TestMeanRate: what a plan offers on average is what its operations amount to.
func TestMeanRate(t *testing.T) {
	const second = units.Duration(1e9)
	for name, l := range map[string]Load{
		"constant":            {Rate: 40},
		"poisson":             {Rate: 40, Arrival: ArrivalPoisson},
		"ramp":                {Rate: 60, Arrival: ArrivalRamp, Ramp: &Ramp{From: 20}},
		"burst":               {Rate: 100, Arrival: ArrivalBurst, Burst: &Burst{Period: 2 * second, Length: second / 2}},
		"burst above nothing": {Rate: 100, Arrival: ArrivalBurst, Burst: &Burst{Period: 2 * second, Length: second / 2, Base: 20}},
	} {
		cfg := Default()
		cfg.RunID = "r"
		objects := cfg.Load
		cfg.Load = l
		cfg.Model, cfg.Duration = ModelOpen, 400*second
		cfg.ObjectBytes, cfg.Namespaces, cfg.Nodes = objects.ObjectBytes, objects.Namespaces, objects.Nodes
		p, err := New(cfg)
		if err != nil {
			t.Fatal(name, err)
		}
		planned := float64(p.Planned()) / 400
		if mean := cfg.MeanRate(); math.Abs(planned-mean) > 0.02*mean {
			t.Errorf("%s: MeanRate is %v, the plan has %v/s", name, mean, planned)
		}
	}
}
