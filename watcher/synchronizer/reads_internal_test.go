package synchronizer

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
)

// TestNoteEndsWithItsCaller: a read that timed out waits for its turn to ask no longer than its
// caller.
func TestNoteEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(1, slog.New(slog.DiscardHandler), func(context.Context) error { return nil })
		r.asking <- struct{}{} // another one asks
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r.note(ctx, os.ErrDeadlineExceeded) {
			t.Error("others can be read, though nobody has asked")
		}
	})
}
