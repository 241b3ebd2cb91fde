package pipeline

// heap is a binary min-heap by a number, a sequence or a time, and by another among equals.
type heap[T any] []heapItem[T]

type heapItem[T any] struct {
	at, tie int64
	item    T
}

type keyItem = heapItem[*entry]

func (i *heapItem[T]) before(o *heapItem[T]) bool {
	return i.at < o.at || i.at == o.at && i.tie < o.tie
}

func (h *heap[T]) push(x heapItem[T]) {
	s := append(*h, x)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(&s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = x
	*h = s
}

func (h *heap[T]) pop() T {
	s := *h
	top, n := s[0].item, len(s)-1
	last := s[n]
	s[n] = heapItem[T]{}
	s = s[:n]
	if n == 0 {
		if cap(s) > maxFree { // give the memory of a burst back
			s = nil
		}
		*h = s
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = last
	*h = s
	return top
}
