package check

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func upTo(n int, last error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if last != nil {
			yield(n, last)
		}
	}
}

// TestAhead: the same values in the same order, errors included, and nothing runs on when
// the loop ends early.
func TestAhead(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	why := errors.New("broken line")
	for _, n := range []int{0, 1, aheadBatch - 1, aheadBatch, aheadBatch + 1, 10*aheadBatch + 7} {
		for _, last := range []error{nil, why} {
			var want, got []int
			for v := range upTo(n, last) {
				want = append(want, v)
			}
			var err error
			for v, e := range ahead(upTo(n, last)) {
				got, err = append(got, *v), e
			}
			if !slices.Equal(got, want) || !errors.Is(err, last) {
				t.Errorf("%d values: %d came, error %v", n, len(got), err)
			}
		}
		for _, enough := range []int{1, aheadBatch, aheadBatch + 1} {
			seen := 0
			for range ahead(upTo(n, nil)) {
				if seen++; seen == enough {
					break
				}
			}
			if seen != min(enough, n) {
				t.Errorf("%d of %d values: %d came", enough, n, seen)
			}
		}
	}
}
