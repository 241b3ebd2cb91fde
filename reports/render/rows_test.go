package render

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
)

// repeated makes one row of several repetitions.
func repeated(cells ...result.Cell) *row {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: cells}
	for i := range res.Cells {
		c := &res.Cells[i]
		c.ID, c.Repetition = fmt.Sprintf("a-r%d", i+1), i+1
		c.Params = map[string]string{result.ParamLoad: "l", result.ParamStrategy: "keyed"}
	}
	t := arrange(res)
	if len(t.rows) != 1 {
		panic("the cells are not one row")
	}
	return t.rows[0]
}

// The pairs of all repetitions decide what a row's check of order is worth; none of them
// excuses a violation, or makes a check that looked at nothing one that passed.
func TestPowerAddsUpOverRepetitions(t *testing.T) {
	of := func(verdict string, judged, power int64) result.Check {
		c := result.Check{Verdict: verdict, Judged: judged, Power: &power, MinPower: 30}
		if verdict == result.Fail {
			c.Violations = 1
		}
		return c
	}
	unknownPower := result.Check{Verdict: result.NotJudged}
	for _, tt := range []struct {
		name   string
		checks []result.Check
		want   string
	}{
		{"enough together", []result.Check{of(result.NoPower, 9, 14), of(result.NoPower, 9, 10), of(result.NoPower, 9, 6)}, "pass"},
		{"one too few", []result.Check{of(result.NoPower, 9, 14), of(result.NoPower, 9, 15)}, "no power (29 of 30)"},
		{"one looked at nothing", []result.Check{of(result.NotJudged, 0, 7), of(result.NoPower, 9, 25)}, "no power (25 of 30)"},
		{"one had nothing to look at", []result.Check{of(result.NotJudged, 0, 0), of(result.Pass, 9, 30)}, "pass"},
		{"none had", []result.Check{of(result.NotJudged, 0, 0), of(result.NotJudged, 0, 0)}, "not judged"},
		{"power of one is not known", []result.Check{of(result.Pass, 9, 30), unknownPower}, "not judged"},
		{"a violation in one", []result.Check{of(result.Pass, 9, 40), of(result.Fail, 9, 3), of(result.Pass, 9, 40)}, "FAIL"},
		{"a violation that was missed", []result.Check{of(result.Pass, 9, 40), {Verdict: result.Fail, Judged: 9, Power: new(int64(40)), MinPower: 30}}, "FAIL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var cells []result.Cell
			for _, c := range tt.checks {
				cells = append(cells, result.Cell{Valid: true, Checks: map[string]result.Check{"G4": c}})
			}
			c := repeated(cells...).checks["G4"]
			got := map[string]string{result.Pass: "pass", result.NotJudged: "not judged", result.Fail: "FAIL", result.NoPower: noPower(c.Power, c.MinPower)}[c.Verdict]
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func drained(seconds float64) result.Cell {
	return result.Cell{Valid: true, Handler: result.Handler{DrainSeconds: &seconds}, Checks: map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 1}}}
}

func withFreshness(c result.Cell, micros ...int64) result.Cell {
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	for _, m := range micros {
		if err := h.RecordValue(m); err != nil {
			panic(err)
		}
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	c.Freshness = &result.Quantiles{Count: int64(len(micros)), P99: float64(h.Max()) / 1e6, HDR: string(text)}
	return c
}

func TestRepetitionsAreSummarisedByTheMedian(t *testing.T) {
	invalid := drained(1000)
	invalid.Valid, invalid.InvalidReasons = false, []string{"lag"}
	cut := drained(90)
	cut.Cut, cut.CutFraction, cut.Handler.DrainProjected = true, 0.5, true
	unknownDrain := drained(0)
	unknownDrain.Handler.DrainSeconds = nil
	for _, tt := range []struct {
		name  string
		cells []result.Cell
		want  string
	}{
		{"one", []result.Cell{drained(3)}, "3.0"},
		{"odd", []result.Cell{drained(2.1), drained(1.9), drained(2)}, "2.0 ±33%"},
		{"even", []result.Cell{drained(1), drained(4)}, "2.5"},
		{"an invalid one is left out", []result.Cell{drained(1), invalid, drained(3)}, "2.0"},
		{"one that does not know is left out", []result.Cell{drained(1), unknownDrain}, "1.0"},
		{"none knows", []result.Cell{unknownDrain}, unknown},
		{"a projected one marks all", []result.Cell{drained(1), cut, drained(3)}, "~3.00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cellOf(figureOf(result.FigureDrain), repeated(tt.cells...).Cells).Text; got != tt.want {
				t.Errorf("drain = %q, want %q", got, tt.want)
			}
		})
	}
}

