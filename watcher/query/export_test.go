package query

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/watches"
)

// Hubs is how many views are watched.
func (h *Handler) Hubs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hubs)
}

// SetMostWaiting is for a Handler that has no requests yet.
func (h *Handler) SetMostWaiting(n int) { h.waiting = newSlots(h.waiting.what, n) }

// Waiting is how many requests wait.
func (h *Handler) Waiting() int { return h.waiting.inUse() }

// Watching is how many watches are open.
func (h *Handler) Watching() int { return h.watchers.inUse() }

// SetPatience is for a Handler that has no requests yet.
func (h *Handler) SetPatience(d time.Duration) { h.patience = d }

// Cells are those of an object's row.
func Cells(k watches.Kind, raw []byte) ([]any, error) {
	b, err := appendRow(nil, k, raw, metav1.IncludeNone)
	if err != nil {
		return nil, err
	}
	var row struct{ Cells []any }
	return row.Cells, json.Unmarshal(b, &row)
}
