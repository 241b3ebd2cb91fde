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
		"12 requests at once are enough.", "recommended", "fails G1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	none := tuning()
	none.Met, none.Best, none.RunnerUp, none.Original, none.Candidates, none.Fragments = false, -1, -1, -1, nil, nil
	b.Reset()
	if err := DocumentHTML(&b, TuningDocument(none)); err != nil {
		t.Fatal(err)
	}
}

// TestTuningHostile: names from a scenario or a recording are data.
func TestTuningHostile(t *testing.T) {
	const evil = "</script><script>alert(1)</script>\x1b[31m|[x](http://e)"
	d := tuning()
	d.Sentence, d.Scenario, d.Provider, d.Asked[0].Value, d.Notes[0] = evil, evil, evil, evil, evil
	d.Why[0].Value, d.Fragments[0].Text, d.Objective.Text, d.Candidates[4].Excluded, d.Candidates[1].Strategy = evil, evil, evil, evil, evil
	d.Rates = []result.TunedRate{{Sentence: evil}}
	var page, md, terminal bytes.Buffer
	doc := TuningDocument(d)
	for _, err := range []error{DocumentHTML(&page, doc), DocumentMarkdown(&md, doc), DocumentTerminal(&terminal, doc, TerminalOptions{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]string{"page": page.String(), "Markdown": md.String(), "terminal": terminal.String()} {
		for _, bad := range []string{"<script>alert", "\x1b", "[x](http"} {
			if name != "Markdown" && bad == "[x](http" || name == "terminal" && bad == "<script>alert" {
				continue // means nothing there
			}
			if strings.Contains(got, bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
}
