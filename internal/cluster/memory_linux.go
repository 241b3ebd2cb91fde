package cluster

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// inMemory reports whether a directory is on no disk.
func inMemory(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return false
	}
	return fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC
}

// memoryFile keeps data in a file on no disk, which this user's processes can read under
// its path as long as this one lives and has not closed it.
func memoryFile(name string, data []byte) (path string, remove func() error, err error) {
	fd, err := unix.MemfdCreate("watchbench-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("make a file in memory: %w", err)
	}
	path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
	f := os.NewFile(uintptr(fd), path)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o600)); err == nil {
		_, err = os.Stat(path) // there may be no /proc
	}
	if err != nil {
		return "", nil, errors.Join(err, f.Close())
	}
	return path, f.Close, nil
}
