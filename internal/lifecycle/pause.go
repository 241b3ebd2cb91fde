package lifecycle

import (
	"context"
	"time"
)

// Pause waits for d. It returns early with ctx's cause when ctx ends, also where d is
// not positive.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return context.Cause(ctx)
}
