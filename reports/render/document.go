package render

import (
	"fmt"
	"slices"
	"strings"
)

// Document is a report in no format yet: sentences, tables and charts. Its texts may come from a cluster; each format
// cleans and escapes them.
type Document struct {
	Title    string
	Subtitle string   // when, where, by which command
	Findings []string // sentences, the most important first
	Verdicts []Cell   // how it came out, each in its tone
	Sections []Section
	Last     bool   // a terminal prints the findings, the first section and the verdicts at the end, which stays in view
	More     string // what a terminal leaves out unless it is asked for, and by which flag
}

// Section is a part of a Document. What is empty is left out.
type Section struct {
	ID    string // its address on the page; numbered if empty
	Title string
	Place Place
	Text  []string // paragraphs above the table
	Code  []Code
	Table Table
	Plots []Plot // on the page only
	Notes []string
}

// Code is a text to copy, line by line, under a caption.
type Code struct{ Caption, Text string }

// Place is where a section stands.
type Place int

// Where sections stand.
const (
	Everywhere Place = iota
	Aside            // how it came about: folded in Markdown, on a terminal on request
	OnPage           // what needs the room of the page
)

// Table has a cell for each head in each row.
type Table struct {
	Heads []Head
	Rows  [][]Cell
}

// Head is a column's.
type Head struct {
	Title, Unit string
	Meaning     string
	Words       bool // the cells are words; figures, which Markdown leaves as they are, must be the program's own
}

// Cell is one value.
type Cell struct {
	Text string
	Tone Tone
	Link string // where it leads on the page
	Gap  bool   // the row stands apart from those above
}

// Tone is how a cell is coloured; it never carries meaning alone.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Bad
	Warn
	Best  // of those that are compared
	Faint // says little
)

// Heads returns heads of columns of words.
func Heads(titles ...string) (heads []Head) {
	for _, t := range titles {
		heads = append(heads, Head{Title: t, Words: true})
	}
	return heads
}

// Cells are cells without a tone.
func Cells(texts ...string) (all []Cell) {
	for _, t := range texts {
		all = append(all, Cell{Text: t})
	}
	return all
}

// add appends sections that have anything to show; notes alone are something where they are without a table.
func (d *Document) add(sections ...Section) {
	for _, s := range sections {
		if len(s.Table.Rows)+len(s.Text)+len(s.Plots)+len(s.Code) > 0 || len(s.Table.Heads) == 0 && len(s.Notes) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
}

// cleaned is the document with all its texts safe to show as plain text.
func (d *Document) cleaned() *Document {
	c := *d
	c.Title, c.Subtitle = clean(d.Title), clean(d.Subtitle)
	c.Findings, c.Verdicts = cleanAll(d.Findings), cleanCells(d.Verdicts)
	c.Sections = append([]Section(nil), d.Sections...)
	for i := range c.Sections {
		s := &c.Sections[i]
		if s.ID == "" {
			s.ID = fmt.Sprintf("section%d", i+1)
		}
		s.Title, s.Text, s.Notes, s.Table = clean(s.Title), cleanAll(s.Text), cleanAll(s.Notes), s.Table.cleaned()
		s.Code = slices.Clone(s.Code)
		for k, c := range s.Code {
			s.Code[k] = Code{clean(c.Caption), strings.Join(cleanAll(strings.Split(strings.TrimSpace(c.Text), "\n")), "\n")}
		}
	}
	return &c
}

func (t Table) cleaned() (c Table) {
	for _, h := range t.Heads {
		c.Heads = append(c.Heads, Head{clean(h.Title), clean(h.Unit), clean(h.Meaning), h.Words})
	}
	for _, r := range t.Rows {
		c.Rows = append(c.Rows, cleanCells(r))
	}
	return c
}

func cleanCells(all []Cell) []Cell {
	cells := append([]Cell(nil), all...)
	for i := range cells {
		cells[i].Text = clean(cells[i].Text)
	}
	return cells
}

func cleanAll(all []string) (texts []string) {
	for _, t := range all {
		texts = append(texts, clean(t))
	}
	return texts
}
