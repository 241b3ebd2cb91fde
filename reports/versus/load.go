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

// NotRun says why a path is not a run's; a run that cannot be read has another error.
type NotRun string

func (n NotRun) Error() string { return string(n) }

// whatToName is the remedy for a path that is not a run's.
const whatToName = "name a run's folder or its " + result.FileName

// recordFile is the first file of a run.
const recordFile = "run.json"

// Load reads a run: path names its folder or its results.json, or a folder in which it is the only run. Every error
// is one of bad input (badinput) and says what would be right; it wraps NotRun, result.ErrSchema, or what the file
// system or the decoder says.
func Load(path string) (*result.Results, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(path, NotRun("no such file or folder"), badinput.Ask(sibling(path), whatToName))
	case err != nil:
		return nil, refuse(path, err, whatToName)
	case info.IsDir():
		return loadFolder(path)
	case filepath.Base(path) == result.MatrixFile:
		return nil, refuse(path, NotRun("it is a fault matrix, not a run"), "name the folder of one of its runs")
	case !info.Mode().IsRegular():
		return nil, refuse(path, NotRun("not a regular file"), whatToName)
	}
	again := "watchbench check " + filepath.Dir(path) + " writes it anew from the run's record"
	if info.Size() == 0 {
		return nil, refuse(path, errors.New("the file is empty"), again)
	}
	res, err := result.LoadFile(path)
	switch {
	case errors.Is(err, result.ErrSchema):
		return nil, refuse("read run", err, again)
	case err != nil:
		return nil, refuse("read run", err, whatToName)
	case len(res.Cells) == 0:
		remedy := "watchbench run --resume " + filepath.Dir(path) + " runs what is missing"
		return nil, refuse(path, errors.New("the run has no cells"), remedy)
	}
	return res, nil
}

func loadFolder(dir string) (*result.Results, error) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	file := filepath.Join(dir, result.FileName)
	switch info, err := os.Stat(file); {
	case err == nil && info.IsDir():
		return nil, refuse(file, NotRun("not a regular file"), whatToName)
	case err == nil:
		return Load(file)
	case has(result.MatrixFile):
		return Load(filepath.Join(dir, result.MatrixFile))
	case has(recordFile):
		why := errors.New("the run has no " + result.FileName)
		return nil, refuse(dir, why, "watchbench check "+dir+" writes it from the record")
	}
	runs, _ := fs.Glob(os.DirFS(dir), "*/"+result.FileName)
	none := NotRun("the folder has no " + result.FileName)
	switch n := len(runs); n {
	case 0:
		return nil, refuse(dir, none, "name a run's folder")
	case 1:
		return Load(filepath.Join(dir, runs[0]))
	default:
		last := filepath.Join(dir, filepath.Dir(runs[n-1]))
		return nil, refuse(dir, none, fmt.Sprintf("name one of its %d runs, such as %s", n, last))
	}
}

func refuse(what string, why error, remedy string) error {
	return &badinput.Error{What: what, Err: why, Remedy: remedy}
}

// sibling is the entry beside a path whose name is nearly the same; "" if none is.
func sibling(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := badinput.Nearest(filepath.Base(path), names); near != "" {
		return filepath.Join(filepath.Dir(path), near)
	}
	return ""
}
