package render

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestThresholdsAreShown in every format that people read, and as cases that fail.
func TestThresholdsAreShown(t *testing.T) {
	res := sized(paced{"partitioned", "10", 81, 9, 1}, paced{"keyed", "20", 0, 0.6, 1})
	unjudged := res.Cells[1]
	unjudged.ID, unjudged.Valid, unjudged.InvalidReasons = "late", false, []string{"the generator was late"}
	unjudged.Params = map[string]string{result.ParamStrategy: "single"}
	res.Cells = append(res.Cells, unjudged)
	res.Scenario["thresholds"] = map[string]any{"freshness.p99": "< 1s", "pace.growthQPS": "< 10/s"}
	if err := res.JudgeThresholds(); err != nil {
		t.Fatal(err)
	}
	const sentence = "Of 6 thresholds, 2 failed: partitioned-10 freshness.p99 is 9s, bound < 1s; partitioned-10 pace.growthQPS is 81/s, bound < 10/s. Not judged: 2."
	for _, tt := range []struct {
		format string
		want   []string
	}{
		{"terminal", []string{sentence, "partitioned-10 freshness.p99 < 1s 9s FAILS", "not judged: no valid cell"}},
		{"md", []string{"### Thresholds", "❌ FAILS", "keyed-20"}},
		{"html", []string{"<h2>Thresholds</h2>", `banner bad">Of 6 thresholds, 2 failed`, `bad">FAILS</td>`, `good">holds</td>`}},
	} {
		var out bytes.Buffer
		write := func(w io.Writer, res *result.Results) error { return Terminal(w, res, TerminalOptions{}) }
		if f, err := FormatByName(tt.format); err == nil {
			write = f.Write
		}
		if err := write(&out, res); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", tt.format, want)
			}
		}
	}
	var out bytes.Buffer
	if err := JUnit(&out, res); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	last := got.Suites[len(got.Suites)-1]
	if last.Name != "thresholds" || last.Tests != 6 || last.Failures != 2 || last.Skipped != 2 {
		t.Errorf("%+v", last)
	}
}

// TestOnlyJudgedBoundsAreGreen: what was not judged, or not run, is no pass.
func TestOnlyJudgedBoundsAreGreen(t *testing.T) {
	good, invalid := paced{"keyed", "20", 0, 0.6, 1}, func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} }
	for _, tt := range []struct {
		name string
		res  *result.Results
		want string
	}{
		{"all hold", sized(good), `banner good">Of 1 threshold, none failed.<`},
		{"one fails", sized(good, paced{"keyed", "10", 0, 6, 1}), `banner bad">Of 2 thresholds, 1 failed`},
		{"none is judged", change(sized(good), "keyed", invalid), `banner warned">Of 1 threshold, none was judged.<`},
		{"one is not judged", change(sized(good, paced{"dedup", "20", 0, 0.6, 1}), "dedup", invalid), `banner warned">Of 2 thresholds, none failed. Not judged: 1.<`},
		{"a point is missing", change(sized(good), "keyed", func(*result.Cell) {}), `banner warned">Of 1 threshold, none failed.<`},
	} {
		tt.res.Scenario["thresholds"] = map[string]any{"freshness.p99": "< 1s"}
		if tt.name == "a point is missing" {
			tt.res.Run.Order = []string{tt.res.Cells[0].ID, "keyed-30"}
		}
		if err := tt.res.JudgeThresholds(); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := HTML(&out, tt.res); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), tt.want) {
			_, have, _ := strings.Cut(out.String(), `threshold`)
			t.Errorf("%s lacks %s, has %.200s", tt.name, tt.want, have)
		}
	}
}

// TestNothingIsNotGreen: a run without cells passed nothing.
func TestNothingIsNotGreen(t *testing.T) {
	res := sized()
	res.Run.Order = []string{"keyed-20"}
	if o := arrange(res).outcome(); o == statePassed {
		t.Errorf("a run without cells is %s", o)
	}
	res = sized(paced{"keyed", "20", 0, 0.6, 1})
	for g := range res.Cells[0].Checks {
		res.Cells[0].Checks[g] = result.Check{Verdict: result.Pass, Judged: 9}
	}
	if o := arrange(res).outcome(); o != statePassed {
		t.Errorf("a whole run is %s", o)
	}
	if res.Run.Order = []string{"keyed-20", "keyed-30"}; arrange(res).outcome() == statePassed {
		t.Error("a run that lacks a cell is passed")
	}
}
