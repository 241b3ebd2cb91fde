package search

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/simulate"
)

// Figures of a setting, simulated or measured.
type Figures = result.TunedFigures

// fromOutcome returns the figures of a simulated cell.
func fromOutcome(o *simulate.Outcome) Figures {
	f := Figures{
		Events: o.Events, Requests: o.Requests, Drain: o.DrainSeconds, DrainAfter: o.DrainAfterLoadSeconds,
		StorageQPS: o.StorageQPS, InFlight: new(float64(o.MaxInFlight)), WriterDepth: new(float64(o.WriterMaxDepth)),
		HandlerDepth: new(float64(o.HandlerMaxDepth)), WriterFull: new(o.WriterFullSeconds), Dropped: new(o.Dropped),
	}
	freshness(&f, o.Freshness)
	return f
}

func freshness(f *Figures, q *result.Quantiles) {
	if q != nil && q.Count > 0 {
		f.P50, f.P90, f.P99, f.Max = new(q.P50), new(q.P90), new(q.P99), new(q.Max)
	}
}

// fromCell returns a measured cell. Drain and freshness of a cut cell cover only a part of it, so
// they are left out.
func fromCell(c *result.Cell) result.TunedCell {
	t := result.TunedCell{Valid: c.Valid, Cut: c.Cut, Figures: Figures{StorageQPS: c.Storage.QPS,
		Requests: c.Storage.Requests}}
	if !c.Valid {
		t.Late = len(c.LateReasons) > 0 && len(c.LateReasons) == len(c.InvalidReasons)
		t.Reason = strings.Join(c.InvalidReasons, "; ")
	}
	f := &t.Figures
	if !c.Cut {
		f.Drain, f.DrainAfter = c.Handler.DrainSeconds, c.Handler.DrainAfterLoad
		freshness(f, c.Freshness)
	}
	f.WriterFull, f.RSSMiB = c.Writer.FullSeconds, c.Watcher.RSSPeakMiB
	if v := c.Series[result.SeriesStorageInFlight].V; len(v) > 0 {
		f.InFlight = new(slices.Max(v))
	}
	if e := c.Events; e != nil {
		f.Events, f.Lost, f.Dropped = e.Received, e.Lost, new(e.Dropped)
	}
	if c.Pace != nil {
		t.KeepsUp = new(c.Pace.KeepsUp)
	}
	passed := func(g string) bool { return c.Checks[g].Verdict == result.Pass }
	lost := f.Lost != nil && *f.Lost > 0 || f.Dropped != nil && *f.Dropped > 0
	t.Safe = !c.Cut && f.Lost != nil && !lost && passed("G1")
	t.Ordered = passed("G2") && passed("G3")
	// A failure that the scenario allows still rules a setting out.
	t.Failed = guarantees(c, func(_, verdict string) bool { return verdict == result.Fail || verdict == result.Allowed })
	if lost && len(t.Failed) == 0 && !c.Cut {
		t.Failed = []string{"lost or dropped events"}
	}
	return t
}

// guarantees lists those whose verdict is wanted.
func guarantees(c *result.Cell, want func(g, verdict string) bool) (all []string) {
	for _, g := range check.Guarantees {
		if want(g, c.Checks[g].Verdict) {
			all = append(all, g)
		}
	}
	return all
}
