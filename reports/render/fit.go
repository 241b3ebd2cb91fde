package render

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// wrap breaks a line between words so that it fits the width; further lines are indented as
// the first, and by two more. A word that is wider stays whole. 0 is any width.
func wrap(s string, width int) []string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	var lines []string
	line, used := indent, 0
	for _, word := range strings.Fields(s) {
		if used > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line, used = append(lines, line), indent+"  ", 0
		}
		if used > 0 {
			line += " "
		}
		line, used = line+word, used+1
	}
	return append(lines, line)
}

// leastWords is the width to which a column of words is narrowed at most.
const leastWords = 16

// fit divides a table into parts that the width has room for, each with the keys of the
// lines. Words that are too wide for that are wrapped.
func (s sheet) fit(width int) []sheet {
	if width <= 0 || s.width() <= width {
		return []sheet{s}
	}
	for i := range s.Keys {
		s = s.narrowed(i, max(leastWords, width/4))
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
		lines := wrap(cells[i].Text, width)
		for k := range lines {
			lines[k] = strings.TrimLeft(lines[k], " ")
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