// Two repetitions with p99 of 1 s and 3 s: the average would say 2 s; half of all
// operations waited 3 s, so the merged p99 is 3 s.
func TestPercentilesAreMergedNotAveraged(t *testing.T) {
	a, b := withFreshness(drained(1), 1e6, 1e6), withFreshness(drained(1), 3e6, 3e6)
	v := figureOf(result.FigureFreshness).Over(repeated(a, b).Cells)
	if v.Value == nil || math.Abs(*v.Value-3) > 0.01 {
		t.Errorf("merged p99 = %v, want 3", v.Value)
	}
	b.Freshness.HDR = ""
	if v := figureOf(result.FigureFreshness).Over(repeated(a, b).Cells); v.Value != nil {
		t.Errorf("p99 without one histogram = %v, want unknown", *v.Value)
	}
	b.Freshness.HDR = "broken"
	if v := figureOf(result.FigureFreshness).Over(repeated(a, b).Cells); v.Value != nil {
		t.Errorf("p99 with a broken histogram = %v, want unknown", *v.Value)
	}
	if v := figureOf(result.FigureFreshness).Over(repeated(a).Cells); v.Value == nil || *v.Value != a.Freshness.P99 {
		t.Errorf("p99 of one repetition = %v, want the record's own", v.Value)
	}
}

// late is the same cell, not to be believed.
func late(c result.Cell) result.Cell {
	c.Valid, c.InvalidReasons = false, []string{"lag"}
	return c
}

func TestLossesAddUp(t *testing.T) {
	two, none, silent := drained(1), drained(1), drained(1)
	two.Events = &result.Events{Lost: new(int64(2))}
	none.Events = &result.Events{Lost: new(int64(0))}
	silent.Events = &result.Events{}
	for _, tt := range []struct {
		cells []result.Cell
		want  string
	}{
		{[]result.Cell{two, none, two}, "4"},
		{[]result.Cell{none}, "0"},
		{[]result.Cell{two, silent}, "≥ 2"},
		{[]result.Cell{silent}, unknown},
		{[]result.Cell{none, late(two)}, "2"},
		{[]result.Cell{two, late(none)}, "2"},
		{[]result.Cell{drained(1)}, unknown},
	} {
		if got := cellOf(figureOf("events.lost"), repeated(tt.cells...).Cells).Text; got != tt.want {
			t.Errorf("lost = %q, want %q", got, tt.want)
		}
	}
}

