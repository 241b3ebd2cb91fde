package render

import (
	"fmt"
	"io"
	"maps"
	"slices"

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
	s := Section{Title: "Verdict per check", Table: Table{Keys: 1, Heads: Heads(append([]string{"cell"}, asked...)...)}}
	for _, c := range cells {
		row := Cells(c.ID)
		for _, g := range asked {
			x := c.Checks[g]
			v := shortVerdict(x.Verdict)
			switch {
			case x.Verdict == result.NotJudged:
				v = Cell{Text: unknown, Tone: Faint} // most scenarios leave some open
			case x.Verdict == result.NoPower:
				v.Text = noPower(x.Power, x.MinPower)
			case x.Verdict == result.Pass && len(c.InvalidReasons) > 0: // a pass proves nothing there
				v = Cell{Text: "invalid", Tone: Warn}
			case x.Verdict == result.Fail || x.Verdict == result.Allowed:
				title := fmt.Sprintf("%s %s (%d of %d)", c.ID, g, x.Violations, x.Judged)
				s.Examples = append(s.Examples, counterexamples(title, x))
			}
			row = append(row, v)
		}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	return DocumentTerminal(w, &Document{Title: plural(len(cells), "cell"), Sections: []Section{s}}, opts)
}
