package render

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Format is a way to render a record into a file.
type Format struct {
	Name  string // as the user types it
	File  string // in a run's folder
	Write func(io.Writer, *result.Results) error
}

// Formats lists the file formats. The terminal is not among them: see Terminal.
func Formats() []Format {
	return []Format{
		{"html", "index.html", HTML},
		{"md", "report.md", Markdown},
		{"csv", "throughput.csv", CSV},
		{"summary", "summary.csv", Summary},
		{"bench", "bench.txt", Bench},
		{"junit", "junit.xml", JUnit},
	}
}

// FormatByName finds a format; the error names those there are.
func FormatByName(name string) (Format, error) {
	formats := Formats()
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range formats {
			names = append(names, f.Name)
		}
		return Format{}, fmt.Errorf("unknown report format %q; known are table, json, %s", name, strings.Join(names, ", "))
	}
	return formats[i], nil
}

// All writes every format into a run's folder. One that fails does not keep the
// others from being written.
func All(dir string, res *result.Results) error {
	var errs []error
	for _, f := range Formats() {
		errs = append(errs, WriteFile(dir, f, res))
	}
	return errors.Join(errs...)
}

// WriteFile renders one format into dir. The file is replaced only by a whole one.
func WriteFile(dir string, f Format, res *result.Results) error {
	err := res.Validate()
	if err == nil {
		err = result.Replace(filepath.Join(dir, f.File), func(w io.Writer) error { return f.Write(w, res) })
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// WriteMatrix writes the fault matrix into its folder, as matrix.json and matrix.md.
func WriteMatrix(dir string, m *result.Matrix) error {
	return errors.Join(
		result.Replace(filepath.Join(dir, result.MatrixFile), func(w io.Writer) error { return result.EncodeMatrix(w, m) }),
		result.Replace(filepath.Join(dir, "matrix.md"), func(w io.Writer) error { return MatrixMarkdown(w, m) }),
	)
}
