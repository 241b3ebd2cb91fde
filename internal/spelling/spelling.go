// Package spelling guesses which known word a misspelt one was meant to be.
package spelling

import (
	"path"
	"slices"
	"strings"
)

// longest is the length beyond which a word is no misspelt name.
const longest = 40

// Nearest returns the known word that a misspelt one is closest to, without regard
// to case: at most two letters apart and no more than a third of its length. It
// returns "" where none is.
func Nearest(word string, known []string) string {
	if len(word) > longest {
		return ""
	}
	best, least := "", longest
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d <= min(2, len(k)/3) && d < least {
			best, least = k, d
		}
	}
	return best
}

// NearestPath is Nearest for names of parts that slashes separate, of which the last part
// alone will do.
func NearestPath(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return near
	}
	lasts := make([]string, len(known))
	for i, k := range known {
		lasts[i] = path.Base(k)
	}
	if i := slices.Index(lasts, Nearest(word, lasts)); i >= 0 {
		return known[i]
	}
	return ""
}

// Ask is the question whether near was meant, or the other advice where it is "".
func Ask(near, other string) string {
	if near == "" {
		return other
	}
	return "did you mean " + near + "?"
}

// distance is Levenshtein's, with one row of memory.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
