package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns is how many columns of a terminal a text takes: East Asian wide characters take two, combining marks none.
func Columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300: // most text, fast
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Cut shortens a text that takes more than n columns; "…" at its end says so.
func Cut(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	var b strings.Builder
	room := n - 1
	for _, r := range s {
		if room -= columnsOf(r); room < 0 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
