package cluster

import "fmt"

// InputError says that what the user asked for cannot be done as asked, and what
// would be right. Commands map it to the exit code for bad input.
type InputError struct {
	What   string // what is wrong, and where
	Remedy string // what would be right
	Err    error  // the cause, may be nil
}

func (e *InputError) Error() string {
	s := e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *InputError) Unwrap() error { return e.Err }

// badInput builds an InputError without a cause.
func badInput(remedy, format string, args ...any) error {
	return &InputError{What: fmt.Sprintf(format, args...), Remedy: remedy}
}
