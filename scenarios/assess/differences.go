package assess

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// differences names what the recorded file and the present assessment do not agree on,
// as the place in the file and both values.
func differences(file string, recorded, now any) ([]string, error) {
	return Differences(file+" has", "the record now gives", recorded, now)
}

// Differences names the places at which two values, as JSON has them, do not agree, and
// both values after these words: "place: results.json has 7, the record now gives 54".
func Differences(has, gives string, recorded, now any) (found []string, err error) {
	all, err := result.Differences(recorded, now)
	for _, d := range all {
		found = append(found, fmt.Sprintf("%s: %s %s, %s %s", d.Place, has, result.DifferenceText(d.Old), gives,
			result.DifferenceText(d.New)))
	}
	return found, err
}
