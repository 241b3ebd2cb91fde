package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/watchbench/watchbench/internal/terminal"
)

// wrap breaks a line between words so that it fits the width; further lines are indented as
// the first, and by two more. A word that is wider stays whole. 0 is any width.
func wrap(s string, width int) []string {
	if width <= 0 || terminal.Columns(s) <= width {
		return []string{s}
	}
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	var lines []string
	line, used := indent, 0
	for _, word := range strings.Fields(s) {
		if used > 0 && terminal.Columns(line)+1+terminal.Columns(word) > width {
			lines, line, used = append(lines, line), indent+"  ", 0
		}
		if used > 0 {
			line += " "
		}
		line, used = line+word, used+1
	}
	return append(lines, line)
}

// broken divides a word that is wider than a column, behind a sign in its second half if there
// is one.
func broken(s string, width int) (lines []string) {
	for terminal.Columns(s) > width {
		at, sign, used := 0, 0, 0
		for i, r := range s {
			if used += terminal.Columns(string(r)); used > width && i > 0 {
				break
			}
			at = i + utf8.RuneLen(r)
			if strings.ContainsRune("-./_=,:", r) && 2*used > width {
				sign = at
			}
		}
		if sign > 0 {
			at = sign
		}
		lines, s = append(lines, s[:at]), s[at:]
	}
	return append(lines, s)
}

// The widths to which a column of words, and a key, are narrowed at most.
const (
	leastWords = 16
	leastKey   = 6
)

// narrow leaves out the columns for which a terminal has no room whatever its width.
func (t Table) narrow() Table {
	wide := func(i int) bool { return i < len(t.Heads) && t.Heads[i].Wide }
	var n Table
	for i, h := range t.Heads {
		if wide(i) {
			continue
		}
		n.Heads = append(n.Heads, h)
		if i < t.Keys {
			n.Keys++
		}
	}
	for _, r := range t.Rows {
		var cells []Cell
		for i, c := range r {
			if !wide(i) {
				cells = append(cells, c)
			}
		}
		n.Rows = append(n.Rows, cells)
	}
	return n
}

// fit divides a table into parts that the width has room for, each with the keys of the
// lines. Words that are too wide for that are wrapped.
func (t Table) fit(width int) []Table {
	if width <= 0 || t.width() <= width {
		return []Table{t}
	}
	for i, w := range t.keyWidths(width) {
		t = t.narrowed(i, w)
	}
	left := width - t.columns(0, t.Keys).width()
	for i := t.Keys; i < len(t.Heads); i++ {
		t = t.narrowed(i, max(leastWords, left-t.gap(i)))
	}
	widths := t.widths()
	var parts []Table
	for from := t.Keys; from < len(t.Heads); {
		to, room := from, left
		for to < len(t.Heads) && (to == from || room >= widths[to]+t.gap(to)) {
			room -= widths[to] + t.gap(to)
			to++
		}
		parts = append(parts, t.columns(from, to))
		from = to
	}
	return parts
}

// keyWidths narrows the keys so that the other columns get room: to a quarter each, or the
// longest word, and the widest ones further until the keys fit.
func (t Table) keyWidths(width int) []int {
	keys := t.columns(0, t.Keys)
	widths, least := keys.widths(), Table{Heads: keys.Heads}.widths()
	total := 0
	for i := range widths {
		if t.Heads[i].Words {
			widths[i] = min(widths[i], max(leastWords, width/4, t.longestWord(i)))
		} else {
			least[i] = widths[i]
		}
		total += widths[i] + t.gap(i)
	}
	for total > width*6/10 {
		widest := -1
		for i, w := range widths {
			if w > max(leastKey, least[i]) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

// longestWord is the width of that in a column.
func (t Table) longestWord(column int) (n int) {
	for _, r := range t.Rows {
		for w := range strings.FieldsSeq(r[column].Text) {
			n = max(n, terminal.Columns(w))
		}
	}
	return n
}

// gap is the space around a column.
func (t Table) gap(i int) int {
	if t.Heads[i].Divide {
		return 4
	}
	return 2
}

// widths returns the width of each column; a cell that spans the rest does not count.
func (t Table) widths() []int {
	widths := make([]int, len(t.Heads))
	for i, h := range t.Heads {
		lines := []string{h.Title, h.Unit}
		// Two words are stacked rather than side by side.
		if above, below, two := strings.Cut(h.Title, " "); two && h.Unit != "" {
			lines = []string{above, below, h.Unit}
		}
		for _, r := range t.Rows {
			if i < len(r) && !r[i].Rest {
				lines = append(append(lines, strings.Split(r[i].Text, "\n")...), r[i].Under)
			}
		}
		for _, l := range lines {
			widths[i] = max(widths[i], terminal.Columns(l))
		}
	}
	return widths
}

func (t Table) width() int {
	n := 0
	for i, w := range t.widths() {
		n += w + t.gap(i)
	}
	return n
}

// narrowed wraps a column of words.
func (t Table) narrowed(i, width int) Table {
	if !t.Heads[i].Words || t.widths()[i] <= width {
		return t
	}
	t.Rows = slices.Clone(t.Rows)
	for j, r := range t.Rows {
		if i >= len(r) || r[i].Rest {
			continue
		}
		var lines []string
		for _, l := range wrap(r[i].Text, width) {
			lines = append(lines, broken(strings.TrimLeft(l, " "), width)...)
		}
		t.Rows[j] = slices.Clone(r)
		t.Rows[j][i].Text = strings.Join(lines, "\n")
	}
	return t
}

// columns are the keys and the columns in [from, to). What spans the rest is in each such part.
func (t Table) columns(from, to int) Table {
	from = max(from, t.Keys)
	part := Table{Keys: t.Keys, Heads: slices.Concat(t.Heads[:t.Keys], t.Heads[from:to])}
	if t.Keys < len(part.Heads) {
		part.Heads[t.Keys].Divide = t.Keys < from || part.Heads[t.Keys].Divide
	}
	for _, r := range t.Rows {
		cells := slices.Clone(r[:min(t.Keys, len(r))])
		for i := from; i < min(to, len(r)); i++ {
			cells = append(cells, r[i])
		}
		if last := len(r) - 1; last >= 0 && r[last].Rest && len(cells) == t.Keys && to > from {
			cells = append(cells, r[last])
		}
		part.Rows = append(part.Rows, cells)
	}
	return part
}
