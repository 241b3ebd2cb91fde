package matrix

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// weigh gives a column the least power of the checks that it requires. A pass without enough of it is none; a failure
// stays one.
func weigh(col string, checks map[string]result.Check, out *result.Column) {
	least := ""
	for _, g := range required[col] {
		if x := checks[g]; x.Power != nil && (out.Power == nil || *x.Power < *out.Power) {
			out.Power, out.MinPower, least = x.Power, x.MinPower, g
		}
	}
	if out.Verdict == result.Pass && out.Power != nil && *out.Power < out.MinPower {
		out.Verdict = result.NoPower
		out.Detail = fmt.Sprintf("in %s %d pairs of states could have been swapped, at least %d are needed", least,
			*out.Power, out.MinPower)
	}
}
