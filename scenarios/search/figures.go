package search

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/simulate"
	"github.com/watchbench/watchbench/scenarios/spec"
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

// fromCell returns a measured cell. Drain and freshness of a cut cell cover only a part of it, so they are left out.
func fromCell(c *result.Cell) result.TunedCell {
	t := result.TunedCell{Valid: c.Valid, Cut: c.Cut, Figures: Figures{StorageQPS: c.Storage.QPS,
		Requests: c.Storage.Requests}}
	if !c.Valid {
		t.Reason = strings.Join(c.InvalidReasons, "; ")
	}
	f := &t.Figures
	if !c.Cut {
		f.Drain, f.DrainAfter = c.Handler.DrainSeconds, c.Handler.DrainAfterLoad
		freshness(f, c.Freshness)
	}
	f.WriterFull = c.Writer.FullSeconds
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
	t.Safe = !c.Cut && f.Lost != nil && *f.Lost == 0 && *f.Dropped == 0 && passed("G1")
	t.Ordered = passed("G2") && passed("G3")
	for _, g := range check.Guarantees { // a failure that the scenario allows is one all the same
		if v := c.Checks[g].Verdict; v == result.Fail || v == result.Allowed {
			t.Failed = append(t.Failed, g+" failed")
		}
	}
	if f.Lost != nil && *f.Lost > 0 {
		t.Failed = append(t.Failed, units.Count(*f.Lost, "object")+" lost")
	}
	if f.Dropped != nil && *f.Dropped > 0 {
		t.Failed = append(t.Failed, units.Count(*f.Dropped, "event")+" dropped")
	}
	return t
}

const (
	// readRate is about the events per second that a watcher reads from a simulated apiserver at
	// unlimited speed, on two CPUs.
	readRate = 10_000
	// simulatedAPI is the delay from a simulated apiserver to the watcher.
	simulatedAPI = time.Millisecond
	// unlimitedDrain lets even one request at a time drain.
	unlimitedDrain = 1000 * time.Hour
)

// Simulator plays one cell in virtual time.
type Simulator func(ctx context.Context, s spec.Scenario, seed uint64) (Figures, error)

// Virtual plays a cell with package simulate.
func Virtual(ctx context.Context, s spec.Scenario, seed uint64) (Figures, error) {
	o := simulate.Options{Seed: seed}
	s.DrainTimeout = spec.Duration(unlimitedDrain)
	if s.Simulated() {
		o.API = simulatedAPI
		if !s.Speed().Limited() {
			length := s.Load.Duration.Std().Seconds()
			s.Load.Speed = 0
			s.Cluster.Replay.Speed = units.Speed(max(units.MinSpeed, readRate*length/max(1, s.Load.MeanRate()*length)))
		}
	}
	out, err := simulate.Run(ctx, &s, o)
	if err != nil {
		return Figures{}, err
	}
	if out.Cut {
		return Figures{}, badinput.New("lower the load",
			"%s after the load %d of %d simulated events are unsent", unlimitedDrain, out.Left, out.Events)
	}
	return fromOutcome(out), nil
}
