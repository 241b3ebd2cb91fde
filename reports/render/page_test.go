package render

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/result"
)

// savedPage writes a report to disk; with the chart script, or skips without it.
func savedPage(t *testing.T, res *result.Results) string {
	t.Helper()
	return pageFileBy(t, func(w io.Writer, script []byte) error { return writePage(w, Run(res), script) })
}

func pageFileBy(t *testing.T, write func(io.Writer, []byte) error) string {
	t.Helper()
	script, ok := assets.ECharts()
	if !ok {
		t.Skip("built without the chart script (internal/assets/fetch.sh)")
	}
	path := filepath.Join(t.TempDir(), "index.html")
	var buf bytes.Buffer
	if err := write(&buf, script); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPageInBrowser opens the file from disk in a real browser and looks whether every chart is drawn and nothing is
// complained about or fetched. With WATCHBENCH_SCREENSHOTS it leaves pictures there, for human eyes.
func TestPageInBrowser(t *testing.T) {
	b := startBrowser(t)
	path := savedPage(t, fixture(t))
	b.media("screen", "light")
	b.open(path, 1440, 1000)

	var state struct{ Plots, Drawn, Open int }
	measure := `(() => {
		const plots = [...document.querySelectorAll("[data-chart]")].filter(p => p.checkVisibility());
		return {Plots: plots.length, Drawn: plots.filter(p => p.querySelector("svg path")).length,
			Open: document.querySelectorAll(".data[open]").length};
	})()`
	b.eval(measure, &state)
	if state.Plots != 1 || state.Drawn != 1 {
		t.Errorf("%d of %d charts are drawn before anything is unfolded, want one", state.Drawn, state.Plots)
	}
	b.eval(`document.querySelectorAll("details.more").forEach(d => d.open = true)`, nil)
	b.settle(`[...document.querySelectorAll("[data-chart]")].every(p => p.querySelector("svg path"))`)
	if b.eval(measure, &state); state.Plots != 2 || state.Drawn != 2 {
		t.Errorf("%d of %d charts are drawn when all is unfolded, want one for each load", state.Drawn, state.Plots)
	}
	b.eval(`document.querySelectorAll("details.more").forEach(d => d.open = false)`, nil)
	if state.Open != 0 {
		t.Errorf("%d data tables are open beside their charts", state.Open)
	}

	// The same strategy has the same colour in each chart, and other ones in the dark.
	const stroke = `[...document.querySelectorAll('[data-chart="figures-plot1"] svg path')].map(p => p.getAttribute("stroke")).join(" ")`
	if s := b.text(stroke); !strings.Contains(s, colors[4]) {
		t.Errorf("no line in the colour of keyed: %s", s)
	}
	b.media("screen", "dark")
	b.settle(fmt.Sprintf("%s.includes(%q)", stroke, darkPalette[colors[4]]))
	if s := b.text(stroke); !strings.Contains(s, darkPalette[colors[4]]) {
		t.Errorf("no line in the dark colour of keyed: %s", s)
	}
	b.eval(`document.getElementById("theme").click()`, nil)
	if s := b.text(stroke); !strings.Contains(s, colors[4]) {
		t.Errorf("the button does not bring light colours: %s", s)
	}
	b.media("screen", "light")

	b.hover(`[data-chart="figures-plot1"]`)
	if tip := b.text(`document.querySelector('[data-chart="figures-plot1"]').innerText`); !strings.Contains(tip, "keyed") || !strings.Contains(tip, "events") {
		t.Errorf("tooltip is %q", tip)
	}

	for _, width := range []int{390, 768, 1280} {
		b.size(width, 900)
		b.settle(fmt.Sprintf(`document.querySelector("svg").getBoundingClientRect().width < %d`, width))
		b.fits(width)
	}

	b.media("print", "dark")
	b.size(1032, 800) // A4 landscape within its margins
	b.eval(`dispatchEvent(new Event("beforeprint"))`, nil)
	if s := b.text(`getComputedStyle(document.body).backgroundColor`); s != "rgb(255, 255, 255)" {
		t.Errorf("printed on %s", s)
	}
	b.fits(1032)
	b.quiet(path)
}

// fits fails the test for anything visible that is wider than the window, or cut by its box: text of tables and charts.
func (b *browser) fits(width int) {
	b.t.Helper()
	wide := b.text(fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.tagName != "path" && e.checkVisibility() &&
		!e.closest("[style*='z-index: 9999999']") && (e.getBoundingClientRect().right > %d || e.getBoundingClientRect().left < 0 ||
		e.matches(".scroll") && e.scrollWidth > e.clientWidth + 1)).slice(0, 8)
		.map(e => e.tagName + "." + e.getAttribute("class") + " " + e.textContent.slice(0, 30)).join("; ")`, width))
	if wide != "" {
		b.t.Errorf("clipped in a window of %d: %s", width, wide)
	}
}

// TestPageStructure: each section is there once, in its order, and every link inside the page leads somewhere.
func TestPageStructure(t *testing.T) {
	var buf bytes.Buffer
	if err := writePage(&buf, Run(fixture(t)), nil); err != nil {
		t.Fatal(err)
	}
	var ids []string
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(buf.String(), -1) {
		if seen[m[1]] {
			t.Errorf("id %s is there twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`<(?:section|details class="more") id="([^"]+)"`).FindAllStringSubmatch(buf.String(), -1) {
		ids = append(ids, m[1])
	}
	const want = "figures found checks load1 published costs flow environment method definitions"
	if strings.Join(ids, " ") != want {
		t.Errorf("sections %v", ids)
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(buf.String(), -1) {
		if !seen[m[1]] {
			t.Errorf("nothing is at #%s", m[1])
		}
	}
}

