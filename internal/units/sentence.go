package units

import (
	"strconv"
	"strings"
)

// Count writes "1 cell", "2 cells".
func Count[N int | int64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.FormatInt(int64(n), 10) + " " + word + "s"
}

// List writes "a, b and c".
func List(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
