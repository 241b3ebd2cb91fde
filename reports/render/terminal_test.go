package render

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/watchbench/watchbench/reports/result"
)

// TestTerminalFits: no line is wider than the terminal, but for a word that is; nothing is
// lost to that.
func TestTerminalFits(t *testing.T) {
	matrix := &result.Matrix{Entries: []result.MatrixEntry{{Row: "F22", Scenario: "faults/f22-customs", Invalid: []string{strings.Repeat("why ", 60)}}}}
	for name, write := range map[string]func(*bytes.Buffer, TerminalOptions) error{
		"table": func(b *bytes.Buffer, o TerminalOptions) error { return Terminal(b, fixture(t), o) },
		"sizing": func(b *bytes.Buffer, o TerminalOptions) error {
			return Terminal(b, sized(paced{"partitioned", "10", 81, 9, 1}), o)
		},
		"checks": func(b *bytes.Buffer, o TerminalOptions) error { return Checks(b, fixture(t).Cells, o) },
		"matrix": func(b *bytes.Buffer, o TerminalOptions) error { return MatrixTerminal(b, matrix, o) },
	} {
		for _, width := range []int{80, 120} {
			var wide, fits bytes.Buffer
			if err := write(&wide, TerminalOptions{Explain: true}); err != nil {
				t.Fatal(err)
			}
			if err := write(&fits, TerminalOptions{Explain: true, Width: width}); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(fits.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > width {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, l)
				}
			}
			has := map[string]bool{}
			for _, w := range strings.Fields(fits.String()) {
				has[w] = true
			}
			for _, w := range strings.Fields(wide.String()) {
				if !has[w] && w != "INVALID:" && w != "below" && strings.Trim(w, "─") != "" { // whose reason is below
					t.Errorf("%s at %d lacks %q", name, width, w)
				}
			}
		}
	}
}

// TestOutcomeIsLast: the answer and the outcome are the last lines, and what explains the
// figures does not bury them unless it is asked for.
func TestOutcomeIsLast(t *testing.T) {
	var out, explained bytes.Buffer
	if err := Terminal(&out, fixture(t), TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Terminal(&explained, fixture(t), TerminalOptions{Explain: true}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []string{out.String(), explained.String()} {
		lines := strings.Split(strings.TrimSpace(o), "\n")
		last := strings.Join(lines[len(lines)-3:], "\n")
		if !strings.Contains(last, "Not correct: partitioned under light") || !strings.Contains(last, "\nOf 10 points: ") {
			t.Errorf("the last lines are\n%s", last)
		}
	}
	const method = "One machine carries all parts"
	if strings.Contains(out.String(), method) || !strings.Contains(explained.String(), method) {
		t.Error("the method is printed without being asked for, or not where it is")
	}
}
