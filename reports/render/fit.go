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

// leastWords is the width to which a column of words is narrowed at most.
const leastWords = 16

// fit divides a table into parts that the width has room for, each with the keys of the
// lines. Words that are too wide for that are wrapped.
func (s sheet) fit(width int) []sheet {
	if width <= 0 || s.width() <= width {
		return []sheet{s}
	}
	for i, w := range s.keyWidths(width) {
		s = s.narrowed(i, w)
	}
	left := width - s.columns(0, s.Keys).width()
	for i := s.Keys; i < len(s.Heads); i++ {
		s = s.narrowed(i, max(leastWords, left-s.gap(i)))
	}
	widths := s.widths()
	var parts []sheet
	for from := s.Keys; from < len(s.Heads); {
		to, room := from, left
		for to < len(s.Heads) && (to == from || room >= widths[to]+s.gap(to)) {
			room -= widths[to] + s.gap(to)
			to++
		}
		parts = append(parts, s.columns(from, to))
		from = to
	}
	return parts
}

// leastKey is the width to which a key is narrowed at most, unless its heading is wider.
const leastKey = 6

// keyWidths are those of the keys that leave the other columns some room: a quarter each, or
// what their longest word takes, and the widest ones less until all together have the room.
func (s sheet) keyWidths(width int) []int {
	keys := s.columns(0, s.Keys)
	widths, least := keys.widths(), sheet{Heads: keys.Heads}.widths()
	total := 0
	for i := range widths {
		if s.Heads[i].Left {
			widths[i] = min(widths[i], max(leastWords, width/4, s.longestWord(i)))
		} else {
			least[i] = widths[i]
		}
		total += widths[i] + s.gap(i)
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
func (s sheet) longestWord(column int) (n int) {
	for _, r := range s.Rows {
		for w := range strings.FieldsSeq(r.Cells[column].Text) {
			n = max(n, terminal.Columns(w))
		}
	}
	return n
}

// gap is what stands before and behind a column.
func (s sheet) gap(i int) int {
	if s.Heads[i].Divide {
		return 4
	}
	return 2
}

// narrowed wraps a column of words.
func (s sheet) narrowed(i, width int) sheet {
	if !s.Heads[i].Left || s.widths()[i] <= width {
		return s
	}
	s.Rows = slices.Clone(s.Rows)
	for j, r := range s.Rows {
		cells := slices.Clone(r.Cells)
		var lines []string
		for _, l := range wrap(cells[i].Text, width) {
			lines = append(lines, broken(strings.TrimLeft(l, " "), width)...)
		}
		cells[i].Text = strings.Join(lines, "\n")
		s.Rows[j].Cells = cells
	}
	return s
}

// columns are the keys and the columns in [from, to).
func (s sheet) columns(from, to int) sheet {
	part := sheet{Keys: s.Keys, Heads: slices.Concat(s.Heads[:s.Keys], s.Heads[max(from, s.Keys):to])}
	if s.Keys < len(part.Heads) {
		part.Heads[s.Keys].Divide = s.Keys < from || part.Heads[s.Keys].Divide
	}
	for _, r := range s.Rows {
		r.Cells = slices.Concat(r.Cells[:s.Keys], r.Cells[max(from, s.Keys):to])
		part.Rows = append(part.Rows, r)
	}
	return part
}
