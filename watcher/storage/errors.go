package storage

import (
	"fmt"
	"time"
)

// The errors of a send carry the policy by type; callers use errors.As.
//
//   - TransientError: nothing was applied, or it is safe to say so; try again with backoff.
//   - ThrottledError: the same, not before RetryAfter has passed.
//   - UnknownOutcomeError: the request may have been, or may yet be, applied; the
//     next write of the key must be fenced (G10).
//   - PermanentError: the same bytes will be refused again; park until the object changes,
//     unless storage refuses several objects alike at once.

// TransientError is a failure that left storage unchanged.
type TransientError struct{ Err error }

func (e *TransientError) Error() string { return "storage unavailable: " + e.Err.Error() }
func (e *TransientError) Unwrap() error { return e.Err }

// ThrottledError asks the sender to wait; RetryAfter is 0 when the server named no time.
type ThrottledError struct {
	RetryAfter time.Duration
	Err        error
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("storage throttles (retry after %s): %v", e.RetryAfter, e.Err)
}
func (e *ThrottledError) Unwrap() error { return e.Err }

// UnknownOutcomeError means that no answer came after the request had been written.
type UnknownOutcomeError struct{ Err error }

func (e *UnknownOutcomeError) Error() string { return "storage outcome unknown: " + e.Err.Error() }
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// PermanentError is a refusal of the request's body.
type PermanentError struct {
	Status int // of the answer; 0: nothing was sent
	Err    error
}

func (e *PermanentError) Error() string { return "storage refused: " + e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }
