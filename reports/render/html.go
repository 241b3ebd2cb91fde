package render

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/result"
)

var (
	//go:embed page
	pageFiles embed.FS
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string
)

var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"defined": define,
	"json":    func(c optioner) (template.JS, error) { data, err := encode(c); return template.JS(data), err },
}).ParseFS(pageFiles, "page/*.html"))

// HTML writes the report as one file. Built with the chart script, the file needs
// nothing but a browser; built without, its charts ask the network for the pinned
// script, and the page says so.
func HTML(w io.Writer, res *result.Results) error {
	script, _ := assets.ECharts()
	return writePage(w, res, script)
}

// shell is what every page has around its content. All of it is plain text that the
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
// its digest stands in the page's policy, so text that slipped through every
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
	s.CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src " + allowed
	return s
}

// page is what the template of a report shows: the table's methods, the charts and the shell.
type page struct {
	tabled
	drawings
	shell
}

// tabled puts the table's methods behind fields of the same name in drawings.
type tabled struct{ *table }

// writePage fills the template twice: how much room there is for charts, what is around them says.
func writePage(w io.Writer, res *result.Results, echarts []byte) error {
	t := arrange(res)
	p := page{tabled{t}, t.undrawn(), newShell(echarts)}
	var around bytes.Buffer
	if err := fill(&around, pageTemplates.Lookup("page.html"), p); err != nil {
		return err
	}
	var err error
	if p.drawings, err = t.draw(mostPage - around.Len()); err != nil {
		return fmt.Errorf("draw the charts: %w", err)
	}
	return fill(w, pageTemplates.Lookup("page.html"), p)
}

func digest(script []byte) string {
	sum := sha256.Sum256(script)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// fill writes what a template makes of data, or nothing.
func fill(w io.Writer, t interface{ Execute(io.Writer, any) error }, data any) error {
	var buf bytes.Buffer
	if err := t.Execute(&buf, data); err != nil {
		return fmt.Errorf("fill template: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// Subtitle is which run it was, when, and on what.
func (t *table) Subtitle() string {
	provider := clean(orUnknown(t.res.Environment.Provider))
	return strings.Join([]string{"run " + clean(t.Run.ID), when(t.Run.Started), "took " + took(t.Run), provider + " cluster"}, " · ")
}

// Outcome is the worst state of the rows; a run that lacks cells did not pass.
func (t *table) Outcome() state {
	if len(t.rows) == 0 {
		return stateInvalid
	}
	worst := statePassed
	for _, s := range states {
		if slices.ContainsFunc(t.rows, func(r *row) bool { return r.state() == s.state }) {
			worst = s.state
			break
		}
	}
	if worst == statePassed && len(t.res.Missing()) > 0 {
		return stateOpen
	}
	return worst
}

// Outcomes and Published count the columns of those groups, Figures all behind the verdict.
func (t *table) Outcomes() int  { return len(outcome) }
func (t *table) Published() int { return len(published) }
func (t *table) Figures() int   { return len(published) + len(ours) - 1 }

type loadView struct {
	ID, Name   string
	Main, More []*chart
	Notes      []string // what is not drawn
}

// Loads are the charts of each load.
func (t *table) Loads() (all []loadView) {
	curves := 0
	for _, load := range t.loads() {
		rows, _ := t.telling(t.under(load))
		curves += curvesOf(rows)
	}
	most := pointsPerLine(curves)
	for i, load := range t.loads() {
		rows, notes := t.telling(t.under(load))
		id := fmt.Sprintf("load%d", i+1)
		main := append(curveCharts(id+"-curve", rows, mainCurves, most),
			freshnessDots(id+"-freshness", rows), freshnessCurve(id+"-distribution", rows))
		flows := t.flowCharts(id+"-flow", rows)
		main = append(main, flows[:min(1, len(flows))]...)
		main = append(main, skewBars(id+"-skew", rows), partyBars(id+"-machine", rows))
		all = append(all, loadView{
			ID: id, Name: clean(load), Main: drawn(main), Notes: notes,
			More: append(curveCharts(id+"-more", rows, append(slices.Clone(moreCurves), otherCurves(rows)...), most), flows[min(1, len(flows)):]...),
		})
	}
	return all
}

// Overall are the charts of all loads.
func (t *table) Overall() []*chart {
	return drawn([]*chart{efficiencyBars("efficiency", t), skewHeat("skew", t)})
}
