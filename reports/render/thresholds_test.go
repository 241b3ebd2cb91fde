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
	const sentence = "Of 6 thresholds, 2 failed: partitioned-10 freshness.p99 is 9s, bound < 1s; partitioned-10 pace.growthQPS is 81/s, bound < 10/s."
	for _, tt := range []struct {
		format string
		want   []string
	}{
		{"terminal", []string{sentence, "partitioned-10 freshness.p99 < 1s 9s FAILS", "not judged: no valid cell"}},
		{"md", []string{"### Thresholds", "**FAILS**", "keyed-20"}},
		{"html", []string{"<h2>Thresholds</h2>", `banner failed">Of 6 thresholds, 2 failed`, `bad">FAILS</td>`, `good">holds</td>`}},
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
