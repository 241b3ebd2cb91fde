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
	"class": func(t Tone) string { return toneClasses[t] },
}).ParseFS(pageFiles, "page/*.html"))

var toneClasses = map[Tone]string{Good: "good", Best: "best", Bad: "bad", Warn: "warned", Faint: "faint"}

// page is the data of the template. All of it is plain text that the template escapes, except what has a template type.
type page struct {
	*Document
	Views     []view
	Notice    string
	CSP       string
	Style     template.CSS
	Script    template.JS // this page's own
	ECharts   template.JS // "" when it comes from the network
	Remote    string      // where from, then
	Integrity string
	Settings  map[string]any // of this page's script
}

type view struct {
	Section
	Charts []figure
}

// figure is a chart of the page: what ECharts draws, and the same as a table for readers without script, screen readers
// and copying.
type figure struct {
	*Plot
	ID     string
	Option template.JS
	Data   Table
}

// remoteScript is where a page without the embedded script asks for it. The browser accepts only the pinned content.
const remoteScript = "https://cdn.jsdelivr.net/npm/echarts@%s/dist/echarts.min.js"

// newPage has style and scripts and forbids all others: a script runs only if the page's policy has its digest, so
// text that slipped through every escape could still not run.
func newPage(d *Document, echarts []byte) page {
	p := page{
		Document: d.cleaned(), Notice: strings.TrimSpace(assets.Notice()), ECharts: template.JS(echarts),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), Settings: map[string]any{"dark": darkPalette},
	}
	allowed := digest([]byte(pageScript)) + " "
	if len(echarts) > 0 {
		allowed += digest(echarts)
	} else {
		lock := assets.Pinned()
		p.Remote, p.Integrity = fmt.Sprintf(remoteScript, lock.Version), lock.FileIntegrity
		allowed += "https://cdn.jsdelivr.net"
	}
	p.CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; " +
		"script-src " + allowed
	return p
}

func digest(script []byte) string {
	sum := sha256.Sum256(script)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// DocumentHTML writes a document as one file. Built with the chart script, the file needs nothing but a browser;
// built without, its charts ask the network for the pinned script, and the page says so.
func DocumentHTML(w io.Writer, d *Document) error {
	script, _ := assets.ECharts()
	return writePage(w, d, script)
}

func writePage(w io.Writer, d *Document, echarts []byte) error {
	p := newPage(d, echarts)
	for _, s := range p.Sections {
		v := view{Section: s}
		for i := range s.Plots {
			plot := s.Plots[i].cleaned()
			if plot.empty() {
				continue
			}
			id := fmt.Sprintf("%s-plot%d", s.ID, i+1)
			option, err := plot.option(id)
			if err != nil {
				return fmt.Errorf("draw the charts: %w", err)
			}
			v.Charts = append(v.Charts, figure{plot, id, template.JS(option), plot.figures()})
		}
		p.Views = append(p.Views, v)
	}
	var buf bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&buf, "document.html", p); err != nil {
		return fmt.Errorf("fill template: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}
