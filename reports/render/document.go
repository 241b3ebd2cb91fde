package render

import (
	"fmt"
	"slices"
)

// Document is a report in no format yet: sentences, tables and charts. Its texts may come from a cluster; each format
// cleans and escapes them.
type Document struct {
	Title    string
	Subtitle string   // when, where, by which command
	Findings []string // sentences, the most important first
	Verdicts []Cell   // how it came out, each in its tone
	Sections []Section
	Last     bool   // a terminal prints findings and verdicts at the end, which stays in view
	More     string // what a terminal leaves out unless it is asked for, and by which flag
	Mark     string // by which a page that was written before is known again
}

// Section is a part of a Document. What is empty is left out.
type Section struct {
	ID     string // its address on the page; numbered if empty
	Title  string
	Place  Place
	Closed bool // the page shows it when it is opened

	Text     []string // paragraphs above the table
	Table    Table
	Plots    []Plot // on the page only
	Notes    []string
	Examples []Example
	Parts    []Section // with titles of their own
}

// Place is where a section stands.
type Place int

// Places.
const (
	Everywhere Place = iota
	Aside            // how it came about: folded in Markdown, on a terminal on request
	OnPage           // what needs the room of the page
)

// Table has a cell for each head in each row; a row that ends with a Rest may have fewer.
type Table struct {
	Keys  int // columns at the left that name the row
	Heads []Head
	Rows  [][]Cell
}

// Head is a column's.
type Head struct {
	Title, Unit string
	Meaning     string
	Words       bool // the cells are words; figures, which Markdown leaves as they are, must be the program's own
	Signed      bool // Markdown shows a cell's tone by a sign
	Divide      bool // a bar stands before the column
	Wide        bool // a terminal leaves it out
}

// Cell is one value.
type Cell struct {
	Text  string
	Under string // in small print below: how far its interval reaches
	Tone  Tone
	Tip   string // explains it on the page
	Link  string // where it leads on the page
	Color string // of the row in the charts of the page
	Gap   bool   // the row stands apart from those above
	Rest  bool   // spans the columns that are left
}

// Tone is how a cell is coloured; it never carries meaning alone.
type Tone int

// Tones.
const (
	Plain Tone = iota
	Good
	Bad
	Warn
	Best  // of those that are compared
	Faint // says little
)

// Example is text of several lines that stands as it was recorded.
type Example struct {
	Title string
	Tone  Tone
	Items []string
	Note  string // what is not among them
}

// Plot is a chart of lines.
type Plot struct {
	Title, Caption string
	X, Unit        string // what the axes say
	Log, LogX      bool   // both axes; values of 0 and below are then left out
	Percent        bool   // x is 1/(1-q), and labelled as the percentile
	Lines          []PlotLine
	Bands          []Band
	Data           Table // the same in figures; from the lines if empty
}

// PlotLine is one of them; its points are in the order in which they are joined, and NaN breaks it.
type PlotLine struct {
	Name   string
	Points [][2]float64
	Color  string // by its name if empty
	Model  bool   // predicted, not measured, or not to be compared: broken
	Smooth bool   // without marks at the points
}

// Band is a stretch of the x axis that a plot marks.
type Band struct {
	Name, Color string
	From, To    float64
}

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

// add appends a section that has anything to show.
func (d *Document) add(s Section) {
	if s.empty() {
		return
	}
	if len(s.Plots) > 0 && len(s.Text)+len(s.Table.Rows)+len(s.Notes)+len(s.Examples)+len(s.Parts) == 0 {
		s.Place = OnPage
	}
	d.Sections = append(d.Sections, s)
}

// empty reports whether a section has nothing to show; notes alone are something, plots without a point are not.
func (s *Section) empty() bool {
	drawn := slices.ContainsFunc(s.Plots, func(p Plot) bool { return !p.Empty() })
	return len(s.Text)+len(s.Table.Rows)+len(s.Notes)+len(s.Examples)+len(s.Parts) == 0 && !drawn
}

// cleaned is the document with all its texts safe to show as plain text.
func (d *Document) cleaned() *Document {
	c := *d
	c.Title, c.Subtitle, c.Findings = clean(d.Title), clean(d.Subtitle), cleanAll(d.Findings)
	c.Verdicts, c.Sections = cleanCells(d.Verdicts), cleanSections(d.Sections, "section")
	return &c
}

func cleanSections(all []Section, id string) []Section {
	sections := append([]Section(nil), all...)
	for i := range sections {
		s := &sections[i]
		if s.ID == "" {
			s.ID = fmt.Sprintf("%s%d", id, i+1)
		}
		s.Title, s.Text, s.Notes, s.Table = clean(s.Title), cleanAll(s.Text), cleanAll(s.Notes), s.Table.cleaned()
		s.Parts = cleanSections(s.Parts, s.ID+"-")
		s.Examples = append([]Example(nil), s.Examples...)
		for j := range s.Examples {
			e := &s.Examples[j]
			e.Title, e.Note = clean(e.Title), clean(e.Note)
			items := make([]string, len(e.Items))
			for k, text := range e.Items {
				items[k] = cleanLines(text)
			}
			e.Items = items
		}
	}
	return sections
}

func (t Table) cleaned() Table {
	heads := append([]Head(nil), t.Heads...)
	for i := range heads {
		h := &heads[i]
		h.Title, h.Unit, h.Meaning = clean(h.Title), clean(h.Unit), clean(h.Meaning)
	}
	rows := make([][]Cell, len(t.Rows))
	for i, r := range t.Rows {
		rows[i] = cleanCells(r)
	}
	return Table{Keys: t.Keys, Heads: heads, Rows: rows}
}

func cleanCells(all []Cell) []Cell {
	cells := append([]Cell(nil), all...)
	for i := range cells {
		c := &cells[i]
		c.Text, c.Under, c.Tip = clean(c.Text), clean(c.Under), clean(c.Tip)
	}
	return cells
}

func cleanAll(all []string) (texts []string) {
	for _, t := range all {
		texts = append(texts, clean(t))
	}
	return texts
}
