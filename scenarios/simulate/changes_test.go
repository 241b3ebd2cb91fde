package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// TestChanges: an acknowledgement brings all changes of its name up to its own, each once, and of what has arrived
// nothing is kept.
func TestChanges(t *testing.T) {
	c := newChanges()
	key := func(name string) object.Key { return object.Key{Kind: podKind, Name: name} }
	for _, name := range []string{"a", "b", "a", "a", "b"} { // 1 to 5
		c.add(key(name), &Arrival{})
	}
	for _, x := range []struct {
		name   string
		upTo   uint64
		brings []uint64
	}{{"a", 3, []uint64{1, 3}}, {"a", 1, nil}, {"a", 3, nil}, {"b", 2, []uint64{2}}, {"a", 4, []uint64{4}}, {"b", 5, []uint64{5}}, {"c", 9, nil}} {
		var got []uint64
		for _, y := range c.arrived(&pipeline.Event{Key: key(x.name), ResourceVersion: x.upTo}) {
			got = append(got, y.number)
		}
		if d := cmp.Diff(x.brings, got); d != "" {
			t.Errorf("%s up to %d (-want +got):\n%s", x.name, x.upTo, d)
		}
	}
	if len(c.lacks) > 0 {
		t.Errorf("kept: %v", c.lacks)
	}
}
