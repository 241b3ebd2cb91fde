package capacity

import "testing"

// TestBroken: chance puts a measured rate up to a tenth above a bound.
func TestBroken(t *testing.T) {
	for _, v := range []struct {
		kind     Kind
		measured float64
		want     bool
	}{{Bounds, 105, false}, {Bounds, 120, true}, {Bounds, 50, false}, {Predicts, 120, false}, {Bounds, 0, false}} {
		if got := (Line{Kind: v.kind, Predicted: new(100.0), Measured: &v.measured}).Broken(brokenBy); got != v.want {
			t.Errorf("%s of 100, measured %g: %t", v.kind, v.measured, got)
		}
	}
}
