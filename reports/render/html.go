package render

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/result"
)

//go:embed page
var pageFiles embed.FS

// HTML writes the report as one file. Built with the chart script, the file needs
// nothing but a browser; built without, its charts ask the network for the pinned
// script, and the page says so.
func HTML(w io.Writer, res *result.Results) error {
	script, _ := assets.ECharts()
	return writePage(w, res, script)
}

// page is what the template shows. Everything in it is plain text that the
// template escapes, except what has a template type.
type page struct {
	Title, Subtitle, Description string
	Interrupted                  bool
	Summary                      string
	Outcome                      state
	Headlines                    []headline
	Grid                         sheet
	Lines                        []lineView
	Notes                        []note
	Verdicts                     sheet
	Unasked                      string
	Examples                     []example
	Loads                        []loadView
	Overall                      []*chart
	Flows                        []flowView
	Provenance, Environment      []fact
	Method                       []string
	Definitions                  []heading
	Published                    []publishedRow
	PublishedNote                string
	Notice                       string

	CSP       string
	Style     template.CSS
	Script    template.JS // this page's own
	ECharts   template.JS // "" when it comes from the network
	Remote    string      // where from, then
	Integrity string
	Settings  template.JS
}

type lineView struct {
	sheetRow
	State state
	Dot   string // its colour in the charts
}

// Figures are the cells of a row of the throughput table but for its verdict.
func (l lineView) Figures() []cell { return l.Cells[:len(l.Cells)-1] }

// Verdict is the last of them.
func (l lineView) Verdict() string { return l.Cells[len(l.Cells)-1].Text }

type loadView struct {
	ID, Name   string
	Main, More []*chart
}

type flowView struct {
	Name, Load, Bottleneck, Why string
	First                       bool
	Counts                      []string
}

// flowHeads are the columns of the conservation table (G6).
var flowHeads = []string{"received", "sent", "coalesced", "filtered", "parked", "queued", "dropped", "retried"}

func writePage(w io.Writer, res *result.Results, script []byte) error {
	if err := res.Validate(); err != nil {
		return err
	}
	t := arrange(res)
	p := newPage(t)
	if err := p.addAssets(script); err != nil {
		return err
	}
	tmpl, err := template.New("page.html").Funcs(template.FuncMap{
		"json": func(c optioner) (template.JS, error) { data, err := encode(c); return template.JS(data), err },
		"inc":  func(i int) int { return i + 1 },
		"flow": func() []string { return flowHeads },
	}).ParseFS(pageFiles, "page/page.html")
	if err != nil {
		return fmt.Errorf("page template: %w", err)
	}
	var buf bytes.Buffer
	if err := tmpl.Execute(&buf, p); err != nil {
		return fmt.Errorf("page template: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

func newPage(t *table) *page {
	res := t.res
	p := &page{
		Title:       clean(orUnknown(res.Run.Scenario)),
		Subtitle:    strings.Join([]string{"run " + clean(res.Run.ID), when(res.Run.Started), "took " + took(res.Run.Started, res.Run.Finished), clean(orUnknown(res.Environment.Provider)) + " cluster"}, " · "),
		Description: clean(res.Run.Description), Interrupted: res.Run.Interrupted,
		Summary: summary(t), Outcome: outcome(t), Notes: t.notes(), Verdicts: t.verdicts(), Unasked: t.unaskedNote(), Examples: examples(t),
		Definitions: definitions(), Headlines: headlines(t),
		Provenance: provenance(res), Environment: environment(res), Method: method(t),
		Published: publishedRows, PublishedNote: publishedNote, Notice: strings.TrimSpace(assets.Notice()),
	}
	p.fillTable(t)
	p.fillFlows(t)
	p.fillCharts(t)
	return p
}

// outcome is the worst state of the rows.
func outcome(t *table) state {
	order := []state{stateInvalid, stateFailed, stateAllowed, stateCut, stateOpen, statePassed}
	worst := len(order) - 1
	for _, r := range t.rows {
		worst = min(worst, slices.Index(order, r.state()))
	}
	return order[worst]
}

func (p *page) fillTable(t *table) {
	p.Grid = t.throughput(published, ours)
	position := map[string]int{}
	for _, l := range p.Grid.Rows {
		v := lineView{sheetRow: l, State: l.row.state(), Dot: l.row.color(position[l.row.load])}
		position[l.row.load]++
		p.Lines = append(p.Lines, v)
	}
}

func (p *page) fillFlows(t *table) {
	for i, r := range t.rows {
		if r.state() == stateInvalid {
			continue
		}
		c := r.representative()
		f := flowView{Name: r.label(), Load: clean(r.load), Bottleneck: clean(orUnknown(c.Bottleneck.Stage)), Why: clean(c.Bottleneck.Why),
			First: i > 0 && r.load != t.rows[i-1].load}
		if e := c.Events; e != nil {
			for _, n := range []int64{e.Received, e.Sent, e.Coalesced, e.Filtered, e.Parked, e.Queued, e.Dropped, e.Retried} {
				f.Counts = append(f.Counts, fmt.Sprint(n))
			}
		} else {
			f.Counts = slices.Repeat([]string{unknown}, len(flowHeads))
		}
		p.Flows = append(p.Flows, f)
	}
}

func (p *page) fillCharts(t *table) {
	for i, load := range t.loads() {
		rows := t.under(load)
		id := fmt.Sprintf("load%d", i+1)
		p.Loads = append(p.Loads, loadView{
			ID: id, Name: clean(load),
			Main: drawn(append(curveCharts(id+"-curve", rows, mainCurves),
				freshnessDots(id+"-freshness", rows), freshnessCurve(id+"-distribution", rows), skewBars(id+"-skew", rows), partyBars(id+"-machine", rows))),
			More: curveCharts(id+"-more", rows, append(slices.Clone(moreCurves), otherCurves(rows)...)),
		})
	}
	p.Overall = drawn([]*chart{efficiencyBars("efficiency", t)})
}

// remoteScript is where a page without the embedded script asks for it. The
// browser accepts only the pinned content.
const remoteScript = "https://cdn.jsdelivr.net/npm/echarts@%s/dist/echarts.min.js"

// addAssets puts style and scripts in and forbids all others: a script runs only if
// its digest stands in the page's policy, so text that slipped through every
// escape could still not run.
func (p *page) addAssets(echarts []byte) error {
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return err
	}
	js, err := pageFiles.ReadFile("page/page.js")
	if err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]any{"dark": darkPalette})
	if err != nil {
		return err
	}
	p.Style, p.Script, p.Settings = template.CSS(css), template.JS(js), template.JS(settings)
	allowed := []string{digest(js)}
	if len(echarts) > 0 {
		p.ECharts = template.JS(echarts)
		allowed = append(allowed, digest(echarts))
	} else {
		lock := assets.Pinned()
		p.Remote, p.Integrity = fmt.Sprintf(remoteScript, lock.Version), lock.FileIntegrity
		allowed = append(allowed, "https://cdn.jsdelivr.net")
	}
	p.CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; script-src " + strings.Join(allowed, " ")
	return nil
}

func digest(script []byte) string {
	sum := sha256.Sum256(script)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
