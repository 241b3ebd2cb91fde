package tune

import (
	"math"
	"strconv"
	"strings"
)

// figure writes a number with three digits at most, without zeros that say nothing.
func figure(v float64) string {
	decimals := 0
	switch a := math.Abs(v); {
	case a >= 100:
	case a >= 10:
		decimals = 1
	case a >= 0.095 || a == 0:
		decimals = 2
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
