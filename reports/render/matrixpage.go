package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// matrixPageFile is the name of the page in the matrix's folder.
const matrixPageFile = "index.html"

// SavedCell is an entry's cell, as far as its folder still has it.
type SavedCell struct {
	Cell   *result.Cell // nil if it cannot be shown
	Why    string       // why Cell is nil
	Report string       // address of the run's page from the matrix's; empty if there is none
}

// MatrixHTML writes the fault matrix as one file, with a timeline of each cell that saved
// finds. Nothing outside the file is needed to read it.
func MatrixHTML(w io.Writer, m *result.Matrix, saved func(*result.MatrixEntry) SavedCell) error {
	return DocumentHTML(w, matrixPage(m, saved))
}

// WriteMatrixPage writes index.html into a matrix's folder, with the timelines of the runs
// that are saved there.
func WriteMatrixPage(dir string, m *result.Matrix) error {
	runs := map[string]savedRun{}
	saved := func(e *result.MatrixEntry) SavedCell {
		if _, known := runs[e.Dir]; !known {
			runs[e.Dir] = loadSaved(dir, e.Dir)
		}
		return runs[e.Dir].cell(e.Cell)
	}
	return result.Replace(filepath.Join(dir, matrixPageFile), func(w io.Writer) error { return MatrixHTML(w, m, saved) })
}

func matrixPage(m *result.Matrix, saved func(*result.MatrixEntry) SavedCell) *Document {
	d := matrixDocument(m)
	d.Sections[0].Text = []string{"Choose a cell to see its timeline below the table."}
	var timelines []Section
	for i := range m.Entries {
		if e := &m.Entries[i]; e.NotBuilt == "" && !e.NotRun {
			timelines = append(timelines, timeline(timelineID(i), e, saved(e)))
		}
	}
	d.Sections = slices.Insert(d.Sections, 1, timelines...)
	guarantees := Section{ID: "guarantees", Title: "Guarantees", Table: Table{Keys: 1,
		Heads: Heads("column", "guarantee", "what it asks")}}
	for _, c := range result.MatrixColumns {
		guarantees.Table.Rows = append(guarantees.Table.Rows, Cells(c.ID, c.Title, c.Meaning))
	}
	d.add(guarantees)
	return d
}

type savedRun struct {
	cells  []result.Cell
	why    string
	report string
}

// loadSaved reads the run in a folder of the matrix's. A name that leads elsewhere is not
// followed.
func loadSaved(dir, name string) (r savedRun) {
	if name == "" {
		return savedRun{why: "The run left no folder."}
	}
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return savedRun{why: fmt.Sprintf("%s is not the name of a folder of this matrix.", name)}
	}
	if _, err := os.Stat(filepath.Join(dir, name, matrixPageFile)); err == nil {
		r.report = "./" + url.PathEscape(name) + "/" + matrixPageFile
	}
	res, err := result.LoadFile(filepath.Join(dir, name, result.FileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.why = fmt.Sprintf("The folder %s is gone, or has no %s: no timeline.", name, result.FileName)
	case err != nil:
		text := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		r.why = fmt.Sprintf("%s of the folder %s cannot be read: %s", result.FileName, name, text)
	default:
		r.cells = res.Cells
	}
	return r
}

func (r savedRun) cell(id string) SavedCell {
	s := SavedCell{Report: r.report, Why: r.why}
	if i := slices.IndexFunc(r.cells, func(c result.Cell) bool { return c.ID == id }); i >= 0 {
		s.Cell = &r.cells[i]
	} else if s.Why == "" {
		s.Why = fmt.Sprintf("%s has no cell %q: the run was aborted before it ended.", result.FileName, id)
	}
	return s
}
