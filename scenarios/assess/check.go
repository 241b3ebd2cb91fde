package assess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Checked is a folder that was assessed again. Of Results and Matrix one is set.
type Checked struct {
	Dir string
	// Results has all cells of a run, or just the one of a lone cell.
	Results *result.Results
	Matrix  *result.Matrix
	// Differences lists where the folder's results.json or matrix.json differs.
	Differences []string
	// Missing says that the folder has no such file.
	Missing bool
	// Lone is set for the folder of a single cell, which has no such file.
	Lone bool
	// Runs lists the runs of a matrix that have results, sorted by folder.
	Runs []*Checked
}

// Check assesses the folder of a run, of a campaign or of one cell, where every failure counts, and compares the
// outcome with what is written there.
func Check(ctx context.Context, dir string) (*Checked, error) {
	const remedy = "name the folder of a run, such as out/strategies-20260102-150405, of a matrix, or of a cell"
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &badinput.Error{What: dir + ": no such folder", Remedy: remedy}
	case errors.Is(err, syscall.ENOTDIR):
		return nil, &badinput.Error{What: dir + " is not a folder", Remedy: remedy}
	case err != nil: // says what was done to which path
		return nil, &badinput.Error{What: err.Error(), Remedy: "make it readable, or " + remedy}
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) })
	}
	switch {
	case has(history.FileMeta, history.FileCell):
		return checkCell(ctx, dir)
	case has(history.FileRun, result.FileName):
		return checkRun(ctx, dir)
	case has(history.FileCampaign, result.MatrixFile):
		return checkMatrix(ctx, dir)
	}
	return nil, &badinput.Error{
		What:   fmt.Sprintf("%s has none of %s, %s and %s", dir, history.FileRun, history.FileCampaign, history.FileCell),
		Remedy: "name the folder of a run or of a cell, or that of a matrix",
	}
}

func checkCell(ctx context.Context, dir string) (*Checked, error) {
	cell, err := Cell(ctx, dir, Options{Strict: true})
	if err != nil {
		return nil, err
	}
	return &Checked{Dir: dir, Results: &result.Results{Cells: []result.Cell{cell}}, Lone: true}, nil
}

func checkRun(ctx context.Context, dir string) (*Checked, error) {
	now, err := Run(ctx, dir)
	if err != nil {
		return nil, err
	}
	recorded, err := result.LoadFile(dir)
	return (&Checked{Dir: dir, Results: now}).compared(result.FileName, recorded, err, now)
}

func checkMatrix(ctx context.Context, dir string) (*Checked, error) {
	now, runs, err := assessMatrix(ctx, dir)
	if err != nil {
		return nil, err
	}
	recorded, err := result.LoadMatrix(dir)
	c, err := (&Checked{Dir: dir, Matrix: now}).compared(result.MatrixFile, recorded, err, now)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if runs[name] == nil || len(runs[name].Cells) == 0 {
			continue // aborted before its first cell
		}
		run := &Checked{Dir: filepath.Join(dir, name), Results: runs[name]}
		recorded, err := result.LoadFile(run.Dir)
		if run, err = run.compared(result.FileName, recorded, err, run.Results); err != nil {
			return nil, err
		}
		c.Runs = append(c.Runs, run)
	}
	return c, nil
}

// compared completes c with what the folder's file says otherwise; err is from reading it.
func (c *Checked) compared(file string, recorded any, err error, now any) (*Checked, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Missing = true
		return c, nil
	case err != nil:
		return nil, &badinput.Error{What: err.Error(), Remedy: fmt.Sprintf("remove %s to have it written anew", file)}
	}
	c.Differences, err = result.Differences(file+" has", "the record now gives", recorded, now)
	return c, err
}
