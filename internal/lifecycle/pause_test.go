package lifecycle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Pause(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s, want a minute", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("reason")
		time.AfterFunc(time.Second, func() { cancel(reason) })
		began = time.Now()
		if err := Pause(ctx, time.Minute); !errors.Is(err, reason) || time.Since(began) != time.Second {
			t.Errorf("%v after %s, want the cause after a second", err, time.Since(began))
		}
		for _, d := range []time.Duration{0, -time.Second} {
			if err := Pause(ctx, d); !errors.Is(err, reason) {
				t.Errorf("%s with an ended context: %v", d, err)
			}
			if err := Pause(t.Context(), d); err != nil {
				t.Errorf("%s: %v", d, err)
			}
		}
	})
}