func TestWorstVerdictCounts(t *testing.T) {
	verdicts := func(vs ...string) *row {
		var cells []result.Cell
		for _, v := range vs {
			c := drained(1)
			c.Checks = map[string]result.Check{"G2": {Verdict: v, Judged: 10, Counterexample: v}}
			cells = append(cells, c)
		}
		return repeated(cells...)
	}
	for _, tt := range []struct {
		verdicts []string
		want     string
		state    state
	}{
		{[]string{result.Pass, result.Pass}, result.Pass, statePassed},
		{[]string{result.Pass, result.Fail, result.Allowed}, result.Fail, stateFailed},
		{[]string{result.Pass, result.Allowed}, result.Allowed, stateAllowed},
		{[]string{result.Pass, result.NotJudged}, result.NotJudged, stateOpen},
		{[]string{result.NotApply, result.Pass}, result.Pass, statePassed},
		{[]string{result.Pass, result.NoPower}, result.NoPower, stateOpen},
		{[]string{result.NoPower, result.Fail}, result.Fail, stateFailed},
	} {
		r := verdicts(tt.verdicts...)
		c := r.checks["G2"]
		if c.Verdict != tt.want || c.Counterexample != tt.want || r.state() != tt.state {
			t.Errorf("%v: %s with counterexample of %s, state %s; want %s, %s", tt.verdicts, c.Verdict, c.Counterexample, r.state(), tt.want, tt.state)
		}
		if c.Judged != int64(10*len(tt.verdicts)) {
			t.Errorf("%v: judged %d", tt.verdicts, c.Judged)
		}
	}
	for _, verdict := range result.Verdicts() {
		if severity(verdict) < 0 {
			t.Errorf("verdict %q has no severity", verdict)
		}
	}
}

// What could hardly have failed is neither passed nor failed, wherever it is shown.
func TestNoPower(t *testing.T) {
	c := drained(1)
	weak := result.Check{Verdict: result.NoPower, Judged: 90, Power: new(int64(12)), MinPower: 30}
	c.Checks = map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 9}, "G2": weak, "G3": weak}
	r := repeated(c)
	if got, want := r.verdict(), "pass G1, G2 G3 no power"; got != want {
		t.Errorf("the row says %q, want %q", got, want)
	}
	if n := strings.Join(r.notes(), "\n"); !strings.Contains(n, "G2 (ordered) found nothing, and has no power (12 of 30)") {
		t.Errorf("notes: %q", n)
	}
	if v := verdictCell(weak); v.Text != "no power (12 of 30)" || v.Tone != Warn {
		t.Errorf("cell: %+v", v)
	}
}

func TestRowsAreInTheScenariosOrder(t *testing.T) {
	t2 := arrange(fixture(t))
	var got []string
	for _, r := range t2.rows {
		got = append(got, r.load+"/"+r.strategy)
	}
	want := "light/single light/unordered light/dedup light/partitioned light/keyed heavy/single heavy/unordered heavy/dedup heavy/partitioned heavy/keyed"
	if strings.Join(got, " ") != want {
		t.Errorf("rows are %v", got)
	}

	res := fixture(t)
	res.Scenario["matrix"] = map[string]any{
		"watcher.strategy": []any{"keyed", "single"},
		"load":             []any{map[string]any{"name": "heavy"}, map[string]any{"name": "light"}},
	}
	if r := arrange(res).rows; r[0].title != "keyed / heavy" || r[1].title != "single / heavy" || r[2].title != "unordered / heavy" {
		t.Errorf("rows are %s, %s, %s", r[0].title, r[1].title, r[2].title)
	}
}

// A parameter that differs between cells becomes a column; numbers sort as numbers.
func TestFurtherParametersBecomeColumns(t *testing.T) {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}}
	for _, n := range []string{"30", "4", "128"} {
		c := drained(1)
		c.ID = n
		c.Params = map[string]string{result.ParamStrategy: "partitioned", result.ParamLoad: "l", "watcher.podQueueNum": n, "storage.mode": "faithful"}
		res.Cells = append(res.Cells, c)
	}
	tab := arrange(res)
	if len(tab.extra) != 1 || tab.extra[0] != "watcher.podQueueNum" {
		t.Fatalf("extra columns %v", tab.extra)
	}
	if tab.rows[0].extra[0] != "4" || tab.rows[2].extra[0] != "128" {
		t.Errorf("rows are %v, %v, %v", tab.rows[0].extra, tab.rows[1].extra, tab.rows[2].extra)
	}
	if got := benchName(tab.rows[0], 2); got != "BenchmarkScenario/load=l/strategy=partitioned/storage.mode=faithful/watcher.podQueueNum=4-2" {
		t.Errorf("benchmark name %s", got)
	}
}