func shoot(b *browser, name, selector string, width, height int) {
	if dir := os.Getenv("WATCHBENCH_SCREENSHOTS"); dir != "" {
		b.screenshot(filepath.Join(dir, name), selector, width, height)
	}
}

// hostile is what a cluster's names may contain in the worst case.
const hostile = `</script><script>document.title="pwned"</script><img src=x onerror='document.title="pwned"'>"'{{1}}{a|b}__f__&quot;,&lt;b&gt;` + "\u2028\x1b[31m\u202e"

// hostileRecord has such text in every place that takes text.
func hostileRecord(t *testing.T) *result.Results {
	res := fixture(t)
	res.Run.ID, res.Run.Scenario, res.Run.Description = hostile, hostile, hostile
	res.Run.Order, res.Run.Command = []string{hostile}, []string{hostile}
	e := &res.Environment
	e.Commit, e.GoVersion, e.Provider, e.Kubernetes, e.Etcd, e.CPUModel, e.Kernel = hostile, hostile, hostile, hostile, hostile, hostile, hostile
	e.Modules, e.Cgroup, e.Flags = map[string]string{hostile: hostile}, map[string]string{hostile: hostile}, []string{hostile}
	for i := range res.Cells {
		c := &res.Cells[i]
		c.ID = hostile + c.ID
		c.Params[result.ParamStrategy] += hostile
		c.Params[result.ParamLoad] += hostile
		c.Params[hostile] = fmt.Sprint(i % 2)
		c.Bottleneck = result.Bottleneck{Stage: hostile, Why: hostile}
		c.Storage.LatencySpec = hostile
		if !c.Valid {
			c.InvalidReasons = []string{hostile}
		}
		if c.Series == nil {
			c.Series = map[string]result.Series{}
		}
		c.Series[hostile] = result.Series{Unit: hostile, T: []float64{0, 1}, V: []float64{1, 2}}
		c.Parties[hostile] = result.Party{CPUSeconds: new(1.0)}
		for g, check := range c.Checks {
			check.Counterexample, check.Note = check.Counterexample+hostile, hostile
			c.Checks[g] = check
		}
		c.Checks[hostile] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 1, Counterexample: hostile, Note: hostile}
	}
	return res
}

