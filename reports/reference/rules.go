package reference

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Factor is the storage rate after ÷ before at comparable loads, by each definition.
type Factor struct {
	Watcher       string
	Before, After *Row
	Why           string  // why there are no measured ones, where that is the loads
	Published     float64 // of the printed rates, which are means over different windows
	Drain         float64 // of the rates over the drains, by the other published figures
	All           *float64
	Windowed      *float64
	Pods          *float64
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
			f.All, f.Windowed, f.Pods = over(a.All, b.All), over(a.Windowed, b.Windowed), over(a.Pods, b.Pods)
		}
		all = append(all, f)
	}
	return all
}

// reached says why the loads that two rows reached are not comparable; empty if they are.
func reached(a, b *Line) string {
	switch {
	case a.QPS == nil || b.QPS == nil:
		return "the load that was reached is not known"
	case math.Abs(math.Log(*a.QPS / *b.QPS)) > math.Log(comparable):
		return fmt.Sprintf("%.0f writes/s before and %.0f after are no comparable loads", *b.QPS, *a.QPS)
	}
	return ""
}

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
	Needed  bool   // without it there is no verdict on the tables
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
	rules := []Rule{
		factorRule(factors), flatRule(c.of(watcher, Before)), growthRule(c.of(watcher, After)), fullRule(c.of(watcher, Before)),
		drainRule(c.of(watcher, Before), c.of(watcher, After)),
	}
	for i := range rules {
		rules[i].Watcher = watcher
	}
	return rules
}

// factorRule: after beats before at each comparable load, by about the published factor.
func factorRule(factors []Factor) Rule {
	r := Rule{Name: "after beats before, by the published factor", Needed: true, Verdict: NotMeasured, Figures: "no two comparable loads were measured"}
	var logs, published, drains, n float64
	wins := true
	var parts, apart []string
	for _, f := range factors {
		if f.Why != "" {
			apart = append(apart, fmt.Sprintf("%s to %s threads: %s", threads(f.Before), threads(f.After), f.Why))
		}
		if f.All == nil {
			continue
		}
		wins = wins && *f.All > 1
		logs, published, drains, n = logs+math.Log(*f.All), published+math.Log(f.Published), drains+math.Log(f.Drain), n+1
		parts = append(parts, fmt.Sprintf("%s to %s threads %.1f (published %.1f)", threads(f.Before), threads(f.After), *f.All, f.Published))
	}
	if n == 0 {
		if len(apart) > 0 {
			r.Figures = strings.Join(apart, "; ")
		}
		return r
	}
	measured, low, high := math.Exp(logs/n), math.Exp(published/n), math.Exp(drains/n)
	r.Verdict = verdict(wins && measured >= low/FactorWithin && measured <= high*FactorWithin)
	r.Figures = fmt.Sprintf("%.1f × the storage rate; published %.1f ×, and %.1f × over the drains alone: %s", measured, low, high, strings.Join(slices.Concat(parts, apart), ", "))
	return r
}

func threads(r *Row) string { return fmt.Sprint(r.Threads) }

func verdict(holds bool) string {
	if holds {
		return Holds
	}
	return Fails
}

// span is the lines that have a figure, with the least and the greatest of it.
func span(lines []*Line, of func(*Line) *float64) (low, high float64, n int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		if v := of(l); v != nil {
			low, high, n = min(low, *v), max(high, *v), n+1
		}
	}
	return low, high, n
}

// fixed is the rate that a window of fixed length has, as the published ones: one that is
// longer than the drain follows the load.
func fixed(l *Line) *float64 { return l.Fixed }

// flatRule: one queue's rate does not follow the load.
func flatRule(before []*Line) Rule {
	r := Rule{Name: "before: storage rate is flat in threads", Verdict: NotMeasured}
	low, high, n := span(before, fixed)
	if n < 2 {
		r.Figures = "a rate is known of fewer than two rows"
		return r
	}
	r.Verdict = verdict(high <= Flat*low)
	r.Figures = fmt.Sprintf("%.1f to %.1f requests/s in %d rows (flat: within ×%v)", low, high, n, Flat)
	return r
}

// growthRule: that of many queues does, where the load itself grew.
func growthRule(after []*Line) Rule {
	r := Rule{Name: "after: storage rate grows with the load", Verdict: NotMeasured}
	least, most := ends(after)
	if least == nil {
		r.Figures = "a rate is known of fewer than two rows"
		return r
	}
	grew := *most.QPS / *least.QPS
	r.Figures = fmt.Sprintf("%.1f requests/s in 30 s at %.0f writes/s, %.1f at %.0f", *least.Fixed, *least.QPS, *most.Fixed, *most.QPS)
	if grew < Flat {
		r.Figures = fmt.Sprintf("the load did not grow by ×%v: ", Flat) + r.Figures
		return r
	}
	r.Verdict = verdict(*most.Fixed > Flat**least.Fixed)
	return r
}

// ends are the lines of the least and the highest load that was reached.
func ends(lines []*Line) (least, most *Line) {
	for _, l := range lines {
		if l.QPS == nil || l.Fixed == nil {
			continue
		}
		if least == nil || *l.QPS < *least.QPS {
			least = l
		}
		if most == nil || *l.QPS > *most.QPS {
			most = l
		}
	}
	if least == most {
		return nil, nil
	}
	return least, most
}

// fullRule: the Writer queue is full in the rows in which it is published to be, and in no
// other. A row whose load brought fewer events than the queues have room for says nothing of
// the first.
func fullRule(before []*Line) Rule {
	r := Rule{Name: "before: the Writer queue fills from 100 threads on", Verdict: NotMeasured}
	var wrong, right []string
	most, reached := -1.0, false
	room := Settings[Before].Room()
	for _, l := range before {
		if l.QueueFull == nil {
			continue
		}
		want := l.Row.WriterFullS > 0
		if l.MostQueued != nil {
			most = max(most, *l.MostQueued)
		}
		switch {
		case *l.QueueFull != want && !want:
			wrong = append(wrong, fmt.Sprintf("full at %s, not published so", l.Label()))
		case *l.QueueFull != want && l.MostQueued != nil && *l.MostQueued >= float64(room):
			wrong = append(wrong, fmt.Sprintf("not full at %s, with %.0f events waiting", l.Label(), *l.MostQueued))
		case *l.QueueFull == want:
			right = append(right, l.Label())
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
		r.Figures = fmt.Sprintf("at most %.0f of the %d events that the queues hold waited: the load was not high enough", most, room)
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
				if a.Writes == nil || b.Writes == nil || a.DrainS == nil || b.DrainS == nil || *b.Writes < Flat**a.Writes {
					continue
				}
				text := fmt.Sprintf("%s %.0f writes %s, %.0f writes %s", a.Row.Setup, *a.Writes, a.drain(), *b.Writes, b.drain())
				if *b.DrainS < (1-Slack)**a.DrainS {
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

// drain is the drain time as text; a projected one is marked.
func (l *Line) drain() string {
	if l.Projected {
		return fmt.Sprintf("~%.1f s (projected)", *l.DrainS)
	}
	return fmt.Sprintf("%.1f s", *l.DrainS)
}
