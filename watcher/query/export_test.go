package query

import "time"

// NextBookmark is nextBookmark.
var NextBookmark = nextBookmark

// Hubs is how many views are watched.
func (h *Handler) Hubs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hubs)
}

// Watching is how many watches are open.
func (h *Handler) Watching() int { return h.watchers.inUse() }

// SetPatience is for a Handler that has no requests yet.
func (h *Handler) SetPatience(d time.Duration) { h.patience = d }
