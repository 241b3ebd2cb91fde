package render

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/watchbench/watchbench/internal/units"
)

const unknown = "–"

// clean makes text that may come from a cluster safe to show anywhere as plain text: control characters, line breaks,
// invisible and direction-changing runes become one visible replacement.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, s)
}

func fixed(v *float64, decimals int) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return unknown
	}
	s := strconv.FormatFloat(*v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-") // no "-0.0"
	}
	return s
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1 || a == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Brief formats v with three significant digits without zeros that say nothing: 60, not 60.0.
func Brief(v float64) string {
	s := short(v)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func shortOf(v *float64) string {
	if v == nil {
		return unknown
	}
	return short(*v)
}

func percent(f float64) string { return short(100*f) + " %" }

func when(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// join and plural are used in every sentence.
func join(words []string) string       { return units.List(words) }
func plural(n int, word string) string { return units.Count(n, word) }
