package render

import (
	"encoding/json"
	"fmt"
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
	points := curve(s, maxPoints)
	if len(points) != 8 || !math.IsNaN(points[3][1]) {
		t.Fatalf("%v, want three points, a break and four", points)
	}
	if points[0][0] != -1 {
		t.Error("what happened long before the load is shown")
	}
	if got := curve(result.Series{}, 10); len(got) != 0 {
		t.Errorf("an empty series gives %v", got)
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

// TestCurves: the caption says where there are more samples than are drawn; points are rounded,
// and the figures below are those of the curve at regular times.
func TestCurves(t *testing.T) {
	for samples, want := range map[int]bool{50: false, 51: true} {
		c := drained(1)
		c.Load.DurationS = 30
		var s result.Series
		for i := range samples {
			s.T, s.V = append(s.T, float64(i)), append(s.V, float64(i%3)+0.123456789)
		}
		c.Series = map[string]result.Series{result.SeriesQueueDepth: s}
		p := curvePlots([]*row{repeated(c)}, 50)[0]
		if got := strings.Contains(p.Caption, "At most 50 points of a line are drawn"); got != want || len(p.Lines[0].Points) > 50 {
			t.Errorf("%d samples: %q, %d points", samples, p.Caption, len(p.Lines[0].Points))
		}
		data, err := p.JSON("x")
		if err != nil || !strings.Contains(string(data), "[0,0.12346]") || !strings.Contains(string(data), `"name":"load"`) {
			t.Errorf("points are not rounded, or the load is not shaded: %v %s", err, data)
		}
		if f := p.figures(); len(f.Rows) != 13 || f.Rows[0][1].Text != "0.12" {
			t.Errorf("figures %+v", f)
		}
	}
	if few, many := pointsPerLine(3), pointsPerLine(450); few != maxPoints || many*450 > pagePoints {
		t.Errorf("%d points of 3 curves, %d of 450", few, many)
	}
}

// TestLinesDiffer: no two lines of a chart look the same, however many there are and
// whichever of them fail.
func TestLinesDiffer(t *testing.T) {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}}
	for i := range 40 {
		c := drained(1)
		c.ID = fmt.Sprint(i)
		c.Params = map[string]string{result.ParamStrategy: []string{"partitioned", "keyed"}[i%2], result.ParamLoad: "l", "watcher.podQueueNum": fmt.Sprint(i / 2)}
		c.Series = map[string]result.Series{result.SeriesStorageQPS: {T: []float64{0, 1}, V: []float64{1, 2}}}
		if i%3 == 0 {
			c.Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 1}
		}
		res.Cells = append(res.Cells, c)
	}
	data, err := curvePlots(arrange(res).rows, maxPoints)[0].JSON("x")
	if err != nil {
		t.Fatal(err)
	}
	var option struct {
		Series []struct {
			Name      string
			LineStyle struct {
				Color, Type string
				Width       float64
			}
		}
	}
	if err := json.Unmarshal(data, &option); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, s := range option.Series {
		look := fmt.Sprint(s.LineStyle)
		if other := seen[look]; other != "" {
			t.Errorf("%s looks like %s: %s", s.Name, other, look)
		}
		seen[look] = s.Name
	}
	if len(option.Series) != 40 {
		t.Errorf("%d lines", len(option.Series))
	}
}
