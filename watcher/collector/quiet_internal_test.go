package collector

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
)

// TestQuiet: errors of client-go are debug lines, and no lines where those are off.
func TestQuiet(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		var out bytes.Buffer
		l := logr.FromSlogHandler(quiet{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})})
		l.Error(errors.New("no rights"), "Failed to watch")
		l.WithName("a").Info("said")
		if (out.Len() > 0) != want {
			t.Errorf("at %s: %q, want lines: %t", level, out.String(), want)
		}
	}
}
