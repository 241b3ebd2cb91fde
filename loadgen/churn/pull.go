package churn

import (
	"iter"
	"sync"
)

// pull makes an iterator that several goroutines may take from.
func pull[T any](seq iter.Seq[T]) (next func() (T, bool), stop func()) {
	var mu sync.Mutex // serialises the iterator
	pullNext, pullStop := iter.Pull(seq)
	return func() (T, bool) {
		mu.Lock()
		defer mu.Unlock()
		return pullNext()
	}, pullStop
}
