// Package badinput is the error for everything that another argument, file or setting would fix, with helpers to
// word it: the nearest known name, and what a flag should have been. Commands map it to the exit code for bad input.
package badinput

import (
	"errors"
	"fmt"
)

// Error says that what the user asked for cannot be done as asked, and what would be right.
type Error struct {
	What   string // what is wrong, and where; may be empty where Err says it
	Remedy string // what would be right; may be empty
	Err    error  // the cause; may be nil
}

func (e *Error) Error() string {
	s := e.What
	if e.Err != nil && s != "" {
		s += ": "
	}
	if e.Err != nil {
		s += e.Err.Error()
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// New returns an Error without a cause.
func New(remedy, format string, args ...any) error {
	return &Error{What: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Wrap returns err as one of bad input; it says what would be right.
func Wrap(err error) error { return &Error{Err: err} }

// Is reports whether an error is one of bad input.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
