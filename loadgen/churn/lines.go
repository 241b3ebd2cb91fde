package churn

import (
	"bufio"
	"context"
	"io"
)

// lines turns standard input into go-aheads. Its reader cannot be interrupted and lives until its input ends.
type lines struct {
	unused chan string     // lines that nobody has taken yet
	open   context.Context // ends with the input
}

const maxUnused = 3

func newLines(r io.Reader) *lines {
	open, end := context.WithCancel(context.Background())
	l := &lines{unused: make(chan string, maxUnused), open: open}
	go func() {
		defer end()
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			select {
			case l.unused <- scanner.Text():
			default:
			}
		}
	}()
	return l
}

// next waits for a line. The end of input is ErrAborted.
func (l *lines) next(ctx context.Context) (string, error) {
	select {
	case line := <-l.unused:
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-l.open.Done():
	}
	select {
	case line := <-l.unused:
		return line, nil
	default:
		return "", ErrAborted
	}
}

// whileOpen makes a context that ends with ErrAborted when the input ends with no line left: its writer has died.
func (l *lines) whileOpen(ctx context.Context) (out context.Context, release func()) {
	out, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.open, func() {
		if len(l.unused) == 0 {
			cancel(ErrAborted)
		}
	})
	return out, func() { stop(); cancel(nil) }
}
