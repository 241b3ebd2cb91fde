package assess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/history"
)

// whole reports the first sign that a cell's record is not complete, or is made of several: what would otherwise not be
// judged at all.
func (c *recorded) whole(dir string) error {
	bad := func(file, format string, args ...any) error {
		return &history.FormatError{File: filepath.Join(dir, file), Err: fmt.Errorf(format, args...)}
	}
	if id := c.history.Cell; id != c.Cell.ID {
		return bad(history.FileMeta, "it is of the cell %q, %s of %q", id, history.FileCell, c.Cell.ID)
	}
	starts := 0
	for _, m := range c.Marks {
		if m.What == history.MarkStarted {
			starts++
		}
	}
	if want := 1 + c.Cell.Watcher.Restarts; starts != want {
		return bad(history.FileMarks, "%d starts of a watcher, want %d", starts, want)
	}
	if c.Cell.Refusal != nil {
		return nil
	}
	if info, err := os.Stat(filepath.Join(dir, history.FileLedger)); err == nil && c.Cell.LedgerBytes > 0 &&
		info.Size() != c.Cell.LedgerBytes {
		return bad(history.FileLedger, "it has %d bytes, %d were written", info.Size(), c.Cell.LedgerBytes)
	}
	if n := len(c.Samples); n == 0 || c.Samples[n-1].Time < c.Cell.DrainEnd {
		return bad(history.FileSamples, "the samples end before the drain")
	}
	if c.Cell.Watcher.Own && !c.Cell.Cut && len(c.Before)*len(c.After) == 0 {
		return bad(history.FileAfter, "no metrics there or in %s", history.FileBefore)
	}
	if len(c.history.Canaries) > 0 {
		if found, err := os.ReadDir(filepath.Join(dir, history.DirCaptured)); err != nil || len(found) == 0 {
			return bad(history.DirCaptured, "nothing in which to search for secrets: %w", errors.Join(err, os.ErrNotExist))
		}
	}
	done := map[string]int{}
	for _, d := range c.Deeds {
		done[d.What]++
	}
	for _, e := range c.Cell.Scenario.Events {
		done[e.What] -= max(1, e.Times)
	}
	for what, n := range done {
		if n != 0 {
			return bad(history.FileDeeds, "%+d of the event %s, by the scenario", n, what)
		}
	}
	return nil
}

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
