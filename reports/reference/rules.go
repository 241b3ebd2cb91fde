package reference

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
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
			f.All = stats.Quotient(a.All(), b.All())
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
	// Flat is how far apart rates are that count as equal, as a factor; what grows, grows by
	// more. The published rates before lie within 1.19 of each other from 30 threads on.
	Flat = 1.25
	// Slack is by how much the drain of more writes may be shorter and still not contradict.
	Slack = 0.10
)

func (c *Comparison) rules(watcher string, factors []Factor) []Rule {
	before, after := c.of(watcher, Before), c.of(watcher, After)
	rules := []Rule{factorRule(factors), flatRule(before), growthRule(after), fullRule(before), drainRule(before, after)}
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

// byLoad are the lines whose load and rate over a fixed time are known, the lowest load first. The published rates are
// of fixed times, too; over one that is as long as the drain, a rate follows the load.
func byLoad(lines []*Line) []*Line {
	known := slices.DeleteFunc(slices.Clone(lines), func(l *Line) bool { return l.Of(rate) == nil || l.fixed() == nil })
	slices.SortStableFunc(known, func(a, b *Line) int { return cmp.Compare(*a.Of(rate), *b.Of(rate)) })
	return known
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

// growthRule: that of many queues does, where the load itself grew.
func growthRule(after []*Line) Rule {
	r := Rule{Name: "after: storage rate grows with the load", Verdict: NotMeasured, Figures: fewRows}
	known := byLoad(after)
	if len(known) < 2 {
		return r
	}
	least, most := known[0], known[len(known)-1]
	slow, fast, few, many := *least.fixed(), *most.fixed(), *least.Of(rate), *most.Of(rate)
	r.Figures = fmt.Sprintf("%.1f requests/s in 30 s at %.0f writes/s, %.1f at %.0f", slow, few, fast, many)
	if many < Flat*few {
		r.Figures = fmt.Sprintf("the load did not grow by ×%v: ", Flat) + r.Figures
		return r
	}
	r.Verdict = verdict(fast > Flat*slow)
	return r
}

// fullRule: the Writer queue is full in the rows in which it is published to be, and in no other. A row whose load
// brought fewer events than the queues have room for says nothing of the first.
func fullRule(before []*Line) Rule {
	r := Rule{Name: "before: the Writer queue fills from 100 threads on", Verdict: NotMeasured}
	var wrong, right []string
	most, reached := -1.0, false
	room := Settings[Before].Room()
	for _, l := range before {
		full, queued := l.queueFull(), l.mostQueued()
		if full == nil {
			continue
		}
		want := l.Row.WriterFullS > 0
		if queued != nil {
			most = max(most, *queued)
		}
		switch {
		case *full != want && !want:
			wrong = append(wrong, fmt.Sprintf("full at %s, not published so", l.Row.Label()))
		case *full != want && queued != nil && *queued >= float64(room):
			wrong = append(wrong, fmt.Sprintf("not full at %s, with %.0f events waiting", l.Row.Label(), *queued))
		case *full == want:
			right = append(right, l.Row.Label())
			reached = reached || want
		}
	}
	switch {
	case len(wrong) > 0:
		r.Verdict, r.Figures = Fails, strings.Join(wrong, "; ")
	case reached:
		r.Verdict, r.Figures = Holds, "as published at "+strings.Join(right, ", ")
	case most < 0:
		r.Figures = "it is not known how many events waited"
	default:
		r.Figures = fmt.Sprintf("at most %.0f of the %d events that the queues hold waited: the load was too low", most, room)
	}
	return r
}

// drainRule: more writes take longer to drain, in each setup.
func drainRule(setups ...[]*Line) Rule {
	r := Rule{Name: "drain grows with the load", Verdict: NotMeasured}
	var wrong, right []string
	for _, lines := range setups {
		for _, a := range lines {
			for _, b := range lines {
				x, y, before, after := a.Of("load.done"), b.Of("load.done"), a.Of(drains), b.Of(drains)
				if x == nil || y == nil || before == nil || after == nil || *y < Flat**x {
					continue
				}
				text := fmt.Sprintf("%s %.0f writes %s, %.0f writes %s", a.Row.Setup, *x, a.drain(), *y, b.drain())
				if *after < (1-Slack)**before {
					wrong = append(wrong, text)
				} else {
					right = append(right, text)
				}
			}
		}
	}
	switch {
	case len(wrong) > 0:
		r.Verdict, r.Figures = Fails, strings.Join(wrong, "; ")
	case len(right) > 0:
		r.Verdict, r.Figures = Holds, strings.Join(right, "; ")
	default:
		r.Figures = fmt.Sprintf("no two rows of one setup differ by ×%v in their writes", Flat)
	}
	return r
}

const drains = result.FigureDrain

// drain is the drain time as text; a projected one is marked.
func (l *Line) drain() string {
	if l.Projected() {
		return fmt.Sprintf("~%.1f s (projected)", *l.Of(drains))
	}
	return fmt.Sprintf("%.1f s", *l.Of(drains))
}
