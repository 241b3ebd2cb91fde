package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/internal/assets"
)

// Document is a report that is no run's own, such as one about several: what was found, and
// the tables and charts that say so. Its texts may come from a cluster; each format cleans and
// escapes them.
type Document struct {
	Title    string
	Subtitle string   // when, where, by which command
	Findings []string // sentences, the most important first
	Sections []Section
}

// Section is a part of a Document. What is empty is left out.
type Section struct {
	Title string
	Text  []string // paragraphs above the table
	Table Table
	Plots []Plot // on the page only
	Notes []string
}

// Table is drawn like those of a run. Each row has a cell for each head.
type Table struct {
	Keys  int // columns at the left that name the row
	Heads []Head
	Rows  [][]Cell
}

// Head is a column's.
type Head struct {
	Title, Unit string
	Words       bool // the cells are words; Markdown leaves figures as they are, so those must be the program's own
}

// Cell is one value.
type Cell struct {
	Text string
	Tone Tone
}

// Tone is how a cell is coloured; it never carries meaning alone.
type Tone int

// Tones.
const (
	Plain Tone = iota
	Good
	Bad
	Warn
)

// Cells are cells without a tone.
func Cells(texts ...string) (all []Cell) {
	for _, t := range texts {
		all = append(all, Cell{Text: t})
	}
	return all
}

// Plot is a chart of lines.
type Plot struct {
	Title, Caption string
	X, Unit        string // what the axes say
	Log            bool   // both axes; values of 0 and below are then left out
	Lines          []PlotLine
}

// PlotLine is one of them; its points are in the order in which they are joined.
type PlotLine struct {
	Name   string
	Points [][2]float64
	Model  bool // predicted, not measured: broken, without marks
}

// sheet is the table as terminal, Markdown and page draw it.
func (t Table) sheet() sheet {
	s := sheet{Keys: t.Keys}
	for _, h := range t.Heads {
		s.Heads = append(s.Heads, heading{Title: clean(h.Title), Unit: clean(h.Unit), Left: h.Words})
	}
	for _, r := range t.Rows {
		var l sheetRow
		for _, c := range r {
			l.Cells = append(l.Cells, cell{Text: clean(c.Text), tone: map[Tone]tone{Good: good, Bad: bad, Warn: warn}[c.Tone]})
		}
		s.Rows = append(s.Rows, l)
	}
	return s
}

// DocumentTerminal prints a document.
func DocumentTerminal(w io.Writer, d *Document, o TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: o}
	p.line(ansiBold, "%s", clean(d.Title))
	if d.Subtitle != "" {
		p.line(ansiDim, "%s", clean(d.Subtitle))
	}
	for _, f := range d.Findings {
		p.line("", "%s", clean(f))
	}
	for _, s := range d.Sections {
		p.line("", "")
		p.line(ansiBold, "%s", clean(s.Title))
		for _, t := range s.Text {
			p.line("", "%s", clean(t))
		}
		if len(s.Table.Rows) > 0 {
			p.sheet(s.Table.sheet())
		}
		for _, n := range s.Notes {
			p.line("", "  %s", clean(n))
		}
	}
	return p.w.Flush()
}

// TableTerminal prints a table alone.
func TableTerminal(w io.Writer, t Table, o TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: o}
	p.sheet(t.sheet())
	return p.w.Flush()
}

// DocumentMarkdown writes a document in GitHub's dialect.
func DocumentMarkdown(w io.Writer, d *Document) error {
	return fill(w, markdownTemplates.Lookup("document.md"), documentView{d})
}

// DocumentHTML writes a document as one file, with the chart script as HTML does.
func DocumentHTML(w io.Writer, d *Document) error {
	script, _ := assets.ECharts()
	return fill(w, pageTemplates.Lookup("document.html"), struct {
		documentView
		shell
	}{documentView{d}, newShell(script)})
}

// documentView is what the templates show.
type documentView struct{ d *Document }

func (v documentView) Title() string      { return clean(v.d.Title) }
func (v documentView) Subtitle() string   { return clean(v.d.Subtitle) }
func (v documentView) Findings() []string { return cleanAll(v.d.Findings) }

type sectionView struct {
	ID, Title   string
	Text, Notes []string
	Sheet       sheet
	Charts      []*chart
}

// Sections are those of the document, each with an id of its own.
func (v documentView) Sections() (all []sectionView) {
	for i, s := range v.d.Sections {
		view := sectionView{ID: fmt.Sprintf("section%d", i+1), Title: clean(s.Title), Text: cleanAll(s.Text), Notes: cleanAll(s.Notes), Sheet: s.Table.sheet()}
		for j, p := range s.Plots {
			view.Charts = append(view.Charts, p.chart(fmt.Sprintf("%s-plot%d", view.ID, j+1)))
		}
		view.Charts = drawn(view.Charts)
		all = append(all, view)
	}
	return all
}

func cleanAll(all []string) (texts []string) {
	for _, t := range all {
		texts = append(texts, clean(t))
	}
	return texts
}

// chart draws a plot; nil if it has no point.
func (p Plot) chart(id string) *chart {
	kind := "value"
	if p.Log {
		kind = "log"
	}
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, named(kind, clean(p.X)), opts.YAxis{Type: kind})...)
	data := dataTable{Head: []string{"", clean(p.X), clean(p.Unit)}}
	for i, l := range p.Lines {
		var points []opts.LineData
		name := chartText(l.Name)
		for _, at := range l.Points {
			if !finiteNumber(at[0]) || !finiteNumber(at[1]) || p.Log && (at[0] <= 0 || at[1] <= 0) {
				continue
			}
			points = append(points, opts.LineData{Value: at[:], Symbol: "circle", SymbolSize: 9})
			data.Rows = append(data.Rows, []string{name, short(at[0]), short(at[1])})
		}
		if len(points) == 0 {
			continue
		}
		color, dash := spare[i%len(spare)], "solid"
		for strategy, c := range palette {
			if strings.HasPrefix(l.Name, strategy) {
				color = c
			}
		}
		if l.Model {
			dash = "dashed"
		}
		line.AddSeries(name, points,
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(!l.Model)}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: 2, Type: dash, Color: color}), filled(color))
	}
	if len(data.Rows) == 0 {
		return nil
	}
	return &chart{ID: id, Title: clean(p.Title), Caption: clean(p.Caption), Unit: clean(p.Unit), Axis: "plain", Option: line, Data: data}
}
