package party

import (
	"fmt"
	"time"
)

// ExitError is a process that ended when it should not have.
type ExitError struct {
	name string
	how  string // how it ended
	Last string // last line of its log; may be empty
	log  string // where the rest is
}

func (e *ExitError) Error() string {
	s := fmt.Sprintf("%s ended: %s", e.name, e.how)
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