// TestPageIsSafeInBrowser hovers every chart of a page made of hostile names.
func TestPageIsSafeInBrowser(t *testing.T) {
	b := startBrowser(t)
	path := savedPage(t, hostileRecord(t))
	b.open(path, 1440, 1000)
	b.eval(`document.querySelectorAll("details").forEach(d => d.open = true); new Promise(done => setTimeout(done, 300))`, nil)
	var ids []string
	// The second load has the same kinds of chart.
	b.eval(`[...document.querySelectorAll("[data-chart]")].map(p => p.getAttribute("data-chart")).filter(id => !id.startsWith("load2"))`, &ids)
	if len(ids) < 1 {
		t.Fatalf("only %d charts", len(ids))
	}
	tips := 0
	for _, id := range ids {
		b.hover(`[data-chart="` + id + `"]`)
		if strings.Contains(b.text(`document.querySelector('[data-chart="`+id+`"]').innerText`), "pwned") {
			tips++ // the name is there, as text
		}
	}
	if tips < len(ids)/2 {
		t.Errorf("only %d of %d tooltips showed a hostile name; the test proves little", tips, len(ids))
	}
	var found struct {
		Title           string
		Images, Scripts int
	}
	b.eval(`({Title: document.title, Images: document.querySelectorAll("img").length, Scripts: document.querySelectorAll("script:not([type])").length})`, &found)
	if !strings.HasPrefix(found.Title, "watchbench: ") || found.Images != 0 || found.Scripts != 2 {
		t.Errorf("hostile names took effect: %+v", found)
	}
	b.quiet(path)
}

var external = regexp.MustCompile(`(?i)\b(src|href|srcset|action|data|poster)\s*=\s*["']?\s*(https?:)?//|url\(|@import`)

func TestPageNeedsNoNetwork(t *testing.T) {
	for name, res := range map[string]*result.Results{"fixture": fixture(t), "hostile": hostileRecord(t)} {
		data, err := os.ReadFile(savedPage(t, res))
		if err != nil {
			t.Fatal(err)
		}
		script, _ := assets.ECharts()
		own := bytes.Replace(data, script, nil, 1)
		if len(own) == len(data) {
			t.Fatalf("%s: the chart script is not in the page as it is", name)
		}
		if m := external.Find(own); m != nil {
			t.Errorf("%s: the page refers to the outside: %s", name, m)
		}
		if n := bytes.Count(own, []byte("<script>")); n != 2 {
			t.Errorf("%s: %d plain scripts, want the charts' and the page's own", name, n)
		}
		if bytes.Contains(own, []byte("cdn.jsdelivr.net")) {
			t.Errorf("%s: a self-contained page names the network copy", name)
		}
	}
}

func TestPageWithoutScriptAsksTheNetworkAndSaysSo(t *testing.T) {
	var buf bytes.Buffer
	if err := writePage(&buf, Run(fixture(t)), nil); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	lock := assets.Pinned()
	for _, want := range []string{
		`<script src="https://cdn.jsdelivr.net/npm/echarts@` + lock.Version + `/dist/echarts.min.js" integrity="` + lock.FileIntegrity + `" crossorigin="anonymous">`,
		"so they need the network; the tables do not.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := len(external.FindAllString(page, -1)); n != 1 {
		t.Errorf("the page refers to the outside %d times, want once", n)
	}
}

func TestPageOfLittle(t *testing.T) {
	for name, res := range map[string]*result.Results{
		"no cells":        {Schema: result.Schema, Run: result.Run{ID: "r"}},
		"bare cell":       {Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{{ID: "a", Valid: true}}},
		"invalid cell":    {Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{{ID: "a", InvalidReasons: []string{"no load"}}}},
		"no measurements": {Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{{ID: "a", Valid: true, Series: map[string]result.Series{"x": {}}, Queues: map[string]float64{"a": 0, "b": 0}}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range Formats() {
				var buf bytes.Buffer
				if err := f.Write(&buf, res); err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
			}
			var buf bytes.Buffer
			if err := Terminal(&buf, res, TerminalOptions{}); err != nil {
				t.Error(err)
			}
			if strings.Contains(buf.String(), "NaN") {
				t.Errorf("NaN in\n%s", buf.String())
			}
		})
	}
}
