package http1

import (
	"errors"
	"syscall"
)

// isTemporary reports whether accepting may succeed later: the client went away,
// or descriptors or memory ran out for the moment.
func isTemporary(err error) bool {
	for _, e := range []error{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
