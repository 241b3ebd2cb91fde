package revision

import (
	"errors"
	"fmt"
	"strings"
)

// BuildError is a revision whose program does not build.
type BuildError struct {
	Package, Version string
	Err              error
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("build %s of %s: %v", e.Package, e.Version, e.Err)
}

func (e *BuildError) Unwrap() error { return e.Err }

// First is the first error that the compiler printed, on one line.
func (e *BuildError) First() string {
	var failed *commandError
	if errors.As(e.Err, &failed) {
		for _, line := range failed.said {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") { // a package's name
				return line
			}
		}
	}
	return strings.Join(strings.Fields(e.Err.Error()), " ")
}

// commandError is a command that ended with an error.
type commandError struct {
	name string
	err  error
	said []string // the last lines of its standard error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("%s: %v: %s", e.name, e.err, strings.Join(e.said, "\n"))
}

func (e *commandError) Unwrap() error { return e.err }
