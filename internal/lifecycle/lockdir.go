package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLockHeld says that another process has the lock.
var ErrLockHeld = errors.New("in use by another process")

// LockDir takes the exclusive lock of an existing directory, without a file in it, and
// returns the function that gives it up. It does not wait: see ErrLockHeld.
func LockDir(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory to lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLockHeld
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing gives up the lock
}
