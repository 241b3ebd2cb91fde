package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// areas are the shaded parts of a chart, as "name from-to".
func areas(t *testing.T, c *chart) (all []string) {
	t.Helper()
	data, err := encode(c.Option)
	if err != nil {
		t.Fatal(err)
	}
	var option struct {
		Series []struct {
			MarkArea struct {
				Data [][2]struct {
					Name  string
					XAxis *float64
				}
			}
		}
	}
	if err := json.Unmarshal(data, &option); err != nil {
		t.Fatal(err)
	}
	for _, s := range option.Series {
		for _, a := range s.MarkArea.Data {
			all = append(all, fmt.Sprintf("%s %v-%v", a[0].Name, *a[0].XAxis, *a[1].XAxis))
		}
	}
	return all
}

// TestPhasesAreShaded: load and drain, as far as they are known and the curve reaches.
func TestPhasesAreShaded(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*result.Cell)
		want   string
	}{
		"load and drain":  {func(*result.Cell) {}, "load 0-5; drain 5-8"},
		"no drain":        {func(c *result.Cell) { c.Handler.DrainAfterLoad = new(-0.1) }, "load 0-5"},
		"drain not known": {func(c *result.Cell) { c.Handler.DrainAfterLoad = nil }, "load 0-5"},
		"cut": {func(c *result.Cell) {
			c.Handler.DrainProjected, c.Cut, c.Handler.DrainAfterLoad = true, true, new(400.0)
		}, "load 0-5; drain 5-10"},
		"load not known":     {func(c *result.Cell) { c.Load.DurationS = 0 }, ""},
		"longer than curves": {func(c *result.Cell) { c.Load.DurationS = 60 }, "load 0-10"},
	} {
		c := drained(1)
		c.Load.DurationS, c.Handler.DrainAfterLoad = 5, new(3.0)
		s := result.Series{Unit: "events"}
		for i := range 12 {
			s.T, s.V = append(s.T, float64(i)-1), append(s.V, 1)
		}
		c.Series = map[string]result.Series{result.SeriesQueueDepth: s}
		x.change(&c)
		if got := strings.Join(areas(t, curveChart("x", []*row{row1(c)}, mainCurves[0], maxPoints)), "; "); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	for _, l := range arrange(fixture(t)).Loads() {
		for _, c := range append(l.Main, l.More...) {
			if strings.Contains(c.ID, "-curve-") && len(areas(t, c)) == 0 {
				t.Errorf("%s has no phases", c.ID)
			}
		}
	}
}
