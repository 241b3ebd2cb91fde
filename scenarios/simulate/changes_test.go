package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// TestChanges: an acknowledgement brings all changes of its name up to its own, each once,
// and of what has arrived nothing is kept.
func TestChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	c := newChanges()
	type waiting struct {
		key    object.Key
		number uint64
	}
	var open, sent []waiting
	lacks := func(key object.Key, upTo uint64) (all []int64) {
		open = slices.DeleteFunc(open, func(w waiting) bool {
			if w.key != key || w.number > upTo {
				return false
			}
			all = append(all, int64(w.number))
			return true
		})
		return all
	}
	for step := range 20_000 {
		key := object.Key{Kind: podKind, Name: string(rune('a' + r.IntN(20)))}
		if r.IntN(2) == 0 {
			n := c.add(key, &Arrival{At: time.Duration(step+1) + 5, Lag: time.Duration(step+1) + 5 - time.Duration(c.first) - time.Duration(len(c.list))})
			open = append(open, waiting{key, n})
		} else if len(open) > 0 {
			w := open[r.IntN(len(open))]
			if len(sent) > 0 && r.IntN(10) == 0 {
				w = sent[r.IntN(len(sent))] // once more, long after
			}
			sent = append(sent, w)
			want := lacks(w.key, w.number)
			var got []int64
			found := c.arrived(&pipeline.Event{Key: w.key, ResourceVersion: w.number}, func(x *change) { got = append(got, x.intended) })
			slices.Sort(got)
			if !slices.Equal(got, want) || found != (len(want) > 0) {
				t.Fatalf("step %d: %d of %v brought %d, want %d", step, w.number, w.key, got, want)
			}
		}
	}
	for len(open) > 0 {
		w := open[len(open)-1]
		lacks(w.key, w.number)
		c.arrived(&pipeline.Event{Key: w.key, ResourceVersion: w.number}, func(*change) {})
	}
	if len(c.list) > 0 || len(c.latest) > 0 {
		t.Errorf("%d changes and %d names are kept", len(c.list), len(c.latest))
	}
}
