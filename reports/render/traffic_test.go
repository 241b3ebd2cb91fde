package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// profiledRun has two strategies under one profile, whose figures add up, an invalid cell that
// counts for nothing, and a load of plain pods.
func profiledRun() *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "churn"}}
	for _, s := range []string{"keyed", "dedup", "single", "plain"} {
		c := result.Cell{
			ID: s, Valid: true, Params: map[string]string{result.ParamStrategy: s, result.ParamLoad: "busy"}, Handler: result.Handler{DrainSeconds: new(9.0)},
			Load: result.Load{Model: result.ModelOpen, DurationS: 10, QPS: 100}, Checks: map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 3}},
			Traffic: &result.Traffic{
				Profile: "service-churn", PodLives: 10,
				Kinds: map[string]result.KindTraffic{
					"Pod":           {Added: 10, Modified: 75, Deleted: 10, Expected: new(100.0), PerPod: new(9.5), Puts: 90, Bytes: new(12_000.0), ExpectedBytes: new(12_345.0)},
					"Event":         {Added: 60, Modified: 22, Expected: new(80.0), PerPod: new(8.2), Puts: 80, Bytes: new(1300.0)},
					"EndpointSlice": {Expected: new(20.0), PerPod: new(0.0)},
					"Lease":         {Modified: 50, Expected: new(40.0), Puts: 10, Bytes: new(860.0), ExpectedBytes: new(860.0)},
					"Gadget":        {Modified: 3},
				},
			},
		}
		switch s {
		case "dedup": // merged half of the Pods' states away
			k := c.Traffic.Kinds["Pod"]
			k.Puts, k.Bytes = 30, new(16_000.0)
			c.Traffic.Kinds["Pod"] = k
		case "single":
			c.Valid, c.InvalidReasons, c.Traffic.PodLives = false, []string{"late"}, 1e6
		case "plain":
			c.Traffic, c.Params[result.ParamLoad] = nil, "plain"
		}
		res.Cells = append(res.Cells, c)
	}
	return res
}

func TestTraffic(t *testing.T) {
	var terminal, markdown, page bytes.Buffer
	for _, err := range []error{Terminal(&terminal, profiledRun(), TerminalOptions{}), Markdown(&markdown, profiledRun()), writePage(&page, Run(profiledRun()), nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var lines []string // with single blanks
	for l := range strings.Lines(terminal.String()) {
		lines = append(lines, strings.Join(strings.Fields(l), " "))
	}
	// Of Pods storage received 90 × 12 KB and 30 × 16 KB.
	want := []string{
		"Pod service-churn busy 20 150 20 9.50 10.00 95 13.00 12.35",
		"Event service-churn busy 120 44 0 8.20 8.00 102 1.30 –",
		"EndpointSlice service-churn busy 0 0 0 0.00 2.00 0 – –",
		"Lease service-churn busy 0 100 0 – – 125 0.86 0.86",
		"Gadget service-churn busy 0 6 0 – – – – –",
	}
	text := strings.Join(lines, "\n")
	for _, w := range append(want, "Events per kind") {
		if !strings.Contains(text, w) {
			t.Errorf("the terminal lacks %q:\n%s", w, terminal.String())
		}
	}
	for _, w := range []string{"### Events per kind", "| Pod | service-churn | busy | 20 | 150 | 20 | 9.50 | 10.00 | 95 | 13.00 | 12.35 |", "what the plan has"} {
		if !strings.Contains(markdown.String(), w) {
			t.Errorf("Markdown lacks %q:\n%s", w, markdown.String())
		}
	}
	for _, w := range []string{`<a href="#traffic">`, `<section id="traffic">`, ">13.00</td>", "what the plan has"} {
		if !strings.Contains(page.String(), w) {
			t.Errorf("the page lacks %q", w)
		}
	}
}
