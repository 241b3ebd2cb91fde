package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
)

// millis is a distribution of values in ms.
func millis(t *testing.T, values ...float64) *result.Quantiles {
	t.Helper()
	h := hdrhistogram.New(1, 3600e6, 3)
	for _, v := range values {
		if err := h.RecordValue(int64(v * 1000)); err != nil {
			t.Fatal(err)
		}
	}
	hdr, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return &result.Quantiles{Count: h.TotalCount(), HDR: string(hdr)}
}

func storm(t *testing.T) *result.Results {
	var many []float64
	for i := range 200 {
		many = append(many, float64(i+1))
	}
	cell := func(point string, rep int) result.Cell {
		c := result.Cell{
			ID: fmt.Sprintf("%s-r%d", point, rep), Valid: true, Repetition: rep, Params: map[string]string{"readers": point}, Load: result.Load{Model: result.ModelOpen},
			Handler: result.Handler{Strategy: "keyed"}, Freshness: &result.Quantiles{Count: 200, P99: 0.1},
		}
		c.Watcher.CPUCores = new(0.2)
		return c
	}
	none, some, again := cell("none", 1), cell("watcher", 1), cell("watcher", 2)
	again.Readers = nil
	some.Readers = &result.Readers{
		From:     "watcher",
		Get:      &result.Queries{Planned: 1000, Done: 990, Errors: map[string]int64{"429": 7, "timeout": 3}, QPS: new(99.0), FromIntent: millis(t, many...)},
		List:     &result.Queries{Planned: 10, Done: 10, QPS: new(1.0), FromIntent: millis(t, 4, 5)},
		Watches:  &result.Watches{Count: 5, Changes: 20, Events: 99, Missed: 1, LagMs: millis(t, many...)},
		Webhooks: &result.Webhooks{Receivers: 3, Changes: 20, Attempts: 80, Delivered: 50, LagMs: millis(t, 3)},
	}
	some.Storage.Digest = "d"
	some.Freshness = &result.Quantiles{Count: 200, P99: 0.15}
	second := some
	second.ID, second.Repetition = "watcher-r2", 2
	none2 := cell("none", 2)
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "readers"}, Cells: []result.Cell{none, some, none2, second}}
	res.CompareReaders()
	return res
}

func TestReaders(t *testing.T) {
	s := arrange(storm(t)).readers().Table
	var lines []string
	for _, r := range s.Rows {
		var cells []string
		for _, c := range r[3:] {
			cells = append(cells, c.Text)
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	want := []string{
		"watcher|GET|2000|1980|99|100.03|180.09|198.01|200.06|429: 14, timeout: 6",
		"watcher|LIST|20|20|1|4.00|5.00|–|5.00|none",
		"watcher|watch|200|198|–|100.03|180.09|198.01|200.06|missed: 2",
		"watcher|webhook|120|120|–|3.00|3.00|–|3.00|none",
	}
	for i := range want {
		if len(lines) != len(want) || lines[i] != want[i] {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	}
}
