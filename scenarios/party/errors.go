package party

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// WatcherName begins the name of every watcher process.
const WatcherName = "k8s-watch"

// WatcherEnded reports whether an error is a watcher that ended by itself.
func WatcherEnded(err error) bool {
	e, ok := errors.AsType[*ExitError](err)
	return ok && strings.HasPrefix(e.Name, WatcherName)
}

// ExitError is a process that ended when it should not have.
type ExitError struct {
	Name  string // of the process
	title string // what the message calls it
	how   string // how it ended
	Last  string // last line of its log; may be empty
	log   string // where the rest is
}

func (e *ExitError) Error() string {
	s := fmt.Sprintf("%s ended: %s", e.title, e.how)
	if e.Last != "" {
		s += ": " + e.Last
	}
	return s + " (log: " + e.log + ")"
}

// TimeoutError is something that did not happen in its time.
type TimeoutError struct {
	What  string
	After time.Duration
	Log   string // path of the log of the process that was waited for
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not happen within %s (log: %s)", e.What, e.After, e.Log)
}
