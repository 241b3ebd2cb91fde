package tune

import (
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/simulate"
)

// Figures are what is known of a setting, simulated or measured.
type Figures = result.TunedFigures

// FromOutcome are the figures of a simulated cell.
func FromOutcome(o *simulate.Outcome) Figures {
	f := Figures{
		Events: o.Events, Requests: o.Requests, Drain: o.DrainSeconds, DrainAfter: o.DrainAfterLoadSeconds,
		StorageQPS: o.StorageQPS, InFlight: new(float64(o.MaxInFlight)), WriterDepth: new(float64(o.WriterMaxDepth)),
		HandlerDepth: new(float64(o.HandlerMaxDepth)), WriterFull: new(o.WriterFullSeconds), QueuedMiB: new(float64(o.PeakQueuedBytes) / (1 << 20)),
		Dropped: new(o.Dropped),
	}
	if o.Imbalance > 0 {
		f.Imbalance = new(o.Imbalance)
	}
	freshness(&f, o.Freshness)
	return f
}

func freshness(f *Figures, q *result.Quantiles) {
	if q != nil && q.Count > 0 {
		f.P50, f.P90, f.P99, f.Max = new(q.P50), new(q.P90), new(q.P99), new(q.Max)
	}
}

// fromCell is a measured cell. What a cut cell has of drain and freshness covers only the
// part that was done, and is not known.
func fromCell(c *result.Cell) result.TunedCell {
	t := result.TunedCell{Valid: c.Valid, Cut: c.Cut, Figures: Figures{StorageQPS: c.Storage.QPS, Requests: c.Storage.Requests}}
	if !c.Valid {
		t.Late = len(c.LateReasons) > 0 && len(c.LateReasons) == len(c.InvalidReasons)
		for _, r := range c.InvalidReasons {
			t.Reason += "; " + r
		}
		t.Reason = t.Reason[min(2, len(t.Reason)):]
	}
	f := &t.Figures
	if !c.Cut {
		f.Drain, f.DrainAfter = c.Handler.DrainSeconds, c.Handler.DrainAfterLoad
		freshness(f, c.Freshness)
	}
	f.Imbalance, f.WriterFull = c.Handler.Imbalance, c.Writer.FullSeconds
	f.RSSMiB = c.Watcher.RSSPeakMiB
	if v := c.Series[result.SeriesStorageInFlight].V; len(v) > 0 {
		f.InFlight = new(slices.Max(v))
	}
	if e := c.Events; e != nil {
		f.Events, f.Lost, f.Dropped = e.Received, e.Lost, new(e.Dropped)
	}
	if c.Pace != nil {
		t.KeepsUp = new(c.Pace.KeepsUp)
	}
	t.Failed = failed(c)
	passed := func(g string) bool { return c.Checks[g].Verdict == result.Pass }
	t.Safe = !c.Cut && f.Lost != nil && *f.Lost == 0 && (f.Dropped == nil || *f.Dropped == 0) && passed("G1")
	t.Ordered = passed("G2") && passed("G3")
	return t
}

// failed are the guarantees that a cell violates. What a scenario allows to fail is no
// reason to recommend it.
func failed(c *result.Cell) (all []string) {
	all = guarantees(c, func(_, verdict string) bool { return verdict == result.Fail || verdict == result.Allowed })
	if e := c.Events; e != nil && len(all) == 0 && !c.Cut && (e.Dropped > 0 || e.Lost != nil && *e.Lost > 0) {
		all = append(all, "lost or dropped events")
	}
	return all
}

// guarantees are those whose verdict is wanted.
func guarantees(c *result.Cell, want func(g, verdict string) bool) (all []string) {
	for _, g := range check.Guarantees {
		if want(g, c.Checks[g].Verdict) {
			all = append(all, g)
		}
	}
	return all
}

// of is a figure by the objective's metric, nil where it is not known.
func (o Objective) of(f *Figures) *float64 {
	switch o.Metric {
	case metricP50:
		return f.P50
	case metricP90:
		return f.P90
	case metricP99:
		return f.P99
	case metricMax:
		return f.Max
	case metricDrain:
		return f.Drain
	}
	return f.DrainAfter
}
