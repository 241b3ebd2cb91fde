package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
)

// renamed gives every strategy, load, point and cell of a record a longer name.
func renamed(res *result.Results, suffix string) *result.Results {
	for i := range res.Cells {
		c := &res.Cells[i]
		c.ID += suffix
		c.Handler.Strategy += suffix
		for k := range c.Params {
			c.Params[k] += suffix
		}
	}
	return res
}

// everyTable prints what the commands print, with names of the given end.
func everyTable(t *testing.T, suffix string) map[string]func(io.Writer, TerminalOptions) error {
	run := func(made func() *result.Results) func(io.Writer, TerminalOptions) error {
		return func(w io.Writer, o TerminalOptions) error { return Terminal(w, renamed(made(), suffix), o) }
	}
	return map[string]func(io.Writer, TerminalOptions) error{
		"run":    run(func() *result.Results { return fixture(t) }),
		"sizing": run(func() *result.Results { return sized(paced{"partitioned", "10", 81, 9, 1}) }),
		"sweep":  run(func() *result.Results { return swept("watcher.podQueueNum", "1", "5", "20") }),
		"beside": run(func() *result.Results { return besides() }),
		"checks": func(w io.Writer, o TerminalOptions) error { return Checks(w, renamed(fixture(t), suffix).Cells, o) },
		"matrix": func(w io.Writer, o TerminalOptions) error {
			m := matrixOfAll()
			for i := range m.Entries {
				m.Entries[i].Scenario += suffix
			}
			return MatrixTerminal(w, m, o)
		},
		"gate": func(w io.Writer, o TerminalOptions) error {
			v := judged()
			for _, all := range [][]gate.Finding{v.Metrics, v.Invariants, v.Control.Findings} {
				for i := range all {
					all[i].Point += suffix
				}
			}
			return GateTerminal(w, v, o)
		},
		"compare": func(w io.Writer, o TerminalOptions) error { return CompareTerminal(w, two(t), o) },
		"tune":    func(w io.Writer, o TerminalOptions) error { return DocumentTerminal(w, TuningDocument(tuning()), o) },
		"document": func(w io.Writer, o TerminalOptions) error {
			d := document()
			for i := range d.Sections {
				for j := range d.Sections[i].Table.Rows {
					d.Sections[i].Table.Rows[j][0].Text += suffix
				}
			}
			return DocumentTerminal(w, d, o)
		},
	}
}

// letters are those of a text, without what drawing it adds or moves.
func letters(s string) (n map[rune]int) {
	n = map[rune]int{}
	for _, r := range s {
		if !strings.ContainsRune(" \n─│", r) {
			n[r]++
		}
	}
	return n
}

// TestEveryTableFits: no line is wider than the terminal, whatever the names. Nothing is cut:
// each letter of the widest print is there.
func TestEveryTableFits(t *testing.T) {
	for _, suffix := range []string{"", "-" + strings.Repeat("long", 15), "監視" + strings.Repeat("記憶", 13), strings.Repeat("e\u0301", 60)} {
		for name, write := range everyTable(t, suffix) {
			var all bytes.Buffer
			if err := write(&all, TerminalOptions{Explain: true}); err != nil {
				t.Fatal(err)
			}
			for _, width := range []int{80, 120, 200} {
				var out bytes.Buffer
				if err := write(&out, TerminalOptions{Explain: true, Width: width}); err != nil {
					t.Fatal(err)
				}
				said := 0
				for l := range strings.Lines(out.String()) {
					l = strings.TrimRight(l, "\n")
					if n := terminal.Columns(l); n > width && strings.Contains(strings.TrimSpace(l), " ") {
						if said++; said < 3 {
							t.Errorf("%s%.6s: %d columns of %d: %s", name, suffix, n, width, l)
						}
					}
				}
				if strings.Contains(out.String(), "INVALID, see below") || strings.Contains(out.String(), "…") {
					continue // said, and below
				}
				have := letters(out.String())
				for r, n := range letters(all.String()) {
					if have[r] < n {
						t.Errorf("%s%.6s at %d lacks %d of %q", name, suffix, width, n-have[r], r)
						break
					}
				}
			}
		}
	}
}

// TestNoColorNoEscape: without colour there is no escape byte, with it only SGR sequences.
func TestNoColorNoEscape(t *testing.T) {
	for name, write := range everyTable(t, "\x1b[2J") {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			if err := write(&out, TerminalOptions{Color: color, Width: 80}); err != nil {
				t.Fatal(err)
			}
			s := out.String()
			for _, sgr := range []string{ansiReset, ansiBold, ansiDim, ansiRed, ansiGreen, ansiYellow} {
				if color {
					s = strings.ReplaceAll(s, sgr, "")
				}
			}
			if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }); i >= 0 {
				t.Errorf("%s, colour %v: %q", name, color, fmt.Sprintf("%.30s", s[i:]))
			}
		}
	}
}
