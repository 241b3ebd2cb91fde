package reference

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Factor is the storage rate after ÷ before at comparable loads.
type Factor struct {
	Watcher       string
	Before, After *Row
	Why           string  // the loads are not comparable
	Published     float64 // of the printed rates, which are means over different windows
	Drain         float64 // of the rates over the drains, by the other published figures
	All           *float64
}

// comparable is how far apart the writes per second of two rows may be, as a factor, for
// their storage rates to be divided: the published ones, and those that were reached.
const comparable = 1.5

// factors pairs each row before with the row after of the nearest load.
func (c *Comparison) factors(watcher string) (all []Factor) {
	for _, b := range c.of(watcher, Before) {
		var a *Line
		for _, l := range c.of(watcher, After) {
			if apart(l.Row, b.Row) <= math.Log(comparable) && (a == nil || apart(l.Row, b.Row) < apart(a.Row, b.Row)) {
				a = l
			}
		}
		if a == nil {
			continue
		}
		f := Factor{
			Watcher: watcher, Before: b.Row, After: a.Row,
			Published: a.Row.StorageQPS / b.Row.StorageQPS, Drain: a.Row.DrainQPS() / b.Row.DrainQPS(), Why: reached(a, b),
		}
		if f.Why == "" {
			f.All = over(a.All(), b.All())
		}
		all = append(all, f)
	}
	return all
}

// reached says why the loads that two rows reached are not comparable; empty if they are.
func reached(a, b *Line) string {
	switch x, y := a.Of(rate), b.Of(rate); {
	case x == nil || y == nil:
		return "the load that was reached is not known"
	case math.Abs(math.Log(*x / *y)) > math.Log(comparable):
		return fmt.Sprintf("%.0f writes/s before and %.0f after are not comparable loads", *y, *x)
	}
	return ""
}

const rate = "load.qps"

func apart(a, b *Row) float64 { return math.Abs(math.Log(a.QPS / b.QPS)) }

func over(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	return new(*a / *b)
}

// Verdicts of a rule.
const (
	Holds       = "holds"
	Fails       = "does not hold"
	NotMeasured = "not measured"
)

// Rule is one statement about the shape of the tables, and whether it is true of a watcher.
type Rule struct {
	Watcher string
	Name    string
	Verdict string
	Figures string // that decide it
	Needed  bool   // the tables are not judged without it
}

// Bounds of the rules.
const (
	// FactorWithin is how far the mean factor may be below the published one, or above that
	// over the drains alone, as a factor. The two are apart because the published windows are
	// longer than the drains after. It is half of how far the published factors of single
	// pairs are apart (4.2 to 6.4), as a factor: how far one of them is from their middle.
	FactorWithin = 1.25
	// Flat is how far apart rates are that count as equal, as a factor. The published rates before lie within 1.19 of
	// each other from 30 threads on.
	Flat = 1.25
)

func (c *Comparison) rules(watcher string, factors []Factor) []Rule {
	rules := []Rule{factorRule(factors), flatRule(c.of(watcher, Before))}
	for i := range rules {
		rules[i].Watcher = watcher
	}
	return rules
}

// factorRule: after beats before at each comparable load, by about the published factor.
func factorRule(factors []Factor) Rule {
	r := Rule{Name: "after beats before, by the published factor", Needed: true, Verdict: NotMeasured}
	var logs, published, drains, n float64
	wins := true
	var parts, apart []string
	for _, f := range factors {
		pair := fmt.Sprintf("%d to %d threads", f.Before.Threads, f.After.Threads)
		if f.Why != "" {
			apart = append(apart, pair+": "+f.Why)
		}
		if f.All == nil {
			continue
		}
		wins, n = wins && *f.All > 1, n+1
		logs, published, drains = logs+math.Log(*f.All), published+math.Log(f.Published), drains+math.Log(f.Drain)
		parts = append(parts, fmt.Sprintf("%s %.1f (published %.1f)", pair, *f.All, f.Published))
	}
	if n == 0 {
		r.Figures = cmp.Or(strings.Join(apart, "; "), "no two comparable loads were measured")
		return r
	}
	measured, low, high := math.Exp(logs/n), math.Exp(published/n), math.Exp(drains/n)
	r.Verdict = verdict(wins && measured >= low/FactorWithin && measured <= high*FactorWithin)
	r.Figures = fmt.Sprintf("%.1f × the storage rate; published %.1f ×, and %.1f × over the drains alone: %s",
		measured, low, high, strings.Join(slices.Concat(parts, apart), ", "))
	return r
}

func verdict(holds bool) string {
	if holds {
		return Holds
	}
	return Fails
}

const fewRows = "a rate is known of fewer than two rows"

func flatRule(before []*Line) Rule {
	r := Rule{Name: "before: storage rate is flat in threads", Verdict: NotMeasured, Figures: fewRows}
	var rates []float64
	for _, l := range before {
		if v := l.fixed(); v != nil {
			rates = append(rates, *v)
		}
	}
	if len(rates) > 1 {
		low, high := slices.Min(rates), slices.Max(rates)
		r.Verdict = verdict(high <= Flat*low)
		r.Figures = fmt.Sprintf("%.1f to %.1f requests/s in %d rows (flat: within ×%v)", low, high, len(rates), Flat)
	}
	return r
}
