package gate

import (
	"cmp"
	"encoding/json"
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
	Outcome    Outcome   `json:"outcome"`
	Base       string    `json:"base"` // the runs' names, or the sides' of one run
	New        string    `json:"new"`
	Scenario   string    `json:"-"`
	Blocked    bool      `json:"blocked"` // the cells were run side by side, in blocks A B B A
	Reasons    []string  `json:"reasons"` // why the whole cannot be judged; the figures are not, then
	Metrics    []Finding `json:"figures"`
	Invariants []Finding `json:"invariants"`
	Control    Control   `json:"control"`
	Rules      Rules     `json:"-"`
}

// Control is the comparison of the same with itself.
type Control struct {
	What     string    `json:"what"` // that was compared, and what that does not cover
	Outcome  Outcome   `json:"outcome"`
	Findings []Finding `json:"figures"`
}

// Finding is the result of one figure or invariant at one point of the matrix.
type Finding struct {
	Name    string  `json:"name"`
	Point   string  `json:"point"` // its parameters; empty where there is one only
	Unit    string  `json:"unit,omitempty"`
	Kind    string  `json:"kind,omitempty"` // KindExact, KindNoisy, or empty for an invariant
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"` // what the figures do not say
	// Base and New are medians; Ratio is New ÷ Base with the interval at which the gate decides. nil: not known.
	Base     *float64       `json:"base,omitempty"`
	New      *float64       `json:"new,omitempty"`
	Ratio    *stats.Ratio   `json:"-"`
	Interval stats.Interval `json:"-"`
	Higher   bool           `json:"-"` // values are better
	Allow    float64        `json:"-"`
	N        int            `json:"n,omitempty"` // blocks, or repetitions of the smaller side
	Holm     float64        `json:"-"`           // p-value of "worse than allowed" after Holm's correction; 1 for others
	Improved bool           `json:"-"`           // better by as much as is allowed the other way

	detect float64
	fig    figure // that Ratio is of
}

// Schema names the format of a Verdict as JSON; a change that breaks readers changes it.
const Schema = "watchbench/gate/v1"

// MarshalJSON writes a verdict for programs. Its texts are as they are in the record.
func (v *Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	x := struct {
		Schema   string `json:"schema"`
		Sentence string `json:"sentence"`
		plain
	}{Schema, v.Sentence(), plain(*v)}
	x.Reasons = append([]string{}, v.Reasons...)
	for _, all := range []*[]Finding{&x.Metrics, &x.Invariants, &x.Control.Findings} {
		*all = append([]Finding{}, *all...)
	}
	return json.Marshal(x)
}

// MarshalJSON has no field for what is not known.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	x := struct {
		plain
		Ratio *float64 `json:"ratio,omitempty"` // new ÷ base
		Low   *float64 `json:"ratioLow,omitempty"`
		High  *float64 `json:"ratioHigh,omitempty"`
		Allow *float64 `json:"allow,omitempty"` // change that the rule allows, as a share
	}{plain: plain(f)}
	if f.Kind != "" {
		x.Allow = &f.Allow
	}
	if f.Ratio != nil {
		x.Ratio, x.Low, x.High = &f.Ratio.Median, &f.Interval.Low, &f.Interval.High
	}
	return json.Marshal(x)
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
