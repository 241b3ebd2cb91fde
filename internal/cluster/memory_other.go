//go:build !linux

package cluster

import "errors"

// inMemory cannot be told here.
func inMemory(string) bool { return false }

func memoryFile(string, []byte) (path string, remove func() error, err error) {
	return "", nil, errors.ErrUnsupported
}
