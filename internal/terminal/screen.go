package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// redrawEvery keeps a terminal calm, plainEvery a log short.
const (
	redrawEvery = 200 * time.Millisecond
	plainEvery  = 10 * time.Second
)

// Screen is where a command reports: lines, and on a terminal a status below them, which is
// drawn anew in place. Elsewhere a status is a plain line now and then.
//
// Whatever is written through it appears above the status, so a program has one Screen for its
// standard error. It writes no escape sequence: what it draws it takes away with spaces, and
// the cursor is never hidden, so that an interruption leaves the terminal as it was.
type Screen struct {
	w       io.Writer
	live    bool       // the status is drawn in place
	columns func() int // of the terminal now; 0 unknown
	now     func() time.Time

	mu    sync.Mutex // guards what follows, and w
	drawn int        // columns of the status on screen
	said  time.Time  // when something was last written
	open  bool       // what was last written did not end its line
}

var _ io.Writer = (*Screen)(nil)

// New reports to a writer. columns, which may be nil, is asked before each status.
func New(w io.Writer, live bool, columns func() int) *Screen {
	if columns == nil {
		columns = func() int { return 0 }
	}
	return &Screen{w: w, live: live, columns: columns, now: time.Now}
}

// Stderr reports to a file as its terminal and the environment permit.
func Stderr(f *os.File) *Screen {
	fd := int(f.Fd())
	live := term.IsTerminal(fd) && InPlace(os.Getenv)
	return New(f, live, func() int { return widthOf(fd) })
}

func widthOf(fd int) int {
	if n, _, err := term.GetSize(fd); err == nil {
		return n
	}
	return 0
}

// Live reports whether the status is drawn in place.
func (s *Screen) Live() bool { return s.live }

// Line writes a line of text.
func (s *Screen) Line(text string) { fmt.Fprintln(s, text) }

// Write writes text above the status.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if len(p) > 0 {
		s.said, s.open = s.now(), p[len(p)-1] != '\n'
	}
	return s.w.Write(p)
}

// Status shows what is going on. One that comes soon after the last is left out unless it is forced.
func (s *Screen) Status(text string, force bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch since := now.Sub(s.said); {
	case !s.live && (force || since >= plainEvery):
		s.said = now
		fmt.Fprintln(s.w, text)
	case s.live && (force || s.drawn == 0 || since >= redrawEvery) && !s.open:
		s.said = now
		s.draw(text)
	}
}

// draw replaces the status. It never reaches the last column, where some terminals wrap.
func (s *Screen) draw(text string) {
	n := s.columns()
	if n > 0 {
		text = Cut(text, n-1)
	}
	wide := Columns(text)
	rest := max(0, s.drawn-wide)
	if n > 0 { // the terminal may be narrower than it was
		rest = min(rest, max(0, n-1-wide))
	}
	fmt.Fprintf(s.w, "\r%s%s", text, strings.Repeat(" ", rest))
	s.drawn = wide
}

// Clear takes the status away.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Screen) clear() {
	if s.drawn > 0 {
		s.draw("")
		fmt.Fprint(s.w, "\r")
	}
}

// Follow shows a status that is asked for each second, until stop is called.
func (s *Screen) Follow(status func() string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.Status(status(), s.live)
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
		s.Clear()
	})
}
