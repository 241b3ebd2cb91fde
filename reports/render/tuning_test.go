package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

func tuning() *result.Tuning {
	figures := result.TunedFigures{Events: 4012, Requests: 4012}
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	cell := func(valid bool) result.TunedCell { return result.TunedCell{Valid: valid, Figures: figures} }
	return &result.Tuning{
		Schema: result.TuningSchema, Started: at, Finished: at.Add(200 * time.Second), Scenario: "tune", Provider: "replay",
		Asked:     []result.TuningFact{{Name: "load", Value: "200 writes/s for 20s"}},
		Objective: result.TuningObjective{Text: "freshness.p99=2s", Metric: "freshness.p99", Bound: 2},
		Met:       true, Sentence: "12 requests at once are enough.", Best: 1, RunnerUp: 3, Original: 4,
		Candidates: []result.TunedCandidate{
			{Setting: result.Setting{Strategy: "keyed", Queues: 8, HandlerLen: 512}, Value: new(3.1), Verdict: result.TunedUnmeasured},
			{Setting: result.Setting{Strategy: "keyed", Queues: 12, HandlerLen: 512}, Value: new(0.85), Measured: new(0.93), Error: new(0.094), Cells: []result.TunedCell{cell(true), cell(false), cell(true)}, Predicted: figures, Verdict: result.TunedHolds},
			{Setting: result.Setting{Strategy: "keyed", Queues: 16, HandlerLen: 512}, Value: new(0.7), Verdict: result.TunedUnmeasured},
			{Setting: result.Setting{Strategy: "dedup", Queues: 10, HandlerLen: 256}, Value: new(0.6), Measured: new(2.4), Cells: []result.TunedCell{{Valid: true, Figures: figures}}, Verdict: result.TunedFails},
			{Setting: result.Setting{Strategy: "partitioned", Queues: 30, HandlerLen: 256}, Cells: []result.TunedCell{cell(true)}, Verdict: result.TunedWrong, Excluded: "fails G1"},
		},
		Why:       []result.TuningFact{{Name: "Little's law", Value: "200 requests a second keep 17 in flight"}},
		Fragments: []result.TuningFragment{{File: "k8s-watch.json", For: "k8s-watch", Text: "{\n  \"bcs\": {}\n}\n"}, {File: "bcs-k8s-watch.json", For: "bcs-k8s-watch", Text: "{}\n", Note: "predicted only"}},
		Notes:     []string{"a note"}, Simulated: 300, Measured: 5,
	}
}

func TestTuningPage(t *testing.T) {
	var b bytes.Buffer
	if err := DocumentHTML(&b, TuningDocument(tuning())); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"12 requests at once are enough.", "recommended", "fails G1", `<pre class="settings">{`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if n := strings.Count(page, `id="settings"`); n != 1 { // the script's own
		t.Errorf("%d elements have the id settings", n)
	}
	none := tuning()
	none.Met, none.Best, none.RunnerUp, none.Original, none.Candidates, none.Fragments = false, -1, -1, -1, nil, nil
	b.Reset()
	if err := DocumentHTML(&b, TuningDocument(none)); err != nil {
		t.Fatal(err)
	}
}
