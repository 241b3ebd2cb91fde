package badinput

import (
	"path"
	"slices"
	"strings"
)

const longest = 40

// Nearest returns the known word that a misspelt one is closest to, without regard to case: at most two letters apart
// and no more than a third of its length. It returns "" where none is.
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

// NearestPath is Nearest for names of parts that slashes separate, of which the last part alone will do.
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

// distance is Levenshtein's, where two letters in the wrong order are one mistake.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], 1+d[i-2][j-2])
				}
			}
		}
	}
	return d[len(a)][len(b)]
}
