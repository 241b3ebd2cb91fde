package render

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/versus"
)

// changed is the fixture as another run of it, with a keyed watcher that takes a third
// more CPU, another machine, and an object that is lost.
func changed(t *testing.T, change func(*result.Results)) *result.Results {
	t.Helper()
	res := fixture(t)
	res.Run.ID, res.Run.Seed = "fixture-b", 43
	res.Run.Started = res.Run.Started.Add(72 * time.Hour)
	res.Run.Finished = res.Run.Finished.Add(72 * time.Hour)
	for i := range res.Cells {
		c := &res.Cells[i]
		k := 1 + 0.01*float64(c.Repetition-2)
		if strings.Contains(c.ID, "keyed") {
			k *= 1.3
		}
		c.Watcher.CPUMicrosPerReq, c.Watcher.CPUMicrosPerEvent = new(round(*c.Watcher.CPUMicrosPerReq*k, 2)), new(round(*c.Watcher.CPUMicrosPerEvent*k, 2))
		if c.ID == "light-keyed-r2" {
			c.Events.Lost = new(int64(3))
			c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 3, Judged: 360}
		}
	}
	if change != nil {
		change(res)
	}
	return res
}

func compared(t *testing.T, patterns []string, runs ...versus.Run) *versus.Comparison {
	t.Helper()
	metrics, err := versus.Metrics(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := versus.Compare(metrics, runs...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func two(t *testing.T) *versus.Comparison {
	return compared(t, nil, versus.Run{Label: "before", Results: fixture(t)}, versus.Run{Label: "after", Results: changed(t, nil)})
}

func TestCompareGolden(t *testing.T) {
	three := compared(t, []string{"freshness.p99", "watcher.cpu*PerEvent"}, versus.Run{Label: "before", Results: fixture(t)},
		versus.Run{Label: "after", Results: changed(t, nil)}, versus.Run{Label: "short", Results: changed(t, func(r *result.Results) { r.Cells = r.Cells[:12] })})
	keyed := func(res *result.Results) *result.Results {
		res.Cells = slices.DeleteFunc(res.Cells, func(c result.Cell) bool { return !strings.HasPrefix(c.ID, "heavy-keyed") })
		return res
	}
	small := compared(t, nil, versus.Run{Label: "before", Results: keyed(fixture(t))}, versus.Run{Label: "after", Results: keyed(changed(t, nil))})
	terminal := func(o TerminalOptions) func(io.Writer, *versus.Comparison) error {
		return func(w io.Writer, c *versus.Comparison) error { return CompareTerminal(w, c, o) }
	}
	for name, tt := range map[string]struct {
		write func(io.Writer, *versus.Comparison) error
		of    *versus.Comparison
	}{
		"compare-80.txt": {terminal(TerminalOptions{Width: 80}), two(t)}, "compare-120.txt": {terminal(TerminalOptions{Width: 120}), two(t)},
		"compare-200.txt": {terminal(TerminalOptions{Width: 200}), two(t)}, "compare-all.txt": {terminal(TerminalOptions{Explain: true}), two(t)},
		"compare-color.txt": {terminal(TerminalOptions{Color: true}), two(t)}, "compare-three-80.txt": {terminal(TerminalOptions{Width: 80}), three},
		"compare.md": {CompareMarkdown, two(t)}, "compare.csv": {CompareCSV, three}, "compare.json": {CompareJSON, three},
		"compare.html": {func(w io.Writer, c *versus.Comparison) error { return writeComparison(w, c, nil) }, small},
	} {
		var first, second bytes.Buffer
		for _, b := range []*bytes.Buffer{&first, &second} {
			if err := tt.write(b, tt.of); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two renderings of one comparison differ", name)
		}
		golden(t, name, first.Bytes())
	}
}

// No line is wider than the terminal, at any width that people have.
func TestCompareFits(t *testing.T) {
	long := compared(t, []string{"watcher.*", "storage.*"}, versus.Run{Label: strings.Repeat("before-", 12), Results: fixture(t)}, versus.Run{Label: "after", Results: changed(t, nil)})
	for name, c := range map[string]*versus.Comparison{"two": two(t), "long": long} {
		for _, width := range []int{80, 120, 200} {
			var out bytes.Buffer
			if err := CompareTerminal(&out, c, TerminalOptions{Width: width, Explain: width != 120}); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > width {
					t.Fatalf("%s: a line of %d at width %d: %q", name, n, width, l)
				}
			}
		}
	}
}

// hostileComparison has such names wherever a run can put them.
func hostileComparison(t *testing.T) *versus.Comparison {
	other := hostileRecord(t)
	other.Run.Scenario, other.Environment.CPUModel = "other"+hostile, "=1+1"+hostile
	other.Scenario = map[string]any{"load": map[string]any{hostile: hostile}}
	return compared(t, nil, versus.Run{Label: hostile, Results: hostileRecord(t)}, versus.Run{Label: "=1+1" + hostile, Results: other})
}

// Text that came from a run is data in each format.
func TestCompareIsSafe(t *testing.T) {
	c := hostileComparison(t)
	for name, tt := range map[string]struct {
		write  func(io.Writer) error
		banned []string
	}{
		"terminal": {func(w io.Writer) error { return CompareTerminal(w, c, TerminalOptions{Explain: true}) }, nil},
		"md":       {func(w io.Writer) error { return CompareMarkdown(w, c) }, []string{"<script", "<img", "\n__f__"}},
		"html":     {func(w io.Writer) error { return writeComparison(w, c, nil) }, []string{"<script>document", "<img"}},
		"csv":      {func(w io.Writer) error { return CompareCSV(w, c) }, []string{"\n=", ",=", `,"=`}},
	} {
		var out bytes.Buffer
		if err := tt.write(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for _, b := range append(tt.banned, "\x1b", "\u202e", "\u2028") {
			if i := strings.Index(text, b); i >= 0 {
				t.Errorf("%s has %q: …%q", name, b, text[max(0, i-60):min(len(text), i+60)])
			}
		}
		if !strings.Contains(text, "pwned") {
			t.Errorf("%s does not show the name at all: the test proves nothing", name)
		}
	}
}

func comparisonFile(t *testing.T, c *versus.Comparison) string {
	t.Helper()
	return pageFileBy(t, func(w io.Writer, script []byte) error { return writeComparison(w, c, script) })
}

// TestComparePageInBrowser opens the page in a real browser: every chart of the first
// points is drawn with a line per run, in light and dark, at the width of a phone.
func TestComparePageInBrowser(t *testing.T) {
	b := startBrowser(t)
	path := comparisonFile(t, two(t))
	b.media("screen", "light")
	b.open(path, 1440, 1000)
	b.drawAll()
	var state struct {
		Plots, Drawn, Both int
		Width              float64
	}
	measure := fmt.Sprintf(`(() => {
		const plots = [...document.querySelectorAll("[data-chart]")].filter(p => p.checkVisibility());
		const both = p => [%q, %q].every(c => [...p.querySelectorAll("svg path")].some(l => l.getAttribute("stroke") === c));
		return {Plots: plots.length, Drawn: plots.filter(p => p.querySelector("svg path")).length, Both: plots.filter(both).length,
			Width: document.documentElement.scrollWidth};
	})()`, runColor(0), runColor(1))
	b.eval(measure, &state)
	if state.Plots < openPoints*2 || state.Drawn != state.Plots || state.Both != state.Plots {
		t.Errorf("of %d charts %d are drawn and %d have a line of each run", state.Plots, state.Drawn, state.Both)
	}
	shoot(b, "compare.png", "", 1440, 3000)
	b.media("screen", "dark")
	b.settle(fmt.Sprintf(`document.querySelector("[data-chart] svg path[stroke='%s']") !== null`, darkPalette[runColor(0)]))
	if s := b.text(`[...document.querySelectorAll('[data-chart] svg path')].map(p => p.getAttribute("stroke")).join(" ")`); !strings.Contains(s, darkPalette[runColor(0)]) {
		t.Errorf("no line in the dark colour of the first run: %s", s)
	}
	shoot(b, "compare-dark.png", "", 1440, 1500)
	b.media("screen", "light")
	b.size(390, 800)
	b.settle(`document.documentElement.scrollWidth <= 390`)
	if b.eval(measure, &state); state.Width > 390 {
		t.Errorf("the page is %v px wide on a phone of 390", state.Width)
	}
	// The first table's verdicts are in sight without scrolling it.
	var edge float64
	b.eval(`[...document.querySelectorAll("#figures .figures")][0].querySelector("tbody td:last-child").getBoundingClientRect().right`, &edge)
	if edge <= 0 || edge > 390 {
		t.Errorf("on a phone of 390 px the verdicts end at %v px", edge)
	}
	shoot(b, "compare-phone.png", "", 390, 1000)
	b.quiet(path)
}

// Every id is there once, and what the navigation leads to exists.
func TestComparePageAnchors(t *testing.T) {
	var out bytes.Buffer
	if err := writeComparison(&out, two(t), nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(out.String(), -1) {
		if seen[m[1]] {
			t.Errorf("id %s is there twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(out.String(), -1) {
		if !seen[m[1]] {
			t.Errorf("nothing is at #%s", m[1])
		}
	}
}

func TestComparePageIsSafeInBrowser(t *testing.T) {
	b := startBrowser(t)
	path := comparisonFile(t, hostileComparison(t))
	b.open(path, 1440, 1000)
	b.hover(`[data-chart="point1-distribution"]`)
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
