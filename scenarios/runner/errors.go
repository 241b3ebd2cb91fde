package runner

import (
	"errors"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// IsInput reports whether a different argument would avoid the error.
func IsInput(err error) bool {
	var file *spec.Error
	return badinput.Is(err) || errors.As(err, &file)
}
