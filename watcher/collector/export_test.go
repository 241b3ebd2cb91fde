package collector

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// FastRetry makes the reflectors of c retry within milliseconds.
func FastRetry(c *Collector) {
	c.backoff = wait.Backoff{Duration: time.Millisecond, Cap: 20 * time.Millisecond, Steps: 10, Factor: 2}
	for _, k := range c.kinds {
		k.verifier.quick = true
		k.backoff = c.backoff
	}
}

// WaitForSync blocks until every kind of this moment is synced or removed.
func (c *collected) WaitForSync(ctx context.Context) error {
	c.mu.Lock()
	kinds := c.snapshot()
	c.mu.Unlock()
	for _, k := range kinds {
		select {
		case <-k.store.synced:
		case <-k.done:
		case <-ctx.Done():
			return fmt.Errorf("wait for the first list of %s: %w", k.resource, context.Cause(ctx))
		}
	}
	return nil
}
