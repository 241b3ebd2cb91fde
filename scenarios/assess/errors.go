package assess

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/history"
)

// missing is a record that is not there.
func missing(path string) error {
	return &badinput.Error{
		What:   fmt.Sprintf("%s is missing: an older version recorded this folder, or the run did not get that far", path),
		Remedy: "check it with the version that recorded it, or run the scenario again",
	}
}

// unusable turns defects of a record into a badinput.Error; other errors stay.
func unusable(err error) error {
	var format *history.FormatError
	switch {
	case !errors.As(err, &format):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return missing(format.File)
	}
	return &badinput.Error{What: err.Error(), Remedy: "the folder must be complete and as it was written"}
}

// require reports the first of the files that a folder lacks. A compressed one may be there without its ending.
func require(dir string, files ...string) error {
	for _, name := range files {
		if path, err := history.Find(dir, name); path == "" || err != nil {
			return missing(filepath.Join(dir, name))
		}
	}
	return nil
}
