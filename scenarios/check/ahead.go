package check

import "iter"

// Sizes of the batches between the goroutines, and how many are under way.
const (
	aheadBatch   = 512
	aheadBatches = 4
)

// ahead runs seq in a goroutine of its own, a few batches before its consumer, so that a record is decoded on one
// processor while it is judged on another. A pointer that it yields is good until the next one. The goroutine has ended
// when the loop over the result has.
func ahead[T any](seq iter.Seq2[T, error]) iter.Seq2[*T, error] {
	type pair struct {
		value T
		err   error
	}
	return func(yield func(*T, error) bool) {
		full, empty := make(chan []pair, aheadBatches), make(chan []pair, aheadBatches+2) // room for all there are
		stop := make(chan struct{})
		go func() {
			defer close(full)
			batch := make([]pair, 0, aheadBatch)
			send := func() bool {
				select {
				case full <- batch:
				case <-stop:
					return false
				}
				select {
				case batch = <-empty:
				default:
					batch = make([]pair, 0, aheadBatch)
				}
				return true
			}
			for value, err := range seq {
				if batch = append(batch, pair{value, err}); len(batch) == aheadBatch && !send() {
					return
				}
			}
			send()
		}()
		defer func() {
			close(stop)
			for range full { // until the goroutine has ended
			}
		}()
		for batch := range full {
			for i := range batch {
				if !yield(&batch[i].value, batch[i].err) {
					return
				}
			}
			clear(batch)
			empty <- batch[:0]
		}
	}
}
