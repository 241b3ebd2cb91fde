package xk6

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.k6.io/k6/lib"

	"github.com/watchbench/watchbench/loadgen/plan"
)

func TestSegmentShard(t *testing.T) {
	for text, want := range map[string]plan.Shard{
		"0:1/4": {Index: 1, Of: 4}, "1/4:1/2": {Index: 2, Of: 4}, "3/4:1": {Index: 4, Of: 4}, "0:1": {Index: 1, Of: 1}, "2/3:1": {Index: 3, Of: 3},
		"0.5:0.75": {Index: 3, Of: 4}, "0:2/3": plan.Whole, "1/3:5/6": plan.Whole, "1/8:3/8": plan.Whole, "0:1/17": plan.Whole,
	} {
		var segment lib.ExecutionSegment
		if err := segment.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := segmentShard(&segment)
		if bad := want == plan.Whole && text != "0:1"; got != want || bad != errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := segmentShard(nil); got != plan.Whole || err != nil {
		t.Errorf("no segment: %v, %v", got, err)
	}
}

// TestSegmentsHaveTheThreads: k6 gives a segment as many virtual users as its shard has threads.
func TestSegmentsHaveTheThreads(t *testing.T) {
	for of := 1; of <= plan.MaxShards; of++ {
		sequence := lib.ExecutionSegmentSequence{}
		text := "0"
		for i := 1; i <= of; i++ {
			text += fmt.Sprintf(",%d/%d", i, of)
		}
		if err := sequence.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for i := 1; i <= of; i++ {
			tuple, err := lib.NewExecutionTuple(sequence[i-1], &sequence)
			if err != nil {
				t.Fatal(err)
			}
			for threads := of; threads < 3*of; threads++ {
				want := len(slices.Collect(plan.Shard{Index: i, Of: of}.Threads(threads)))
				if got := tuple.ScaleInt64(int64(threads)); int(got) != want {
					t.Fatalf("shard %d of %d has %d of %d threads, k6 gives it %d virtual users", i, of, want, threads, got)
				}
			}
		}
	}
}
