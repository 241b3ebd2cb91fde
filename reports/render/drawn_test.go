package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// everyChart is a record whose page has each kind of chart of a run.
func everyChart(t *testing.T) *result.Results {
	res := fixture(t)
	for i := range res.Cells {
		if c := &res.Cells[i]; c.Params[result.ParamLoad] == "heavy" {
			c.Traffic = profiledRun().Cells[0].Traffic
		}
	}
	for _, s := range []string{"keyed", "dedup"} {
		for _, rate := range []float64{100, 400} {
			res.Cells = append(res.Cells, openCell(s, rate, rate/200))
		}
	}
	return res
}

// drawAll brings each chart before the window, as a reader who scrolls does.
func (b *browser) drawAll() {
	b.t.Helper()
	b.eval(`(async () => {
		for (const p of document.querySelectorAll("[data-chart]")) {
			if (!p.checkVisibility()) continue;
			p.scrollIntoView({block: "center", behavior: "instant"});
			for (let i = 0; i < 100 && !p.querySelector("svg"); i++) await new Promise(requestAnimationFrame);
		}
		scrollTo({top: 0, behavior: "instant"});
	})()`, nil)
}

// plot is a chart as it was drawn, and the colours of its series.
type plot struct {
	ID     string
	Width  float64
	Points int
	Colors []string
}

func (b *browser) plots() (all []plot) {
	b.t.Helper()
	b.eval(`[...document.querySelectorAll("[data-chart]")].filter(p => p.checkVisibility()).map(p => {
		const chart = echarts.getInstanceByDom(p), colors = new Set();
		let points = 0;
		if (chart) {
			const option = chart.getOption();
			for (const s of option.series) {
				points += (s.data || []).length;
				for (const of of [s, ...(s.data || [])]) if (of && of.itemStyle && of.itemStyle.color) colors.add(of.itemStyle.color);
			}
			for (const m of option.visualMap || []) m.inRange.color.forEach(c => colors.add(c));
		}
		return {ID: p.dataset.chart, Width: p.getBoundingClientRect().width, Points: points, Colors: [...colors]};
	})`, &all)
	return all
}

// empty lists the charts in which nothing is drawn in the colours of their series; legends
// do not count. Axes are hidden: blended with what is behind it, an axis can have a series' colour.
func (b *browser) empty() (ids []string) {
	b.t.Helper()
	const legend = 50.0
	b.eval(`document.querySelectorAll("[data-chart]").forEach(p => {
		const c = echarts.getInstanceByDom(p), o = c ? c.getOption() : {}, hidden = a => ({axisLine: {show: false}});
		if (o.yAxis) c.setOption({animation: false, xAxis: o.xAxis.map(hidden), yAxis: o.yAxis.map(hidden)});
	})`, nil)
	for _, p := range b.plots() {
		if p.Points == 0 || b.pixels(p.ID, legend, p.Colors) < 20 {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// pixels counts those of a chart, from some way below its top, that have one of the colours.
func (b *browser) pixels(id string, below float64, colors []string) (n int) {
	b.t.Helper()
	var box struct{ X, Y, Width, Height float64 }
	b.eval(fmt.Sprintf(`(async () => { const p = document.querySelector('[data-chart=%q]'); p.scrollIntoView({block: "center", behavior: "instant"});
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); // until it is on the screen
		const r = p.getBoundingClientRect(); return {X: r.x + scrollX, Y: r.y + scrollY, Width: r.width, Height: r.height}; })()`, id), &box)
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png",
		"clip": map[string]any{"x": box.X, "y": box.Y + below, "width": box.Width, "height": box.Height - below, "scale": 1}}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	var wanted [][3]int
	for _, c := range colors {
		rgb, err := strconv.ParseUint(strings.TrimPrefix(c, "#"), 16, 32)
		if err != nil {
			b.t.Fatalf("colour %q: %v", c, err)
		}
		wanted = append(wanted, [3]int{int(rgb >> 16), int(rgb >> 8 & 255), int(rgb & 255)})
	}
	all := picture.Bounds()
	for at := all.Min; at.Y < all.Max.Y; at = next(at, all) {
		r, g, bl, _ := picture.At(at.X, at.Y).RGBA()
		near := func(c [3]int) bool {
			return abs(c[0]-int(r>>8)) <= 6 && abs(c[1]-int(g>>8)) <= 6 && abs(c[2]-int(bl>>8)) <= 6
		}
		if slices.ContainsFunc(wanted, near) {
			n++
		}
	}
	return n
}

func next(at image.Point, box image.Rectangle) image.Point {
	if at.X++; at.X == box.Max.X {
		return image.Pt(box.Min.X, at.Y+1)
	}
	return at
}

func abs(n int) int { return max(n, -n) }

// TestEveryChartIsDrawn looks at the pixels of each chart, by day and by night, on a desk and
// on a telephone.
func TestEveryChartIsDrawn(t *testing.T) {
	b := startBrowser(t)
	path := pageFile(t, everyChart(t))
	for scheme, width := range map[string]int{"light": 1400, "dark": 420} {
		b.media("screen", scheme)
		b.open(path, width, 900)
		b.eval(`document.querySelectorAll("details.more").forEach(d => d.open = true)`, nil)
		b.drawAll()
		name := fmt.Sprintf("%s-%d", scheme, width)
		if ids := b.empty(); len(ids) > 0 {
			t.Errorf("%s: nothing is drawn in %s", name, strings.Join(ids, ", "))
		}
		var wide float64
		b.eval(`document.documentElement.scrollWidth`, &wide)
		if int(wide) > width {
			t.Errorf("%s: the page is %v px wide", name, wide)
		}
		seen := map[string]bool{}
		for _, p := range b.plots() {
			seen[strings.TrimSuffix(strings.TrimRight(p.ID, "0123456789"), "-plot")] = true
			if p.Width > float64(width) {
				t.Errorf("%s: %s is %v px wide", name, p.ID, p.Width)
			}
		}
		if !seen["over-load"] {
			t.Errorf("%s: no chart over-load", name)
		}
	}
	b.quiet(path)
}
