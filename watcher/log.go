package watcher

import (
	"io"
	"log/slog"
)

// debugVerbosity is the "v" from which each event is logged.
const debugVerbosity = 4

// NewLogger writes lines of key=value; objects appear in them by name and version,
// never by content.
func NewLogger(w io.Writer, verbosity int) *slog.Logger {
	level := slog.LevelInfo
	if verbosity >= debugVerbosity {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
