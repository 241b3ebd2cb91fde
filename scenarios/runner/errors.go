package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// InputError says that what the user asked for cannot be done as asked.
type InputError struct {
	What   string // what is wrong, and where
	Remedy string // what would be right
}

func (e *InputError) Error() string { return e.What + "; " + e.Remedy }

// IsInput reports whether an error is the user's to mend by another argument.
func IsInput(err error) bool {
	var (
		own *InputError
		sp  *spec.Error
		cl  *cluster.InputError
	)
	return errors.As(err, &own) || errors.As(err, &sp) || errors.As(err, &cl)
}

// exitError is a child that ended when it should not have.
type exitError struct {
	name string
	how  string // how it ended
	last string // its last words, if any
	log  string // where the rest is
}

func (e *exitError) Error() string {
	s := fmt.Sprintf("%s ended: %s", e.name, e.how)
	if e.last != "" {
		s += ": " + e.last
	}
	return s + " (log: " + e.log + ")"
}

// timeoutError is a phase that did not end in its time.
type timeoutError struct {
	what  string
	after time.Duration
	log   string
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s did not happen within %s (log: %s)", e.what, e.after, e.log)
}
