package history

import "fmt"

// FormatError says where recorded evidence is unusable. It is an input error, not a verdict.
type FormatError struct {
	File string
	Line int // from 1; 0 when the file as a whole is meant
	Err  error
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap is the cause.
func (e *FormatError) Unwrap() error { return e.Err }
