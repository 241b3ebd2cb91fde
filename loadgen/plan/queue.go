package plan

import "container/heap"

// queue gives out first what comes before all others in it.
type queue[T interface{ Before(T) bool }] []T

func (q *queue[T]) add(x T) { heap.Push((*heapOf[T])(q), x) }
func (q *queue[T]) take() T { return heap.Pop((*heapOf[T])(q)).(T) }

// heapOf is a queue as container/heap wants it.
type heapOf[T interface{ Before(T) bool }] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h heapOf[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heapOf[T]) Push(x any)        { *h = append(*h, x.(T)) }

func (h *heapOf[T]) Pop() any {
	var none T
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = none
	*h = old[:len(old)-1]
	return last
}
