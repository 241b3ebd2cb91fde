package render

import "testing"

// TestPrintedAndByKeyboard: on paper every chart is drawn within its frame, no table is cut,
// and a key brings the reader to each chart and its table, which have names.
func TestPrintedAndByKeyboard(t *testing.T) {
	b := startBrowser(t)
	path := pageFile(t, everyChart(t))
	b.media("screen", "dark")
	b.open(path, 1400, 900)
	var unnamed, reached []string
	b.eval(`[...document.querySelectorAll("figure.chart")].filter(f => {
		const plot = f.querySelector(".plot"), caption = document.getElementById(plot.getAttribute("aria-describedby"));
		return plot.tabIndex !== 0 || plot.getAttribute("role") !== "img" || !plot.getAttribute("aria-label") || !caption || !caption.querySelector("small").textContent.trim()
			|| !f.querySelector(".data").getAttribute("aria-label") || f.querySelectorAll("tbody tr").length === 0;
	}).map(f => f.id)`, &unnamed)
	if len(unnamed) > 0 {
		t.Errorf("without a name, a caption, a table or the keyboard: %q", unnamed)
	}
	b.eval(`document.querySelector("#load4 .plot").focus({preventScroll: true})`, nil)
	for range 2 {
		for _, kind := range []string{"keyDown", "keyUp"} {
			b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}, nil)
		}
		reached = append(reached, b.text(`document.activeElement.matches("summary") ? "table of " + document.activeElement.closest("figure").id : document.activeElement.dataset.chart`))
	}
	first, second := b.text(`document.querySelectorAll("#load4 figure")[0].id`), b.text(`document.querySelectorAll("#load4 figure")[1].id`)
	if reached[0] != "table of "+first || reached[1] != second {
		t.Errorf("from %s, the keyboard leads to %q", first, reached)
	}

	b.media("print", "dark")
	b.size(1032, 800) // A4 landscape within its margins
	b.eval(`dispatchEvent(new Event("beforeprint"))`, nil)
	var bad []string
	b.eval(`[...document.querySelectorAll("[data-chart]")].filter(p => p.checkVisibility()).filter(p => {
		const svg = p.querySelector("svg");
		return !svg || svg.getBoundingClientRect().right > p.closest("figure").getBoundingClientRect().right;
	}).map(p => p.dataset.chart)`, &bad)
	if len(bad) > 0 {
		t.Errorf("not drawn, or wider than their frames, on paper: %q", bad)
	}
	b.eval(`[...document.querySelectorAll("table")].filter(t => t.checkVisibility() && t.getBoundingClientRect().right > innerWidth).map(t => t.closest("section").id)`, &bad)
	if len(bad) > 0 {
		t.Errorf("tables that are cut on paper: %q", bad)
	}
	b.quiet(path)
}
