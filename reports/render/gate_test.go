package render

import (
	"bytes"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// judged is a verdict with one finding of each outcome.
func judged() *gate.Verdict {
	ratio := func(median, low, high float64) (*stats.Ratio, stats.Interval) {
		i := stats.Interval{Low: low, High: high}
		return &stats.Ratio{Median: median, N: 6}, i
	}
	worse, worseIn := ratio(1.102, 1.081, 1.124)
	near, nearIn := ratio(1.02, 0.97, 1.07)
	exact, exactIn := ratio(2, 2, 2)
	return &gate.Verdict{
		Outcome: gate.Fail, Base: gate.BaseSide, New: gate.NewSide, Scenario: "gate", Blocked: true, Rules: gate.Defaults(),
		Invariants: []gate.Finding{
			{Point: "load=cost", Name: "G1", Outcome: gate.Pass},
			{Point: "load=cost", Name: "G2", Outcome: gate.Fail, Why: "violated in 1 of 12 cells of NEW, in none of BASE: cost-new-r3: pod-7: 9 after 11"},
			{Point: "load=cost", Name: "G4", Outcome: gate.NotJudged, Why: "on either side: no power"},
		},
		Metrics: []gate.Finding{
			{Point: "load=cost", Name: "storage.requestsPerEvent", Kind: gate.KindExact, Allow: 0.001, Outcome: gate.Fail, Why: "worse in 12 of 12 repetitions", Base: new(1.0), New: new(2.0), Ratio: exact, Interval: exactIn, N: 12},
			{Point: "load=cost", Name: "watcher.cpuMicrosPerEvent", Unit: "µs", Kind: gate.KindNoisy, Allow: 0.03, Outcome: gate.Fail, Base: new(200.0), New: new(220.4), Ratio: worse, Interval: worseIn, N: 6},
			{Point: "load=pace", Name: "freshness.p50", Unit: "s", Kind: gate.KindNoisy, Allow: 0.05, Outcome: gate.Warn, Base: new(0.05), New: new(0.051), Ratio: near, Interval: nearIn, N: 6},
			{Point: "load=pace", Name: "handler.drainSeconds", Unit: "s", Kind: gate.KindNoisy, Allow: 0.1, Outcome: gate.Inconclusive, Why: "5 whole blocks, 6 are needed", N: 5},
			{Point: "load=pace", Name: "watcher.allocsPerEvent", Kind: gate.KindNoisy, Allow: 0.03, Outcome: gate.Invalid, Why: "missing in 1 of 12 cells of NEW"},
		},
		Control: gate.Control{What: "BASE against itself", Outcome: gate.Pass},
	}
}

// TestGateFormats: what a person or a tool reads of a verdict.
func TestGateFormats(t *testing.T) {
	for name, want := range map[string][]string{
		"terminal": {"FAIL: ", "watcher.cpuMicrosPerEvent, µs", "+10.2 %", "violated in 1 of 12 cells", "BASE is base, NEW is new: both sides in one run"},
		"md":       {"**❌ FAIL: ", "| ⚠️ WARN |", "- handler.drainSeconds (load=pace): 5 whole blocks, 6 are needed"},
		"json":     {`"schema": "watchbench/gate/v1"`, `"outcome": "FAIL"`, `"ratioLow": 1.081`},
		"github":   {"::error title=watchbench gate%3A FAIL::", "::warning title=watchbench gate%3A WARN freshness.p50::"},
	} {
		var buf bytes.Buffer
		for _, f := range append(GateFormats(), Format[*gate.Verdict]{Name: "terminal", Write: gateText}) {
			if f.Name == name {
				if err := f.Write(&buf, judged()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if name == "terminal" && !strings.HasPrefix(buf.String(), "FAIL: NEW is worse") {
			t.Errorf("the verdict is not first: %.60s", buf.String())
		}
		for _, w := range want {
			if !strings.Contains(buf.String(), w) {
				t.Errorf("%s lacks %q:\n%s", name, w, buf.String())
			}
		}
	}
}

// TestGateJUnitCounts: FAIL is a failure, what could not be judged an error, never a pass.
func TestGateJUnitCounts(t *testing.T) {
	var buf bytes.Buffer
	if err := GateJUnit(&buf, judged()); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 9 || got.Failures != 3 || got.Errors != 2 || got.Skipped != 1 {
		t.Errorf("%+v", got.junitCounts)
	}
	buf.Reset()
	if err := GateJUnit(&buf, gate.Unread(gate.Defaults(), "base: the file is empty")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(buf.String(), `errors="1"`) || !strings.Contains(buf.String(), `<error message="base: the file is empty">`) {
		t.Errorf("a verdict on nothing passes:\n%s", buf.String())
	}
}

// TestGateHostileText: a counterexample cannot break out of any format.
func TestGateHostileText(t *testing.T) {
	v := judged()
	v.Invariants[1].Why = "x\n::error::gone\r\n| a | <script>alert(1)</script> @team [l](http://e) \x1b[31m ]]> %0A::set-output name=a::b"
	v.Scenario, v.Reasons = "<b>&\x1b", []string{"a\nb::c"}
	for _, f := range append(GateFormats(), Format[*gate.Verdict]{Name: "terminal", Write: gateText}) {
		var buf bytes.Buffer
		if err := f.Write(&buf, v); err != nil {
			t.Fatal(err)
		}
		text := buf.String()
		if strings.ContainsAny(text, "\x1b\r") || f.Name == "junit" && strings.Contains(text, "<script>") {
			t.Errorf("%s:\n%s", f.Name, text)
		}
		for line := range strings.Lines(text) {
			if f.Name == "github" && (!strings.HasPrefix(line, "::error title=watchbench gate") && !strings.HasPrefix(line, "::warning title=watchbench gate") || strings.Contains(line, "]> %0A")) {
				t.Errorf("a line of annotations: %q", line)
			}
			if f.Name == "md" && strings.Contains(line, "<script") || f.Name == "md" && strings.Contains(line, "@team") {
				t.Errorf("Markdown: %q", line)
			}
		}
		if f.Name == "junit" {
			if err := xml.Unmarshal(buf.Bytes(), &junitSuites{}); err != nil {
				t.Errorf("JUnit: %v", err)
			}
		}
	}
}

// TestBenchstatComparesSides: plain benchstat base.txt new.txt has both sides of a paired
// run in one table and one row, whatever the watchers are called.
func TestBenchstatComparesSides(t *testing.T) {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "a", Scenario: "gate"}, Environment: result.Environment{GoVersion: "go1.26.0", Provider: "replay", CPUModel: "X", CPUs: 2}}
	for i, side := range []string{gate.BaseSide, gate.NewSide, gate.NewSide, gate.BaseSide} {
		c := drained(3)
		c.ID, c.Repetition, c.Handler.Strategy, c.Watcher.Name = side+string(rune('1'+i)), i/2+1, result.External, side
		c.Watcher.CPUMicrosPerEvent = new(200.0)
		c.Params = map[string]string{result.ParamLoad: "cost", gate.Axis: side}
		res.Cells = append(res.Cells, c)
	}
	keys := func(side string) (all []string) {
		var buf bytes.Buffer
		if err := Bench(&buf, gate.Side(res, side)); err != nil {
			t.Fatal(err)
		}
		filter, err := benchproc.NewFilter("*")
		if err != nil {
			t.Fatal(err)
		}
		var p benchproc.ProjectionParser // benchstat's own defaults
		table, err := p.Parse(".config", filter)
		if err != nil {
			t.Fatal(err)
		}
		row, err := p.Parse(".fullname", filter)
		if err != nil {
			t.Fatal(err)
		}
		for r := benchfmt.NewReader(&buf, "x.txt"); r.Scan(); {
			switch rec := r.Result().(type) {
			case *benchfmt.Result:
				all = append(all, table.Project(rec).String()+" "+row.Project(rec).String())
			case *benchfmt.SyntaxError:
				t.Errorf("not the Go benchmark format: %v", rec)
			}
		}
		return all
	}
	base, changed := keys(gate.BaseSide), keys(gate.NewSide)
	if len(base) != 2 || len(changed) != 2 || !slices.Equal(base, changed) {
		t.Errorf("benchstat would not compare\n%q\n%q", base, changed)
	}
	if res.Cells[0].Params[gate.Axis] != gate.BaseSide || res.Cells[0].Watcher.Name != gate.BaseSide {
		t.Error("the run itself was changed")
	}
}

func gateText(w io.Writer, v *gate.Verdict) error {
	return GateTerminal(w, v, TerminalOptions{Width: 120})
}

// TestGateUnbuiltComparesNothing: where a side does not build there are no two saved runs.
func TestGateUnbuiltComparesNothing(t *testing.T) {
	var buf bytes.Buffer
	if err := GateTerminal(&buf, gate.Unbuilt(gate.Defaults(), "", "HEAD: x.go:1: undefined: y"), TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(buf.String(), "saved runs") {
		t.Error(buf.String())
	}
}
