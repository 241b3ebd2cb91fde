package session

import (
	"bufio"
	"context"
	"io"
	"sync"
)

// lines turns standard input into go-aheads. Its reader cannot be interrupted and
// lives until its input ends, which for a program is the end of the process.
type lines struct {
	mu      sync.Mutex // guards what follows
	unused  int        // lines that nobody has taken yet
	ended   bool
	changed chan struct{} // closed at the next change, then replaced
}

func newLines(r io.Reader) *lines {
	l := &lines{changed: make(chan struct{})}
	go func() {
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			l.change(func() { l.unused++ })
		}
		l.change(func() { l.ended = true })
	}()
	return l
}

func (l *lines) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// take uses up a line if there is one, and returns a channel that is closed at the next change.
func (l *lines) take() (ok, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unused > 0 {
		l.unused--
		return true, l.ended, l.changed
	}
	return false, l.ended, l.changed
}

// next waits for a line. The end of input is ErrAborted.
func (l *lines) next(ctx context.Context) error {
	for {
		ok, ended, changed := l.take()
		switch {
		case ok:
			return nil
		case ended:
			return ErrAborted
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// whileOpen makes a context that ends with ErrAborted when the input ends and no
// line is left: whoever wrote it has died. release must be called.
func (l *lines) whileOpen(ctx context.Context) (out context.Context, release func()) {
	out, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			l.mu.Lock()
			gone, changed := l.ended && l.unused == 0, l.changed
			l.mu.Unlock()
			if gone {
				cancel(ErrAborted)
				return
			}
			select {
			case <-changed:
			case <-out.Done():
				return
			}
		}
	})
	return out, func() { cancel(nil); wg.Wait() }
}
