package render

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

func TestDownsampleKeepsTheShape(t *testing.T) {
	var pts []point
	for i := range 100_000 {
		pts = append(pts, point{float64(i), math.Sin(float64(i) / 5000)})
	}
	pts[61_234].y = 50 // one peak
	got := downsample(pts, maxPoints)
	if len(got) != maxPoints {
		t.Fatalf("%d points, want %d", len(got), maxPoints)
	}
	if got[0] != pts[0] || got[len(got)-1] != pts[len(pts)-1] {
		t.Error("an end is missing")
	}
	peak := false
	for i, p := range got {
		peak = peak || p == pts[61_234]
		if i > 0 && p.x <= got[i-1].x {
			t.Fatalf("point %d goes back", i)
		}
	}
	if !peak {
		t.Error("the peak is missing")
	}
	for n := range 12 {
		if got := downsample(pts[:n], 3); len(got) > max(3, n) {
			t.Errorf("%d points of %d", len(got), n)
		}
	}
}

func TestCurveBreaksAtGapsAndDropsWhatCannotBeDrawn(t *testing.T) {
	s := result.Series{
		T: []float64{-30, -1, 0, 1, 2, 3, 20, 21, 22, 23},
		V: []float64{9, 1, 2, math.NaN(), 3, math.Inf(1), 4, 5, 6, 7},
	}
	pieces := curve(s, maxPoints)
	if len(pieces) != 2 || len(pieces[0]) != 3 || len(pieces[1]) != 4 {
		t.Fatalf("pieces %v", pieces)
	}
	if pieces[0][0].x != -1 {
		t.Error("what happened long before the load is shown")
	}
	if got := curve(result.Series{}, 10); len(got) != 0 {
		t.Errorf("an empty series gives %v", got)
	}
}

func TestAtReadsTheLastSample(t *testing.T) {
	s := result.Series{T: []float64{0, 1, 2}, V: []float64{10, 11, 12}}
	for x, want := range map[float64]float64{0: 10, 0.5: 10, 1: 11, 2: 12} {
		if got := at(s, x); got == nil || *got != want {
			t.Errorf("at(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{-0.1, 2.1} {
		if got := at(s, x); got != nil {
			t.Errorf("at(%v) = %v, want none", x, *got)
		}
	}
}

// What go-echarts' own renderers get wrong, encode must not.
func TestEncodeEscapesAndReportsErrors(t *testing.T) {
	line := charts.NewLine()
	line.AddSeries(`</script>__f__&quot;`, []opts.LineData{{Value: 1}})
	option, err := encode(line)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(option), "<>&") {
		t.Errorf("not HTML-safe: %s", option)
	}
	var decoded struct {
		Series []struct{ Name string }
	}
	if err := json.Unmarshal(option, &decoded); err != nil || decoded.Series[0].Name != `</script>__f__&quot;` {
		t.Errorf("the name changed: %v, %s", err, option)
	}
	line.AddSeries("x", []opts.LineData{{Value: math.NaN()}})
	if _, err := encode(line); err == nil {
		t.Error("NaN gave no error")
	}
}

func TestLongCurvesAreBoundedInThePage(t *testing.T) {
	res := fixture(t)
	s := result.Series{Unit: "events"}
	for i := range 20_000 {
		s.T, s.V = append(s.T, float64(i)/10), append(s.V, float64(i%7))
	}
	res.Cells[0].Series[result.SeriesQueueDepth] = s
	drawing, err := encode(curveCharts("x", arrange(res).under("heavy"), mainCurves[:1], maxPoints)[0].Option)
	if err != nil {
		t.Fatal(err)
	}
	var option struct {
		Series []struct{ Data []any }
	}
	if err := json.Unmarshal(drawing, &option); err != nil {
		t.Fatal(err)
	}
	for _, s := range option.Series {
		if len(s.Data) > maxPoints {
			t.Errorf("a line has %d points", len(s.Data))
		}
	}
}

// TestThinnedCurvesSaySo: the caption names the bound, where there are more samples.
func TestThinnedCurvesSaySo(t *testing.T) {
	for samples, want := range map[int]bool{50: false, 51: true} {
		c := drained(1)
		var s result.Series
		for i := range samples {
			s.T, s.V = append(s.T, float64(i)), append(s.V, float64(i%3)+0.123456789)
		}
		c.Series = map[string]result.Series{result.SeriesQueueDepth: s}
		drawing := curveChart("x", []*row{row1(c)}, mainCurves[0], 50)
		if got := strings.Contains(drawing.Caption, "At most 50 points of a line are drawn"); got != want {
			t.Errorf("%d samples: %q", samples, drawing.Caption)
		}
		if data, err := encode(drawing.Option); err != nil || !strings.Contains(string(data), "[0,0.12346]") {
			t.Errorf("points are not rounded: %v %s", err, data)
		}
	}
	if few, many := pointsPerLine(3), pointsPerLine(450); few != maxPoints || many*450 > pagePoints {
		t.Errorf("%d points of 3 curves, %d of 450", few, many)
	}
}
