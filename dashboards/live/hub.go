package live

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Bounds of what is kept and sent.
const (
	// History is how many frames a viewer gets that comes late, and how many points a line of
	// the page has: ten minutes at one a second.
	History = 600
	// maxBehind is how many frames a viewer may be behind before it skips to the newest.
	maxBehind = 20
	// MaxViewers bounds the viewers; each has a connection and a goroutine.
	MaxViewers = 32
)

// hub keeps the latest frames, as JSON, for all viewers. There is no queue per viewer: each
// knows the number of the frame that it needs next.
type hub struct {
	mu      sync.Mutex // guards what follows
	frames  [History][]byte
	head    uint64        // number of the next frame; frame n is frames[n % History]
	news    chan struct{} // closed when a frame comes
	viewers int
	left    chan struct{} // closed when a viewer leaves
}

func newHub() *hub { return &hub{news: make(chan struct{}), left: make(chan struct{})} }

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
	close(h.news)
	h.news = make(chan struct{})
	return nil
}

// oldest is the number of the oldest frame that is kept.
func (h *hub) oldest() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head - min(h.head, History)
}

// from returns the frames from a number on, those that are kept, the number after them, and what
// is closed when there are more. Where more than most are due, only the newest is returned.
func (h *hub) from(next, most uint64) (frames [][]byte, after uint64, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if next > h.head {
		next = h.head // a number of nobody's
	}
	if h.head-next > most {
		next = h.head - 1
	}
	next = max(next, h.head-min(h.head, History))
	for ; next < h.head; next++ {
		frames = append(frames, h.frames[next%History])
	}
	return frames, next, h.news
}

// enter lets a viewer in, unless there are too many.
func (h *hub) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers >= MaxViewers {
		return false
	}
	h.viewers++
	return true
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
	close(h.left)
	h.left = make(chan struct{})
}

// present is the number of viewers, and what is closed when one leaves.
func (h *hub) present() (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.viewers, h.left
}
