package check

import "iter"

// chunks is a list that grows without copying: pointers into it stay good.
type chunks[T any] struct {
	all [][]T
	n   int
}

// chunkLen is the number of values allocated at once.
const chunkLen = 4096

func (c *chunks[T]) add(v T) *T {
	if c.n%chunkLen == 0 {
		c.all = append(c.all, make([]T, 0, chunkLen))
	}
	last := &c.all[len(c.all)-1]
	*last = append(*last, v)
	c.n++
	return &(*last)[len(*last)-1]
}

func (c *chunks[T]) at(i int) *T { return &c.all[i/chunkLen][i%chunkLen] }

// each yields every value in the order in which they were added.
func (c *chunks[T]) each() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, chunk := range c.all {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}
