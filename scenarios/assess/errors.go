package assess

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/watchbench/watchbench/scenarios/history"
)

// InputError is a folder that cannot be assessed.
type InputError struct {
	What   string // what is wrong, and where
	Remedy string // what would be right
}

func (e *InputError) Error() string { return e.What + "; " + e.Remedy }

// missing is a record that is not there.
func missing(path string) error {
	return &InputError{
		What:   fmt.Sprintf("%s is missing: an older version recorded this folder, or the run did not get that far", path),
		Remedy: "check it with the version that recorded it, or run the scenario again",
	}
}

// unusable turns defects of a record into an InputError; other errors stay.
func unusable(err error) error {
	var format *history.FormatError
	switch {
	case !errors.As(err, &format):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return missing(format.File)
	}
	return &InputError{What: err.Error(), Remedy: "the folder must be complete and as it was written"}
}

// require reports the first of the files that a folder lacks. A compressed one may be
// there without its ending.
func require(dir string, files ...string) error {
	for _, name := range files {
		found, err := filepath.Glob(filepath.Join(dir, name))
		if len(found) == 0 && err == nil {
			found, err = filepath.Glob(filepath.Join(dir, name[:len(name)-len(filepath.Ext(name))]))
		}
		if err != nil || len(found) == 0 {
			return missing(filepath.Join(dir, name))
		}
	}
	return nil
}
