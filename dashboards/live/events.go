package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Times of the stream of events.
const (
	writeTimeout = 10 * time.Second // a viewer that takes nothing for so long is gone
	keepAlive    = 15 * time.Second // between two signs of life
	retryAfter   = 2 * time.Second  // for a browser that lost the connection
)

// hello begins each stream.
type hello struct {
	Boot  string `json:"boot"`  // of this server: another one has other frames
	Page  string `json:"page"`  // digest of the page: a viewer with another one reloads it
	Reset bool   `json:"reset"` // what the viewer has does not connect to what follows
}

// events streams the frames to a viewer: those it lacks, then each as it comes.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !s.hub.enter() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d viewers are connected, which is the most", MaxViewers), http.StatusServiceUnavailable)
		return
	}
	defer s.hub.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := stream{w: w, control: http.NewResponseController(w), boot: s.boot}
	next, known := s.resume(r)
	first, err := json.Marshal(hello{Boot: s.boot, Page: s.page, Reset: !known})
	if err != nil {
		return // plain strings always encode
	}
	fmt.Fprintf(&out.buf, "retry: %d\nevent: hello\ndata: %s\n\n", retryAfter.Milliseconds(), first)
	if out.send() != nil {
		return
	}
	s.follow(r, &out, next)
}

// follow sends frames until the viewer or the server ends.
func (s *Server) follow(r *http.Request, out *stream, next uint64) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	most := uint64(math.MaxUint64) // of the first batch
	for {
		frames, after, more := s.hub.from(next, most)
		if len(frames) > 0 {
			out.frames(frames, after-1)
			if out.send() != nil {
				return
			}
			next, most = after, maxBehind
			continue // what came meanwhile
		}
		most = maxBehind
		select {
		case <-more:
		case <-alive.C:
			out.buf.WriteString(": alive\n\n")
			if out.send() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// resume is the number of the first frame that a viewer lacks, by the id of the last one it
// has. Not known is a viewer that is new, was away for too long, or has the frames of a
// former server.
func (s *Server) resume(r *http.Request) (next uint64, known bool) {
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("last")
	}
	oldest := s.hub.oldest()
	boot, number, _ := strings.Cut(last, "-")
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || boot != s.boot || n+1 < oldest {
		return oldest, false
	}
	return n + 1, true
}

// stream writes events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	boot    string
	buf     bytes.Buffer
}

// frames appends an event; number is that of the last frame.
func (s *stream) frames(frames [][]byte, number uint64) {
	fmt.Fprintf(&s.buf, "id: %s-%d\nevent: frames\ndata: [", s.boot, number)
	for i, f := range frames {
		if i > 0 {
			s.buf.WriteByte(',')
		}
		s.buf.Write(f) // JSON of json.Marshal has no line breaks
	}
	s.buf.WriteString("]\n\n")
}

// send writes what was appended.
func (s *stream) send() error {
	defer s.buf.Reset()
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}
