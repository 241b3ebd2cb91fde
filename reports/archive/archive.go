// Package archive reads a folder of saved runs, such as out/: which runs, fault matrices,
// searches, comparisons and gates are there, and what each holds.
//
// It promises:
//
//  1. A folder that is broken or half written is an Entry with the reason; it keeps no
//     other from being read.
//  2. The newest is first, by the records alone.
//  3. Links are not followed.
package archive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// Kind of an entry, as a table shows it.
type Kind string

// Kinds.
const (
	Run        Kind = "run"
	Matrix     Kind = "matrix"
	Tuning     Kind = "tuning"
	Comparison Kind = "comparison"
	Gate       Kind = "gate"
	Unknown    Kind = "–"
)

// Entry is a folder in the archive. At most one of Results, Matrix, Tuning is set; none if
// Reason is.
type Entry struct {
	Name     string // of the folder
	Kind     Kind
	Page     string // file for a browser, in the folder; empty if there is none
	Started  time.Time
	Finished time.Time
	Scenario string
	Reason   string // nothing is known of it

	Results *result.Results // without its curves
	Matrix  *result.Matrix
	Tuning  *result.Tuning
}

// Names of files that a folder has before it has results, and of its page.
const (
	runFile   = "run.json"
	matrixRun = "matrix-run.json"
	pageFile  = "index.html"
)

// files say what a folder is; the first that is there counts.
var files = []struct {
	name string
	kind Kind
	read func(e *Entry, path string) error // nil: there is nothing to read
}{
	{result.FileName, Run, (*Entry).run}, {result.MatrixFile, Matrix, (*Entry).matrix},
	{result.TuningFile, Tuning, (*Entry).tuning},
	{matrixRun, Matrix, func(*Entry, string) error {
		return errors.New("it has no " + result.MatrixFile + "; watchbench check writes it")
	}},
	{runFile, Run, func(*Entry, string) error {
		return errors.New("it has no " + result.FileName + ": killed, or not finished yet; watchbench check writes it")
	}},
	{"compare.html", Comparison, func(e *Entry, path string) error { e.Page = filepath.Base(path); return nil }},
	{"compare.json", Comparison, nil}, {"compare.md", Comparison, nil}, {"compare.csv", Comparison, nil},
	{"gate.md", Gate, nil}, {"gate.xml", Gate, nil}, {"gate.annotations", Gate, nil},
}

// Read reads the entries of a folder. Files, hidden folders and empty ones are left out.
func Read(dir string) ([]Entry, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder: %w", err)
	}
	var names []string
	for _, f := range found {
		if f.IsDir() && !strings.HasPrefix(f.Name(), ".") {
			names = append(names, f.Name())
		}
	}
	entries := make([]*Entry, len(names))
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, name := range names {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			entries[i] = read(dir, name)
		})
	}
	all.Wait()
	var kept []Entry
	for _, e := range entries {
		if e != nil {
			kept = append(kept, *e)
		}
	}
	slices.SortStableFunc(kept, func(a, b Entry) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Name, a.Name))
	})
	return kept, nil
}

// Known reports whether any entry is of a known kind.
func Known(all []Entry) bool {
	return slices.ContainsFunc(all, func(e Entry) bool { return e.Kind != Unknown })
}

// read is nil for a folder that is empty.
func read(dir, name string) *Entry {
	folder := filepath.Join(dir, name)
	has := func(file string) bool {
		info, err := os.Lstat(filepath.Join(folder, file))
		return err == nil && info.Mode().IsRegular()
	}
	e := &Entry{Name: name, Started: stamp(name), Kind: Unknown}
	if at, err := started(filepath.Join(folder, runFile)); has(runFile) && err == nil && !at.IsZero() {
		e.Started = at
	}
	if has(pageFile) {
		e.Page = pageFile
	}
	err := errors.New("it has no file of watchbench")
	for _, f := range files {
		if has(f.name) {
			if e.Kind, err = f.kind, nil; f.read != nil {
				err = f.read(e, filepath.Join(folder, f.name))
			}
			break
		}
	}
	if found, rerr := os.ReadDir(folder); rerr == nil && len(found) == 0 {
		return nil
	}
	if err != nil {
		// The folder's path is the reader's own.
		e.Reason = strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), "")
		e.Results, e.Matrix, e.Tuning = nil, nil, nil
	}
	return e
}

// started is when the run began whose record or results are in a file.
func started(path string) (time.Time, error) {
	var r struct {
		Run struct{ Started time.Time }
	}
	err := decode(path, &r)
	return r.Run.Started, err
}

func (e *Entry) run(path string) error {
	res, err := result.LoadFile(path)
	if err != nil {
		return err
	}
	for i := range res.Cells {
		res.Cells[i].Series = nil
	}
	e.Results, e.Started, e.Finished, e.Scenario = res, res.Run.Started, res.Run.Finished, res.Run.Scenario
	return nil
}

// matrix takes the time from the first run that is there: matrix.json has none.
func (e *Entry) matrix(path string) (err error) {
	folder := filepath.Dir(path)
	if e.Matrix, err = result.LoadMatrix(folder); err != nil {
		return err
	}
	for _, x := range e.Matrix.Entries {
		if x.Dir == "" || !filepath.IsLocal(x.Dir) {
			continue
		}
		if at, err := started(filepath.Join(folder, x.Dir, result.FileName)); err == nil {
			e.Started, e.Finished = at, at.Add(time.Duration(e.Matrix.Seconds*float64(time.Second)))
			break
		}
	}
	return nil
}

func (e *Entry) tuning(path string) error {
	t, err := result.LoadTuning(path)
	if err != nil {
		return err
	}
	e.Tuning, e.Started, e.Finished, e.Scenario = t, t.Started, t.Finished, t.Scenario
	return nil
}

// mostBytes bounds a file of which only a few fields are read.
const mostBytes = 64 << 20

func decode(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := json.NewDecoder(io.LimitReader(f, mostBytes)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// dated is how the name of a folder ends that watchbench chose: the time, and a number where
// that was taken.
var dated = regexp.MustCompile(`(\d{8}-\d{6})(-\d+)?$`)

// stamp is the time in a folder's name, in the machine's zone; zero if it has none.
func stamp(name string) time.Time {
	m := dated.FindStringSubmatch(name)
	if m == nil {
		return time.Time{}
	}
	t, err := time.ParseInLocation("20060102-150405", m[1], time.Local)
	if err != nil {
		return time.Time{}
	}
	return t
}
