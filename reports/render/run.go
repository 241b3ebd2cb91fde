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

// Run is a run's report.
func Run(res *result.Results) *Document {
	t := arrange(res)
	d := &Document{
		Title: orUnknown(res.Run.Scenario), Last: true,
		More: "What n, ± and the columns mean, where the events went, and how this was measured: --explain, or the report.",
		Subtitle: strings.Join([]string{"run " + res.Run.ID, when(res.Run.Started), "took " + took(&res.Run),
			orUnknown(res.Environment.Provider) + " cluster"}, " · "),
		Findings: answer{t}.sentences(),
		Verdicts: append(t.bounds(), t.summary()),
	}
	if gap := res.Gap(); gap != "" {
		d.Subtitle += " · " + gap
	}
	throughput := Section{ID: "throughput", Title: "Throughput", Table: t.throughput(true, published, ours)}
	for _, r := range t.rows {
		for _, n := range r.notes() {
			throughput.Notes = append(throughput.Notes, r.name()+": "+n)
		}
	}
	for _, s := range []Section{throughput, besidePublished(res).section(), t.paces(), t.thresholds(), t.swept(),
		t.moments(),
		t.growth(), t.readers(), t.traffic(), t.verdicts(), t.failures()} {
		d.add(s)
	}
	for _, s := range t.loadSections() {
		d.add(s)
	}
	costs := Section{ID: "costs", Title: "Latency, CPU and memory", Place: OnPage, Table: t.throughput(false,
		titled(further))}
	for _, s := range []Section{costs, t.flows(), t.profiles(), publishedTable(), t.about(), method{t}.section()} {
		d.add(s)
	}
	d.add(definitions(d))
	return d
}

// definitions are the columns of a document with what they mean.
func definitions(d *Document) Section {
	s := Section{ID: "definitions", Title: "Definitions", Place: Aside, Table: Table{Keys: 1,
		Heads: Heads("column", "unit", "meaning")}}
	seen := map[[2]string]bool{}
	for _, other := range d.Sections {
		for _, h := range other.Table.Heads {
			if key := [2]string{h.Title, h.Unit}; h.Meaning != "" && other.ID != "checks" && !seen[key] {
				seen[key] = true
				s.Table.Rows = append(s.Table.Rows, Cells(h.Title, h.Unit, h.Meaning))
			}
		}
		if other.ID == "checks" {
			for _, h := range other.Table.Heads {
				if h.Meaning != "" {
					s.Table.Rows = append(s.Table.Rows, Cells(h.Title, h.Unit, h.Meaning))
				}
			}
		}
	}
	return s
}

// Terminal prints the tables, the failures with their counterexamples and, last, the answer
// and the outcome. How the figures came about is in the other formats, unless it is asked
// for.
func Terminal(w io.Writer, res *result.Results, o TerminalOptions) error {
	if err := res.Validate(); err != nil {
		return err
	}
	return DocumentTerminal(w, Run(res), o)
}

// Markdown writes the report for a pull request's comment or a README.
func Markdown(w io.Writer, res *result.Results) error { return DocumentMarkdown(w, Run(res)) }

// HTML writes the report as one file.
func HTML(w io.Writer, res *result.Results) error { return DocumentHTML(w, Run(res)) }

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
