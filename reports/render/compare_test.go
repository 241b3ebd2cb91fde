package render

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
)

// changed is the fixture as another run of it, with a keyed watcher that takes a third
// more CPU, another machine, and an object that is lost.
func changed(t *testing.T, change func(*result.Results)) *result.Results {
	t.Helper()
	res := fixture(t)
	res.Run.ID, res.Run.Seed = "fixture-b", 43
	res.Run.Started = res.Run.Started.Add(72 * time.Hour)
	res.Run.Finished = res.Run.Finished.Add(72 * time.Hour)
	for i := range res.Cells {
		c := &res.Cells[i]
		k := 1 + 0.01*float64(c.Repetition-2)
		if strings.Contains(c.ID, "keyed") {
			k *= 1.3
		}
		c.Watcher.CPUMicrosPerReq, c.Watcher.CPUMicrosPerEvent = new(round(*c.Watcher.CPUMicrosPerReq*k, 2)), new(round(*c.Watcher.CPUMicrosPerEvent*k, 2))
		if c.ID == "light-keyed-r2" {
			c.Events.Lost = new(int64(3))
			c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 3, Judged: 360}
		}
	}
	if change != nil {
		change(res)
	}
	return res
}

func comparedRuns(t *testing.T, a, b gate.Run) *gate.Comparison {
	t.Helper()
	metrics, err := gate.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	c, err := gate.Compare(metrics, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompare: what came out stands first; what has no difference is left out beyond the first few, and said to be.
func TestCompare(t *testing.T) {
	c := comparedRuns(t, gate.Run{Label: "before", Results: fixture(t)}, gate.Run{Label: "after", Results: changed(t, nil)})
	formats := map[string]func(io.Writer, *gate.Comparison) error{
		"terminal": func(w io.Writer, c *gate.Comparison) error {
			return DocumentTerminal(w, Comparison(c), TerminalOptions{Width: 200})
		},
		"all": func(w io.Writer, c *gate.Comparison) error {
			return DocumentTerminal(w, Comparison(c), TerminalOptions{Explain: true})
		},
	}
	for _, f := range ComparisonFormats() {
		formats[f.Name] = f.Write
	}
	for name, wants := range map[string][]string{
		"terminal": {"compare before and after\nB fails G1 at light-keyed, A does not; B lost 3 objects", "1.300 ×", "watcher.cpuMicrosPerRequest", "more figures without a difference, or not comparable: --all"},
		"all":      {"What the runs do not share", "The other figures", "not comparable: B fails"},
		"md":       {"### Figures, most changed first", "<details><summary>The other figures"},
		"json":     {`"label": "after"`},
		"html":     {"<h2>Left out, and why</h2>"},
	} {
		var first, second bytes.Buffer
		for _, b := range []*bytes.Buffer{&first, &second} {
			if err := formats[name](b, c); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two renderings of one comparison differ", name)
		}
		for _, w := range wants {
			if !strings.Contains(first.String(), w) {
				t.Errorf("%s lacks %q:\n%.2000s", name, w, first.String())
			}
		}
	}
}

// hostileComparison has such names wherever a run can put them.
func hostileComparison(t *testing.T) *gate.Comparison {
	other := hostileRecord(t)
	other.Run.Scenario, other.Environment.CPUModel = "other"+hostile, "=1+1"+hostile
	other.Scenario = map[string]any{"load": map[string]any{hostile: hostile}}
	return comparedRuns(t, gate.Run{Label: hostile, Results: hostileRecord(t)}, gate.Run{Label: "=1+1" + hostile, Results: other})
}

// Text that came from a run is data in each format.
func TestCompareIsSafe(t *testing.T) {
	c := hostileComparison(t)
	for name, tt := range map[string]struct {
		write  func(io.Writer) error
		banned []string
	}{
		"terminal": {func(w io.Writer) error { return DocumentTerminal(w, Comparison(c), TerminalOptions{Explain: true}) }, nil},
		"md":       {func(w io.Writer) error { return DocumentMarkdown(w, Comparison(c)) }, []string{"<script", "<img", "\n__f__"}},
		"html":     {func(w io.Writer) error { return writePage(w, Comparison(c), nil) }, []string{"<script>document", "<img"}},
	} {
		var out bytes.Buffer
		if err := tt.write(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for _, b := range append(tt.banned, "\x1b", "\u202e", "\u2028") {
			if i := strings.Index(text, b); i >= 0 {
				t.Errorf("%s has %q: …%q", name, b, text[max(0, i-60):min(len(text), i+60)])
			}
		}
		if !strings.Contains(text, "pwned") {
			t.Errorf("%s does not show the name at all: the test proves nothing", name)
		}
	}
}
