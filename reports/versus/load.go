package versus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

// Why a path is no run, for errors.Is. A file of another format or version is
// result.ErrSchema.
var (
	ErrMissing = errors.New("no such file or folder")
	ErrMatrix  = errors.New("it is a fault matrix, not a run")
	ErrNoFile  = errors.New("not a regular file")
	ErrNoRun   = errors.New("the folder has no " + result.FileName)
)

// Why a run has nothing to compare.
var (
	errEmpty    = errors.New("the file is empty")
	errNoResult = errors.New("the run has no " + result.FileName)
	errNoCells  = errors.New("the run has no cells")
)

// whatToName is the remedy for a path that is no run.
const whatToName = "name a run's folder or its " + result.FileName

// Load reads a run: path names its folder or its results.json, or a folder in which it is the
// only run. Every error is one of bad
// input (badinput), says what is wrong, where, and what would be right, and wraps its
// reason: one of those above, result.ErrSchema, or what the file system or the decoder says.
func Load(path string) (*result.Results, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(path, ErrMissing, badinput.Ask(sibling(path), whatToName))
	case err != nil:
		return nil, refuse(path, err, whatToName)
	case filepath.Base(path) == result.MatrixFile && !info.IsDir():
		return nil, refuse(path, ErrMatrix, "name the folder of one of its runs")
	case info.IsDir():
		return loadFolder(path)
	case !info.Mode().IsRegular():
		return nil, refuse(path, ErrNoFile, whatToName)
	}
	return loadFile(path, info.Size())
}

func loadFolder(dir string) (*result.Results, error) {
	file := filepath.Join(dir, result.FileName)
	info, err := os.Stat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		return loadFile(file, info.Size())
	case err == nil:
		return nil, refuse(file, ErrNoFile, whatToName)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, refuse(file, err, whatToName)
	case exists(dir, result.MatrixFile):
		return nil, refuse(dir, ErrMatrix, "name the folder of one of its runs")
	case exists(dir, recordFile):
		return nil, refuse(dir, errNoResult, "watchbench check "+dir+" writes it from the record")
	}
	switch runs := runsBelow(dir); len(runs) {
	case 0:
		return nil, refuse(dir, ErrNoRun, "name a run's folder")
	case 1:
		return loadFolder(runs[0])
	default:
		return nil, refuse(dir, ErrNoRun, fmt.Sprintf("name one of its %d runs, such as %s", len(runs), runs[len(runs)-1]))
	}
}

// recordFile is what a run writes first.
const recordFile = "run.json"

func loadFile(path string, size int64) (*result.Results, error) {
	if size == 0 {
		return nil, refuse(path, errEmpty, "watchbench check "+filepath.Dir(path)+" writes it anew from the run's record")
	}
	res, err := result.LoadFile(path)
	switch {
	case errors.Is(err, result.ErrSchema):
		return nil, refuse("read run", err, "watchbench check "+filepath.Dir(path)+" writes it anew in this version's format")
	case err != nil:
		return nil, refuse("read run", err, whatToName)
	case len(res.Cells) == 0:
		return nil, refuse(path, errNoCells, "watchbench run --resume "+filepath.Dir(path)+" runs what is missing")
	}
	return res, nil
}

func refuse(what string, why error, remedy string) error {
	return &badinput.Error{What: what, Err: why, Remedy: remedy}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// sibling is the entry beside a path whose name is nearly the same; "" if none is.
func sibling(path string) string {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := badinput.Nearest(filepath.Base(path), names); near != "" {
		return filepath.Join(dir, near)
	}
	return ""
}

// runsBelow are the runs in a folder of runs (watchbench run --out), by name.
func runsBelow(dir string) (runs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if run := filepath.Join(dir, e.Name()); e.IsDir() && exists(run, result.FileName) {
			runs = append(runs, run)
		}
	}
	return runs
}
