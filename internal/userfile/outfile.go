package userfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Output is a file that an option names and the command will write.
type Output struct {
	Flag, Path string // an empty path is none
	// What its content is, such as "ledger"; Ours reports whether the regular file at a
	// path is one. What is no such thing is not replaced; an empty file is.
	What string
	Ours func(path string) bool
}

// CheckOutputs opens each output as writing it will, and refuses one that cannot be written, that is another output
// under whatever name, or that holds something else than such a command writes. It leaves everything as it was. The
// errors, one per output, name the flag and what would be right.
func CheckOutputs(outputs ...Output) (err error) {
	opened := make([]os.FileInfo, len(outputs))
	for i, o := range outputs {
		if o.Path == "" {
			continue
		}
		info, remove, openErr := open(o)
		if openErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", o.Flag, openErr))
			continue
		}
		// It stays until all are compared: two names of one new file are the same file only while it is there.
		defer func() { err = errors.Join(err, remove()) }()
		opened[i] = info
		for j, other := range opened[:i] {
			if other != nil && os.SameFile(info, other) {
				err = errors.Join(err, fmt.Errorf("%s: %s is the file of %s, too; name another one", o.Flag, o.Path,
					outputs[j].Flag))
			}
		}
	}
	return err
}

func open(o Output) (info os.FileInfo, undo func() error, err error) {
	const right = "name a file in an existing folder that can be written"
	undo = func() error { return nil }
	f, err := os.OpenFile(o.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		undo = func() error { return os.Remove(o.Path) }
	} else if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(o.Path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w; %s", err, right)
	}
	info, err = f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, undo())
	}
	if info.Mode().IsRegular() && info.Size() > 0 && !o.Ours(o.Path) {
		return nil, nil, fmt.Errorf("%s is there and is no %s, so it is not overwritten; name another file, or remove it",
			o.Path, o.What)
	}
	return info, undo, nil
}
