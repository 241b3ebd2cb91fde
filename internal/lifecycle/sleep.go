package lifecycle

import (
	"context"
	"time"
)

// Sleep waits for d and reports whether it passed; false is the end of ctx. It does not
// wait when d is not positive.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
