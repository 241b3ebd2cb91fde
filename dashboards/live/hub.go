package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// History is how many frames a viewer gets that comes late, and how many points a line of
// the page has: ten minutes at one a second.
const History = 600

// present is for how long after it asked a viewer counts as being there; a page asks each half second.
const present = 2 * time.Second

// hub keeps the latest frames, as JSON, for all viewers, who ask for those that they lack.
type hub struct {
	boot string // of this server: another one has other frames
	page string // digest of the page: a viewer with another one reloads it

	mu     sync.Mutex // guards what follows
	frames [History]json.RawMessage
	head   uint64    // number of the next frame; frame n is frames[n % History]
	asked  time.Time // when somebody did last
}

// publish adds a frame.
func (h *hub) publish(f Frame) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode a frame: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frames[h.head%History] = data
	h.head++
	return nil
}

// news is one message to a viewer.
type news struct {
	Boot   string            `json:"boot"`
	Page   string            `json:"page"`
	Next   uint64            `json:"next"`  // number of the frame to ask for next
	Reset  bool              `json:"reset"` // what the viewer has does not connect to what follows
	Frames []json.RawMessage `json:"frames"`
}

// since are the frames from a number on. A viewer that is new, was away for too long or has the frames of a former
// server begins anew, with all that are kept.
func (h *hub) since(boot string, next uint64) news {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now()
	oldest := h.head - min(h.head, History)
	n := news{Boot: h.boot, Page: h.page, Next: h.head, Frames: []json.RawMessage{}}
	if n.Reset = boot != h.boot || next < oldest || next > h.head; n.Reset {
		next = oldest
	}
	for ; next < h.head; next++ {
		n.Frames = append(n.Frames, h.frames[next%History])
	}
	return n
}

// serve answers a viewer.
func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	next, err := strconv.ParseUint(r.URL.Query().Get("next"), 10, 63)
	boot := r.URL.Query().Get("boot")
	if err != nil {
		boot = ""
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(h.since(boot, next)) // a viewer may leave at any time
}

// Viewed reports whether somebody views the page.
func (s *Server) Viewed() bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return time.Since(s.hub.asked) < present
}
