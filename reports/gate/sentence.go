package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
)

// mostNamed bounds how many findings a sentence names.
const mostNamed = 3

// Sentence is the answer for whoever reads one line: what got worse, by how much, and how
// sure that is; or why that cannot be said.
func (v *Verdict) Sentence() string {
	named := v.of(v.Outcome)
	switch v.Outcome {
	case Fail:
		return "NEW is worse than BASE: " + v.list(named)
	case Warn:
		return "NEW may be worse than BASE: " + v.list(named)
	case Inconclusive:
		return "Whether NEW is worse cannot be said: " + v.list(named)
	case Pass:
		s := fmt.Sprintf("NEW is not worse than BASE: %s within what is allowed, %s %% sure of each", units.Count(v.count(Pass), "figure"), sure(v))
		if better := v.better(); len(better) > 0 {
			s += "; better: " + v.list(better)
		}
		return s
	}
	if len(v.Reasons) > 0 {
		return "Nothing can be said: " + strings.Join(v.Reasons[:min(len(v.Reasons), mostNamed)], "; ")
	}
	return "Nothing can be said: " + v.list(named)
}

// Problems are all findings that are neither PASS nor only listed, the worst first.
func (v *Verdict) Problems() (all []Finding) {
	for _, o := range order {
		if o != Pass && o != NotJudged {
			all = append(all, v.of(o)...)
		}
	}
	return all
}

// Unjudged are what is listed and does not count.
func (v *Verdict) Unjudged() []Finding { return v.of(NotJudged) }

// of are the findings of one outcome: invariants first, then by the size of the change.
func (v *Verdict) of(o Outcome) (all []Finding) {
	is := func(f Finding) bool { return f.Outcome != o }
	all = slices.DeleteFunc(slices.Clone(v.Invariants), is)
	metrics := slices.DeleteFunc(slices.Clone(v.Metrics), is)
	slices.SortStableFunc(metrics, func(a, b Finding) int { return cmp.Compare(b.size(), a.size()) })
	all = append(all, metrics...)
	for _, f := range v.Control.Findings {
		if f.Outcome == o && o != NotJudged && o != Pass {
			all = append(all, f)
		}
	}
	return all
}

// size of a change, in either direction.
func (f Finding) size() float64 {
	if f.Ratio == nil {
		return math.Inf(1)
	}
	return math.Abs(math.Log(f.Ratio.Median))
}

func (v *Verdict) better() (all []Finding) {
	for _, f := range v.Metrics {
		if f.Improved {
			all = append(all, f)
		}
	}
	return all
}

func (v *Verdict) count(o Outcome) (n int) {
	for _, f := range v.Metrics {
		if f.Outcome == o {
			n++
		}
	}
	return n
}

// list names the first few.
func (v *Verdict) list(all []Finding) string {
	var parts []string
	seen := map[string]bool{}
	for _, f := range all {
		if part := v.Says(f); !seen[part] {
			seen[part] = true
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
	switch {
	case f.Ratio == nil && f.Base != nil && f.New != nil:
		s += fmt.Sprintf(" went from %.4g to %.4g", *f.Base, *f.New)
	case f.Ratio == nil || f.Base == nil:
	case f.Kind == KindExact:
		s += fmt.Sprintf(" %s, an exact count (%s allowed)", signed(f.Ratio.Median), signed(f.limit()))
		if f.Outcome != Warn {
			return s
		}
	case f.Outcome == Fail:
		s += fmt.Sprintf(" %s, %s %% sure of at least %s (%s allowed, %s)",
			signed(f.Ratio.Median), sure(v), signed(f.least()), signed(f.limit()), units.Count(f.N, v.unit()))
		if f.Stage != "" {
			s += "; slower: " + f.Stage
		}
		return s
	case f.Outcome == Pass:
		return s + " " + signed(f.Ratio.Median)
	default:
		s += fmt.Sprintf(" %s (interval %s to %s, %s allowed)", signed(f.Ratio.Median), signed(f.Interval.Low), signed(f.Interval.High), signed(f.limit()))
	}
	if f.Why != "" {
		s += ": " + f.Why
	}
	return s
}

// least is the end of the interval that is nearer to no change.
func (f *Finding) least() float64 {
	if f.Better == lower {
		return f.Interval.Low
	}
	return f.Interval.High
}

func (v *Verdict) unit() string {
	if v.Blocked {
		return "block"
	}
	return "repetition"
}

func sure(v *Verdict) string { return fmt.Sprintf("%.4g", 100*(1-float64(v.Rules.Alpha))) }

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
