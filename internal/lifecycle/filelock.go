package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// poll is how often a waiting process tries again. flock(2) can also block, but a
// blocked call cannot be cancelled.
const poll = 200 * time.Millisecond

// LockFile takes the exclusive lock of a file, creating the file and its directory
// where they are missing, and returns the function that gives it up. The kernel
// gives it up when the process ends, however it ends. The file stays: removing a
// lock file while others wait for it would let two of them in. waiting, which may
// be nil, is called once if somebody else holds the lock.
func LockFile(ctx context.Context, path string, waiting func()) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the directory of the lock: %w", err)
	}
	for first := true; ; first = false {
		release, err := lock(path, os.O_CREATE|os.O_RDWR)
		if !errors.Is(err, ErrLockHeld) {
			return release, err
		}
		if first && waiting != nil {
			waiting()
		}
		if err := Pause(ctx, poll); err != nil {
			return nil, fmt.Errorf("wait for the lock %s: %w", path, err)
		}
	}
}

// ErrLockHeld says that another process has the lock.
var ErrLockHeld = errors.New("in use by another process")

// LockDir takes the exclusive lock of an existing directory, without a file in it, and
// returns the function that gives it up. It does not wait: see ErrLockHeld.
func LockDir(dir string) (release func(), err error) { return lock(dir, os.O_RDONLY) }

func lock(path string, mode int) (release func(), err error) {
	f, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open what is to be locked: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return func() { _ = f.Close() }, nil // closing gives up the lock
	case errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR):
		err = ErrLockHeld
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
}
