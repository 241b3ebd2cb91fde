package notify

import (
	"fmt"
	"time"
)

// Event is one notification. Everything in it is the target's to keep.
type Event struct {
	ID   string // uid:resourceVersion:type, the same at each try
	Type string // ADDED, MODIFIED or DELETED
	// Group, Version and Resource name the kind; that of the core group is empty.
	Group, Version, Resource string
	Namespace, Name, UID     string // Namespace is empty in the cluster scope
	// Body is the watch event, {"type":…,"object":{…}}, compact.
	Body []byte
}

// Reason says why an event was given up. It is the value of a label.
type Reason string

// The reasons.
const (
	Refused  Reason = "refused"   // the receiver does not want this event
	TooLarge Reason = "too_large" // more than the target takes
	Tries    Reason = "tries"     // as many tries as allowed failed
	Age      Reason = "age"       // the tries took longer than allowed
	Invalid  Reason = "invalid"   // the object cannot be written as an event
)

// Reasons are all of them.
func Reasons() []Reason { return []Reason{Refused, TooLarge, Tries, Age, Invalid} }

// PermanentError says that another try would end the same way.
type PermanentError struct {
	Reason Reason
	Err    error
}

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *PermanentError) Unwrap() error { return e.Err }

// RetryAfterError says when the receiver is to be asked again.
type RetryAfterError struct {
	After time.Duration
	All   bool // it is about all events, not about this one
	Err   error
}

func (e *RetryAfterError) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// UnreachableError says that nothing was sent, because the receiver cannot be reached: no event caused it.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return "not reachable: " + e.Err.Error() }

// Unwrap returns why.
func (e *UnreachableError) Unwrap() error { return e.Err }

// KeyError says what is wrong with the value of one key, and what would be right.
func KeyError(key, format string, args ...any) error {
	return fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...))
}
