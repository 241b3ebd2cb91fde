package pipeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHeap: what is least comes first, and of equals what is first by the other number.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h heap[int64]
	var want []int64
	for n := range int64(5000) {
		if r.IntN(3) > 0 || len(want) == 0 {
			at := r.Int64N(100)
			h.push(heapItem[int64]{at: at, tie: n, item: at*5000 + n})
			want = append(want, at*5000+n)
			slices.Sort(want)
			continue
		}
		if got := h.pop(); got != want[0] {
			t.Fatalf("popped %d: want %d", got, want[0])
		}
		want = want[1:]
	}
}
