package gate

import "github.com/watchbench/watchbench/reports/stats"

// Outcome is what a gate says, of one figure and as a whole.
type Outcome string

// Outcomes. As a whole the worst counts, in this order: what was found to be worse stays
// so, whatever else could not be judged; then what could not be judged; then what is near
// the limit.
const (
	Fail         Outcome = "FAIL"
	Invalid      Outcome = "INVALID"
	Inconclusive Outcome = "INCONCLUSIVE"
	Warn         Outcome = "WARN"
	Pass         Outcome = "PASS"
	// NotJudged is of a figure that nobody could know, such as the allocations of a watcher
	// that does not tell them. It is listed, and does not count.
	NotJudged Outcome = "NOT JUDGED"
)

var order = []Outcome{Fail, Invalid, Inconclusive, Warn, Pass, NotJudged}

// worse is the one of two that counts.
func worse(a, b Outcome) Outcome {
	for _, o := range order {
		if a == o || b == o {
			return o
		}
	}
	return Invalid // an outcome that is none
}

// Verdict is what a gate found.
type Verdict struct {
	Outcome   Outcome
	Base, New string // names of the runs, or of the sides of one run
	Scenario  string
	// Blocked says that the cells were run side by side, in blocks A B B A.
	Blocked bool
	// Reasons are why the whole cannot be judged; the figures are not, then.
	Reasons    []string
	Invariants []Finding
	Metrics    []Finding
	Control    Control
	Rules      Rules
}

// Finding is what was found of one figure or invariant at one point of the matrix.
type Finding struct {
	Point   string // its parameters; empty where there is one only
	Name    string
	Kind    string // KindExact, KindNoisy, or empty for an invariant
	Unit    string
	Outcome Outcome
	Why     string // in words; never empty but for PASS
	// Base and New are medians; Ratio is New ÷ Base with the interval at which the gate
	// decides. nil: not known.
	Base, New *float64
	Ratio     *stats.Ratio
	Interval  stats.Interval
	Better    string
	Allow     float64
	N         int     // blocks, or repetitions of the smaller side
	Holm      float64 // the p-value of "worse than allowed", after Holm's correction; 1 for others
	Stage     string  // of a time that FAILs: what got slower
	Improved  bool    // the whole interval is on the better side of 1

	detect float64
	fig    figure // that Ratio is of
}

// Control is the comparison of the same with itself.
type Control struct {
	What     string // that was compared, and what that does not cover
	Outcome  Outcome
	Findings []Finding
}
