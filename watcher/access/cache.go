package access

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
)

// key is a keyed hash of what an answer is about.
type key [32]byte

// answer is a decision and how long it is valid.
type answer[V any] struct {
	value V
	yes   bool
	valid time.Duration
}

// cache keeps answers. Refusals have room of their own, so that refused users push
// no accepted ones out; within each, the least recently used goes first.
type cache[V any] struct {
	accepted, refused *utilcache.LRUExpireCache // key → answer[V]
	asking            singleflight.Group
}

func newCache[V any](accepted, refused int) *cache[V] {
	return &cache[V]{accepted: utilcache.NewLRUExpireCache(accepted), refused: utilcache.NewLRUExpireCache(refused)}
}

// get is a kept answer that still counts.
func (c *cache[V]) get(k key) (answer[V], bool) {
	for _, kept := range []*utilcache.LRUExpireCache{c.accepted, c.refused} {
		if v, ok := kept.Get(k); ok {
			return v.(answer[V]), true
		}
	}
	return answer[V]{}, false
}

// do is get or, where there is nothing, ask, which others who want the same wait for. ask's context does not end with
// that of the caller who happened to come first; it must bound its time by itself. Errors are not kept.
func (c *cache[V]) do(ctx context.Context, k key, ask func(context.Context) (answer[V], error)) (answer[V], error) {
	if a, ok := c.get(k); ok {
		return a, nil
	}
	asked := c.asking.DoChan(string(k[:]), func() (any, error) {
		if a, ok := c.get(k); ok { // answered meanwhile
			return a, nil
		}
		a, err := ask(context.WithoutCancel(ctx))
		switch {
		case err != nil:
		case a.yes:
			c.accepted.Add(k, a, a.valid)
		default:
			c.refused.Add(k, a, a.valid)
		}
		return a, err
	})
	select {
	case r := <-asked:
		a, _ := r.Val.(answer[V])
		return a, r.Err
	case <-ctx.Done():
		return answer[V]{}, ctx.Err()
	}
}
