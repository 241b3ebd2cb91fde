package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !Sleep(ctx, 0) || !Sleep(ctx, -time.Second) || time.Since(start) != 0 {
			t.Errorf("nothing to wait for took %s", time.Since(start))
		}
		if !Sleep(ctx, 40*time.Second) || time.Since(start) != 40*time.Second {
			t.Errorf("40s took %s", time.Since(start))
		}
		if Sleep(ctx, 40*time.Second) || time.Since(start) != time.Minute {
			t.Errorf("the end of the context came after %s", time.Since(start))
		}
		if Sleep(ctx, 0) {
			t.Error("the context had ended")
		}
	})
}
