package collector

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/watcher/pipeline"
)

var discard = slog.New(slog.DiscardHandler)

func mustMetrics(t *testing.T) *metrics {
	t.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// recorder is a Sink that writes down what it gets. One goroutine uses it.
type recorder struct{ lines []string }

func (r *recorder) Enqueue(_ context.Context, e pipeline.Event) error {
	r.lines = append(r.lines, fmt.Sprintf("%d %s %s %d", e.Action, e.Key, e.UID, e.ResourceVersion))
	return nil
}

func (r *recorder) take() []string {
	lines := r.lines
	r.lines = nil
	return lines
}
