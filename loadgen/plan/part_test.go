package plan

import (
	"iter"
	"slices"
	"testing"
)

// The parts of a plan are the plan, and each workload is in one.
func TestPartsAreTheWhole(t *testing.T) {
	p := profilePlan(t, ProfileMixedProduction, func(c *Config) { c.Duration = minute / 2 })
	const n = 3
	type key struct {
		id   int64
		name string
	}
	from, sizes := map[key]int{}, [n]int{}
	lanes := map[int64]int{}
	for i := range n {
		q, err := p.Part(i, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, ops := range []iter.Seq[Op]{q.Setup(), q.Timed()} {
			for op := range ops {
				sizes[i]++
				from[key{op.ID, op.Target.Name}]++
				for o := op.Target; o != nil; o = o.Owner {
					if in, ok := lanes[o.Lane]; ok && in != i {
						t.Fatalf("%s %s is in parts %d and %d", o.Kind, o.Name, in, i)
					}
					lanes[o.Lane] = i
				}
				for _, e := range op.State.Endpoints {
					if lanes[e.Lane] != i {
						t.Fatalf("the endpoint %s is in part %d, its slice in %d", e.Name, lanes[e.Lane], i)
					}
				}
			}
		}
		if planned := q.Planned(); planned == 0 || planned >= int64(sizes[i]) {
			t.Errorf("part %d plans %d operations of the load, with those before it there are %d", i, planned, sizes[i])
		}
	}
	whole := 0
	for _, ops := range []iter.Seq[Op]{p.Setup(), p.Timed()} {
		for op := range ops {
			whole++
			if from[key{op.ID, op.Target.Name}] != 1 {
				t.Fatalf("operation %d is in %d parts", op.ID, from[key{op.ID, op.Target.Name}])
			}
		}
	}
	if sum := sizes[0] + sizes[1] + sizes[2]; sum != whole || slices.Min(sizes[:]) < whole/10 {
		t.Errorf("the parts have %v operations, the whole %d", sizes, whole)
	}
	for _, wrong := range [][2]int{{0, 0}, {-1, 2}, {2, 2}} {
		if _, err := p.Part(wrong[0], wrong[1]); err == nil {
			t.Errorf("part %d of %d is taken", wrong[0], wrong[1])
		}
	}
}
