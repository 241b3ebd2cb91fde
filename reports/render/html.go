package render

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/watchbench/watchbench/internal/assets"
)

var (
	//go:embed page/document.html
	pageFiles embed.FS
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string
)

var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"class":    func(t Tone) string { return toneClasses[t] },
	"examples": func(e Example) string { return e.text(shownExamples) },
}).ParseFS(pageFiles, "page/*.html"))

var toneClasses = map[Tone]string{Good: "good", Best: "best", Bad: "bad", Warn: "warned", Faint: "faint"}

// mostPage bounds a page in bytes, the chart script included.
const mostPage = 2_950_000

// shell holds everything around a page's content. All of it is plain text that the
// template escapes, except what has a template type.
type shell struct {
	Notice    string
	CSP       string
	Style     template.CSS
	Script    template.JS // this page's own
	ECharts   template.JS // "" when it comes from the network
	Remote    string      // where from, then
	Integrity string
	Settings  map[string]any // of this page's script
}

// remoteScript is where a page without the embedded script asks for it. The
// browser accepts only the pinned content.
const remoteScript = "https://cdn.jsdelivr.net/npm/echarts@%s/dist/echarts.min.js"

// newShell has style and scripts and forbids all others: a script runs only if
// the page's policy has its digest, so text that slipped through every
// escape could still not run.
func newShell(echarts []byte) shell {
	s := shell{
		Notice: strings.TrimSpace(assets.Notice()),
		Style:  template.CSS(pageStyle), Script: template.JS(pageScript), Settings: map[string]any{"dark": darkPalette},
	}
	allowed := digest([]byte(pageScript)) + " "
	if len(echarts) > 0 {
		s.ECharts = template.JS(echarts)
		allowed += digest(echarts)
	} else {
		lock := assets.Pinned()
		s.Remote, s.Integrity = fmt.Sprintf(remoteScript, lock.Version), lock.FileIntegrity
		allowed += "https://cdn.jsdelivr.net"
	}
	s.CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; " +
		"script-src " + allowed
	return s
}

func digest(script []byte) string {
	sum := sha256.Sum256(script)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is the data of the template.
type page struct {
	shell
	*Document
	Views []*view
}

// view is a section with its charts.
type view struct {
	Section
	Parts  []*view
	Charts []*figure
}

// figure is a chart of the page: what ECharts draws, and the same as a table for
// readers without script, screen readers and copying.
type figure struct {
	*Plot
	ID     string
	Option template.JS
	Data   Table
	HTML   template.HTML
}

// DocumentHTML writes a document as one file. Built with the chart script, the file needs
// nothing but a browser; built without, its charts ask the network for the pinned
// script, and the page says so.
func DocumentHTML(w io.Writer, d *Document) error {
	script, _ := assets.ECharts()
	return writePage(w, d, script)
}

func writePage(w io.Writer, d *Document, echarts []byte) error {
	p := page{shell: newShell(echarts), Document: d.cleaned()}
	p.Views = views(p.Sections)
	// How much room there is for charts, what is around them says.
	var around bytes.Buffer
	if err := fill(&around, p); err != nil {
		return err
	}
	if err := draw(p.Views, mostPage-around.Len()); err != nil {
		return fmt.Errorf("draw the charts: %w", err)
	}
	return fill(w, p)
}

func views(sections []Section) (all []*view) {
	for _, s := range sections {
		all = append(all, &view{Section: s, Parts: views(s.Parts)})
	}
	return all
}

// flat are all views.
func flat(views []*view) (all []*view) {
	for _, v := range views {
		all = append(append(all, v), flat(v.Parts)...)
	}
	return all
}

// draw has the charts for which there is room: the first of each section, then the second, and so on.
func draw(views []*view, room int) error {
	all, left := flat(views), map[*view]int{}
	for n, more := 0, true; more; n++ {
		more = false
		for _, v := range all {
			if n >= len(v.Plots) {
				continue
			}
			more = true
			switch f, err := newFigure(fmt.Sprintf("%s-plot%d", v.ID, n+1), &v.Plots[n]); {
			case err != nil:
				return err
			case f == nil:
			case len(f.HTML) > room:
				left[v]++
			default:
				room -= len(f.HTML)
				v.Charts = append(v.Charts, f)
			}
		}
	}
	for v, n := range left {
		v.Notes = append(v.Notes, plural(n, "chart")+" not drawn, so that the page stays below 3 MB.")
	}
	return nil
}

// newFigure is nil for a plot without a point.
func newFigure(id string, p *Plot) (*figure, error) {
	if p.Empty() {
		return nil, nil
	}
	option, err := p.JSON(id)
	if err != nil {
		return nil, err
	}
	plot := *p
	plot.Title, plot.Caption, plot.Unit = clean(p.Title), clean(p.Caption), clean(p.Unit)
	f := &figure{Plot: &plot, ID: id, Option: template.JS(option), Data: p.figures()}
	var b bytes.Buffer
	err = pageTemplates.ExecuteTemplate(&b, "chart", f)
	f.HTML = template.HTML(b.String()) //nolint:gosec // by the template, which escapes
	return f, err
}

// fill writes what the template makes of a page, or nothing.
func fill(w io.Writer, p page) error {
	var buf bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&buf, "document.html", p); err != nil {
		return fmt.Errorf("fill template: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}
