package oracle

import "regexp"

// notCompared lists what results.json has and the oracle does not compute, and why.
var notCompared = []struct {
	path *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`^bottleneck\.`), "a sentence about the other figures, and its rules are the code's"},
	{regexp.MustCompile(`^invalidReasons\.`), "sentences; whether there are any is compared as valid"},
	{regexp.MustCompile(`^checks\.\w+\.(counterexample|note)$`), "sentences; their verdict and number of violations are compared"},
	{regexp.MustCompile(`^checks\.(G6|G14)\.judged$`), "how many comparisons the judge happens to make"},
	{regexp.MustCompile(`^checks\.(G7|G8|G9|G12|G13)\.`), "the fault matrix asks for these; its columns are compared"},
	{regexp.MustCompile(`^handler\.queuedEventSecondsLeast$`), "which part of 20 ms an event of a deletion takes is the code's choice"},
	{regexp.MustCompile(`^watcher\.bytesPerObject$`), "needs two cells"},
	{regexp.MustCompile(`^robustness\.`), "the same as the matrix's entry"},
	{regexp.MustCompile(`^capacity\.`), "calibrations are not part of the committed records"},
	{regexp.MustCompile(`^load\.(ofCapacity|plannedQPS)$`), "the plan is not saved, only its seed"},
}

func why(path string) string {
	for _, n := range notCompared {
		if n.path.MatchString(path) {
			return n.why
		}
	}
	return ""
}
