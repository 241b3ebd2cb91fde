package render

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Checks prints one line per cell with the verdict on every guarantee, then what the
// failures are about.
func Checks(w io.Writer, cells []result.Cell, opts TerminalOptions) error {
	names := map[string]result.Check{}
	for _, c := range cells {
		maps.Copy(names, c.Checks)
	}
	asked := slices.SortedFunc(maps.Keys(names), compareNatural)
	s := sheet{Keys: 1, Heads: words("cell")}
	for _, g := range asked {
		s.Heads = append(s.Heads, words(clean(g))...)
	}
	for _, c := range cells {
		l := sheetRow{Cells: []cell{{Text: clean(c.ID)}}}
		for _, g := range asked {
			v := shortVerdict(c.Checks[g].Verdict)
			switch c.Checks[g].Verdict {
			case result.NotJudged:
				v = cell{Text: unknown, tone: faint} // most scenarios leave some open
			case result.NoPower:
				v.Text = noPower(c.Checks[g].Power, c.Checks[g].MinPower)
			case result.Pass:
				if len(c.InvalidReasons) > 0 { // a pass proves nothing there
					v = cell{Text: "invalid", tone: warn}
				}
			}
			l.Cells = append(l.Cells, v)
		}
		s.Rows = append(s.Rows, l)
	}
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	p.sheet(s)
	for _, c := range cells {
		for _, g := range asked {
			if x := c.Checks[g]; x.Verdict == result.Fail || x.Verdict == result.Allowed {
				p.line("", "%s %s (%d of %d): %s", clean(c.ID), clean(g), x.Violations, x.Judged, strings.ReplaceAll(counterexamples(x, shownExamples), "\n", "\n    "))
			}
		}
	}
	return p.w.Flush()
}

// shortVerdict is a verdict in a word or sign.
func shortVerdict(verdict string) cell {
	switch verdict {
	case result.Pass:
		return cell{Text: "pass", tone: good}
	case result.Fail:
		return cell{Text: "FAIL", tone: bad}
	case result.Allowed:
		return cell{Text: "fail*", tone: warn}
	case result.NoPower:
		return cell{Text: "no power", tone: warn}
	case result.NotJudged:
		return cell{Text: "?", tone: warn}
	}
	return cell{Text: "n/a", tone: faint}
}

// noPower is that verdict with its figure: how many pairs could have gone wrong, of how
// many at least.
func noPower(power *int64, least int64) string {
	if power == nil {
		return "no power"
	}
	return fmt.Sprintf("no power (%d of %d)", *power, least)
}
