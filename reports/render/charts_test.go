package render

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

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
	data, err := encode(curveChart("x", arrange(res).rows, mainCurves[1], maxPoints).Option)
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
