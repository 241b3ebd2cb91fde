package access

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// key is a keyed hash of what an answer is about.
type key [32]byte

// answer is a decision and how long it is valid.
type answer[V any] struct {
	value V
	yes   bool
	until time.Time
}

// cache keeps answers. Refusals have room of their own, so that refused users push
// no accepted ones out; within each, the least recently used goes first.
type cache[V any] struct {
	accepted, refused *lru.Cache // key → answer[V]

	mu    sync.Mutex
	asked map[key]*question[V] // guarded by mu: one at a time for a key
}

// question is being asked; its fields are set before done is closed.
type question[V any] struct {
	done   chan struct{}
	answer answer[V]
	err    error
}

func newCache[V any](accepted, refused int) *cache[V] {
	return &cache[V]{accepted: lru.New(accepted), refused: lru.New(refused), asked: map[key]*question[V]{}}
}

// get is a kept answer that still counts.
func (c *cache[V]) get(k key) (answer[V], bool) {
	for _, kept := range []*lru.Cache{c.accepted, c.refused} {
		if v, ok := kept.Get(k); ok {
			if a := v.(answer[V]); time.Now().Before(a.until) {
				return a, true
			}
		}
	}
	return answer[V]{}, false
}

// do is get or, where there is nothing, ask, which others who want the same wait for. ask's
// context does not end with that of the caller who happened to come first; it must bound
// its time by itself. Errors are not kept.
func (c *cache[V]) do(ctx context.Context, k key, ask func(context.Context) (answer[V], error)) (answer[V], error) {
	if a, ok := c.get(k); ok {
		return a, nil
	}
	c.mu.Lock()
	if a, ok := c.get(k); ok { // answered meanwhile
		c.mu.Unlock()
		return a, nil
	}
	if q := c.asked[k]; q != nil {
		c.mu.Unlock()
		select {
		case <-q.done:
			return q.answer, q.err
		case <-ctx.Done():
			return answer[V]{}, ctx.Err()
		}
	}
	q := &question[V]{done: make(chan struct{}), err: context.Canceled} // the error is for others if ask panics
	c.asked[k] = q
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, k)
		c.mu.Unlock()
		close(q.done)
	}()
	if q.answer, q.err = ask(context.WithoutCancel(ctx)); q.err == nil {
		kept := c.refused
		if q.answer.yes {
			kept = c.accepted
		}
		kept.Add(k, q.answer)
	}
	return q.answer, q.err
}
