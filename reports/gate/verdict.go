package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/stats"
)

// Outcome is the result of one figure, or of the gate as a whole.
type Outcome string

// Outcomes. As a whole the first in this order counts: what was found to be worse stays so, whatever else could not
// be judged; then what could not be judged; then what is near the limit.
const (
	Fail         Outcome = "FAIL"
	Invalid      Outcome = "INVALID"
	Inconclusive Outcome = "INCONCLUSIVE"
	Warn         Outcome = "WARN"
	Pass         Outcome = "PASS"
	// NotJudged is of a figure that nobody could know, such as the allocations of a watcher that does not report
	// them. It is listed, and does not count.
	NotJudged Outcome = "NOT JUDGED"
)

var order = []Outcome{Fail, Invalid, Inconclusive, Warn, Pass, NotJudged}

func worse(a, b Outcome) Outcome { return order[min(slices.Index(order, a), slices.Index(order, b))] }

// Verdict is the result of a gate.
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

// Finding is the result of one figure or invariant at one point of the matrix.
type Finding struct {
	Point   string // its parameters; empty where there is one only
	Name    string
	Kind    string // KindExact, KindNoisy, or empty for an invariant
	Unit    string
	Outcome Outcome
	Why     string // what the figures do not say
	// Base and New are medians; Ratio is New ÷ Base with the interval at which the gate decides. nil: not known.
	Base, New *float64
	Ratio     *stats.Ratio
	Interval  stats.Interval
	Higher    bool // values are better
	Allow     float64
	N         int     // blocks, or repetitions of the smaller side
	Holm      float64 // p-value of "worse than allowed" after Holm's correction; 1 for others
	Improved  bool    // better by as much as is allowed the other way

	detect float64
	fig    figure // that Ratio is of
}

// Control is the comparison of the same with itself.
type Control struct {
	What     string // that was compared, and what that does not cover
	Outcome  Outcome
	Findings []Finding
}

const mostNamed = 3

// Sentence is the answer in one line: what got worse, by how much, and how sure that is; or why that is unknown.
func (v *Verdict) Sentence() string {
	switch v.Outcome {
	case Fail:
		return "NEW is worse than BASE: " + v.list(v.of(Fail))
	case Warn:
		return "NEW may be worse than BASE: " + v.list(v.of(Warn))
	case Inconclusive:
		return "Not decided: " + v.list(v.of(Inconclusive))
	case Pass:
		passed, better := 0, []Finding(nil)
		for _, f := range v.Metrics {
			if f.Outcome == Pass {
				passed++
			}
			if f.Improved {
				better = append(better, f)
			}
		}
		s := fmt.Sprintf("NEW is not worse than BASE: %s within what is allowed, %.4g %% sure of each",
			units.Count(passed, "figure"), 100*(1-float64(v.Rules.Alpha)))
		if len(better) > 0 {
			s += "; better: " + v.list(better)
		}
		return s
	}
	if len(v.Reasons) > 0 {
		return "Not judged: " + strings.Join(v.Reasons[:min(len(v.Reasons), mostNamed)], "; ")
	}
	return "Not judged: " + v.list(v.of(v.Outcome))
}

// Problems are all findings that are neither PASS nor only listed, the worst first.
func (v *Verdict) Problems() (all []Finding) {
	for _, o := range order[:slices.Index(order, Pass)] {
		all = append(all, v.of(o)...)
	}
	return all
}

// Unjudged are listed and do not count.
func (v *Verdict) Unjudged() []Finding { return v.of(NotJudged) }

// of are the findings of one outcome: invariants first, then by the size of the change.
func (v *Verdict) of(o Outcome) []Finding {
	metrics := slices.Clone(v.Metrics)
	slices.SortStableFunc(metrics, func(a, b Finding) int { return cmp.Compare(b.size(), a.size()) })
	all := slices.Concat(v.Invariants, metrics)
	if o != NotJudged {
		all = append(all, v.Control.Findings...)
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.Outcome != o })
}

func (f Finding) size() float64 {
	if f.Ratio == nil {
		return math.Inf(1)
	}
	return math.Abs(math.Log(f.Ratio.Median))
}

func (v *Verdict) list(all []Finding) string {
	var parts []string
	for _, f := range all {
		if part := v.Says(f); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if n := len(parts); n > mostNamed {
		parts = append(parts[:mostNamed], fmt.Sprintf("and %d more", n-mostNamed))
	}
	return strings.Join(parts, "; ")
}

// Says is a finding in words, without its outcome.
func (v *Verdict) Says(f Finding) string {
	s := f.Name
	if f.Point != "" {
		s += " (" + f.Point + ")"
	}
	switch change, low, high := f.Change(); {
	case f.Ratio == nil && f.Base != nil && f.New != nil:
		s += fmt.Sprintf(" went from %.4g to %.4g", *f.Base, *f.New)
	case f.Ratio == nil:
	case f.Kind == KindExact:
		s += fmt.Sprintf(" %s, an exact count (%s allowed)", change, f.Allowed())
	default:
		s += fmt.Sprintf(" %s (%.4g %% interval %s to %s, %s allowed)", change, 100*v.Rules.level(), low, high, f.Allowed())
	}
	if f.Why != "" {
		s += ": " + f.Why
	}
	return s
}

// Change is a finding's ratio and interval, as changes in percent; empty if it has none.
func (f *Finding) Change() (change, low, high string) {
	if f.Ratio == nil {
		return "", "", ""
	}
	return signed(f.Ratio.Median), signed(f.Interval.Low), signed(f.Interval.High)
}

// Allowed is the change that the rule allows.
func (f *Finding) Allowed() string {
	if f.Kind == "" {
		return ""
	}
	return signed(f.limit())
}

// signed is a ratio as a change in percent.
func signed(ratio float64) string {
	c := 100 * (ratio - 1)
	switch {
	case c == 0:
		return "0 %"
	case math.Abs(c) < 0.05:
		return fmt.Sprintf("%+.2g %%", c)
	}
	return fmt.Sprintf("%+.1f %%", c)
}
