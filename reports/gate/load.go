package gate

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

// Load reads a run: path names its folder or its results.json, or a folder in which it is the only run. Every error
// is one of bad input (badinput) and says what would be right; it wraps NotRun, result.ErrSchema, or what the file
// system or the decoder says.
func Load(path string) (*result.Results, error) {
	const whatToName = "name a run's folder or its " + result.FileName
	refuse := func(why error, remedy string) (*result.Results, error) {
		return nil, &badinput.Error{What: path, Err: why, Remedy: remedy}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(NotRun("no such file or folder"), badinput.Ask(sibling(path), whatToName))
	}
	if err == nil && info.IsDir() {
		file := filepath.Join(path, result.FileName)
		if _, err = os.Stat(file); err != nil {
			runs, _ := fs.Glob(os.DirFS(path), "*/"+result.FileName)
			switch _, recorded := os.Stat(filepath.Join(path, "run.json")); {
			case recorded == nil:
				return refuse(errors.New("the run has no "+result.FileName), "watchbench check "+path+" writes it from the record")
			case len(runs) != 1:
				return refuse(NotRun("the folder has no "+result.FileName), fmt.Sprintf("name a run's folder (there are %d in it)",
					len(runs)))
			}
			file = filepath.Join(path, runs[0])
		}
		path = file
		info, err = os.Stat(path)
	}
	again := "watchbench check " + filepath.Dir(path) + " writes it anew from the run's record"
	switch {
	case err != nil:
		return refuse(err, whatToName)
	case !info.Mode().IsRegular() || filepath.Base(path) == result.MatrixFile:
		return refuse(NotRun("it is not a run's results"), whatToName)
	case info.Size() == 0:
		return refuse(errors.New("the file is empty"), again)
	}
	res, err := result.LoadFile(path)
	switch {
	case err != nil:
		return nil, &badinput.Error{What: "read run", Err: err, Remedy: again}
	case len(res.Cells) == 0:
		return refuse(errors.New("the run has no cells"),
			"watchbench run --resume "+filepath.Dir(path)+" runs what is missing")
	}
	return res, nil
}

// sibling is the entry beside a path whose name is nearly the same; "" if none is.
func sibling(path string) string {
	names, _ := fs.Glob(os.DirFS(filepath.Dir(path)), "*")
	if near := badinput.Nearest(filepath.Base(path), names); near != "" {
		return filepath.Join(filepath.Dir(path), near)
	}
	return ""
}
