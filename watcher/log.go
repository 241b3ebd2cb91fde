package watcher

import (
	"io"
	"log/slog"

	"github.com/watchbench/watchbench/internal/badinput"
)

// debugVerbosity is the "v" from which each list and watch that fails or ends is logged.
const debugVerbosity = 4

// NewLogger writes lines of key=value; objects appear in them by name and version,
// never by content, and addresses without users and tokens.
func NewLogger(w io.Writer, verbosity int) *slog.Logger {
	level := slog.LevelInfo
	if verbosity >= debugVerbosity {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutSecrets}))
}

// withoutSecrets takes users and tokens out of addresses, in messages, errors and texts.
func withoutSecrets(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(badinput.Redact(v))
	case error:
		a.Value = slog.StringValue(badinput.Redact(v.Error()))
	}
	return a
}
