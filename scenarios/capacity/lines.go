package capacity

import (
	"errors"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/model"
)

const perSecond = "requests/s"

// Of holds the models against a run, whose folder has the record of its cells.
func Of(dir string, res *result.Results) (*Report, error) {
	r := &Report{Schema: Schema, Run: res.Run.ID, Scenario: res.Run.Scenario}
	points, err := read(dir, res, r)
	if err != nil {
		return nil, err
	}
	if len(points) == 0 {
		why := "it has no cells"
		if len(r.LeftOut) > 0 {
			why = r.LeftOut[0]
		}
		return nil, badinput.New("name a run with valid cells of k8s-watch", "%s: no model can be held against this run: %s", dir, why)
	}
	groups, order := map[string][]*point{}, []string{}
	for _, p := range points {
		if groups[p.group] == nil {
			order = append(order, p.group)
		}
		groups[p.group] = append(groups[p.group], p)
		r.little(p)
		r.skew(p)
		r.wait(p)
		r.burst(p)
	}
	for _, g := range order {
		r.scaling(g, groups[g], r.knee(g, groups[g]))
	}
	return r, nil
}

func (r *Report) add(p *point, l Line) {
	l.Point, l.N = p.label(), len(p.cells)
	r.Lines = append(r.Lines, l)
}

func (r *Report) refuse(of string, err error) {
	r.Refused = append(r.Refused, of+": "+err.Error())
}

func storageRate(c *result.Cell) *float64 { return c.Storage.QPS }

// latency is the mean that was configured for writes of Pods.
func (p *point) latency() time.Duration { return p.scenario.Storage.MeanLatency(podKind) }

// little holds the rate against N ÷ L, or what storage was allowed.
func (r *Report) little(p *point) {
	l := Line{Figure: "storage rate", Unit: perSecond, Model: "Little's law", Kind: Bounds, Measured: p.median(storageRate)}
	switch {
	case p.latency() <= 0:
		l.Note = "storage has no latency"
	case !p.limited():
		l.Predicted = new(p.limit())
		l.Note = "storage kept up, or had a backlog for too short a time: this is the load's rate, not a limit"
	default:
		l.Predicted = new(p.limit())
	}
	r.add(p, l)
}

func (p *point) limit() float64 {
	limit := model.Rate(p.inFlight(), p.latency())
	if c := p.allowed().Rate; c > 0 {
		limit = min(limit, float64(c))
	}
	return limit
}

// skew holds the busiest queue's share, and the rate that it allows, against the run.
func (r *Report) skew(p *point) {
	if p.strategy() != "partitioned" || p.queues() < 2 {
		return
	}
	var shares []float64 // each repetition has keys of its own
	for _, l := range p.loads {
		if l == nil {
			r.refuse(p.label()+", hash skew", errNoOps)
			return
		}
		s, err := model.SkewOf(l.keys, p.queues())
		if err != nil {
			r.refuse(p.label()+", hash skew", err)
			return
		}
		shares = append(shares, float64(s))
	}
	predicted := median(shares)
	share := p.median(func(c *result.Cell) *float64 {
		if c.Handler.Imbalance == nil || c.Handler.Queues == 0 {
			return nil
		}
		return new(*c.Handler.Imbalance / float64(c.Handler.Queues))
	})
	r.add(p, Line{Figure: "busiest queue's share", Model: "hash of the keys", Kind: Predicts, Predicted: predicted, Measured: share})
	if p.latency() > 0 && p.limited() {
		bound := min(p.limit(), model.Skew(*predicted).Limit(p.latency()))
		r.add(p, Line{Figure: "storage rate", Unit: perSecond, Model: "hash skew", Kind: Bounds, Predicted: &bound, Measured: p.median(storageRate)})
	}
}

// wait holds the mean queue of a load that storage keeps up with against Allen and Cunneen's
// approximation.
func (r *Report) wait(p *point) {
	load := &p.scenario.Load
	burstiness, steady := map[string]float64{"": 0, plan.ArrivalConstant: 0, plan.ArrivalPoisson: 1}[load.Arrival]
	deviation, ok := p.scenario.Storage.LatencyDeviation(podKind)
	if p.strategy() == "partitioned" || p.strategy() == "dedup" || load.Profile != "" || !steady || !ok || p.latency() <= 0 {
		return
	}
	for _, c := range p.cells {
		if c.Pace == nil || !c.Pace.KeepsUp || c.Load.DurationS <= 0 {
			return
		}
	}
	measured := p.median(func(c *result.Cell) *float64 {
		if c.Handler.QueuedSeconds == nil {
			return nil
		}
		return new(*c.Handler.QueuedSeconds / c.Load.DurationS)
	})
	var rates []float64
	for i, l := range p.loads {
		if l == nil {
			r.refuse(p.label()+", mean queue", errNoOps)
			return
		}
		rates = append(rates, float64(len(l.events))/p.cells[i].Load.DurationS)
	}
	rate := median(rates)
	w, err := model.Queue{Rate: *rate, Latency: p.latency(), Deviation: deviation, Servers: p.inFlight(), Burstiness: burstiness}.Wait()
	if err != nil {
		r.refuse(p.label()+", mean queue", err)
		return
	}
	r.add(p, Line{
		Figure: "mean queue", Unit: "events", Model: "G/G/c", Kind: Approximate, Predicted: &w.Length, Measured: measured,
		Note: fmt.Sprintf("at a utilisation of %.0f %%; writes of one pod wait for each other, too", 100*w.Utilisation),
	})
}

// scaling fits the universal scalability law over the points whose rate was a limit. Where a
// knee of storage explains the rates better, the law's peak is not believed: beyond a limit
// that is hard the rate is flat, which the law takes for the top of a hill.
func (r *Report) scaling(group string, points []*point, knee *model.Knee) {
	if len(points) < 2 {
		return // nothing was swept
	}
	var rated []model.Rated
	var at []*point
	for _, p := range points {
		if !p.limited() {
			continue
		}
		at = append(at, p)
		for _, c := range p.cells {
			if c.Storage.QPS != nil {
				rated = append(rated, model.Rated{Queues: p.queues(), Rate: *c.Storage.QPS})
			}
		}
	}
	f, err := model.ScalingOf(rated)
	if err != nil {
		r.refuse(group+", universal scalability law", err)
		return
	}
	c := Curve{Of: group, Law: f.Scaling, Alpha: [2]float64{f.AlphaIn.Low, f.AlphaIn.High}, Beta: [2]float64{f.BetaIn.Low, f.BetaIn.High}, R2: f.R2}
	peak, err := f.Peak()
	switch {
	case err != nil:
		c.NoPeak = err.Error()
	case knee != nil && knee.Error < f.Error:
		c.NoPeak = fmt.Sprintf("The law is %.0f%% off the rates, storage's knee at %.0f in flight %.0f%%: it is the knee that limits, and the law's peak means nothing", 100*f.Error, knee.InFlight, 100*knee.Error)
	default:
		c.Peak, c.PeakIn = &peak.Queues, &[2]float64{peak.In.Low, peak.In.High}
	}
	for _, p := range at {
		rate := p.median(storageRate)
		if rate == nil {
			continue
		}
		r.add(p, Line{Figure: "storage rate", Unit: perSecond, Model: "universal scalability law", Kind: Fits, Predicted: new(f.At(p.queues())), Measured: rate})
		c.Points = append(c.Points, [2]float64{float64(p.queues()), *rate})
		c.Limits = append(c.Limits, [2]float64{float64(p.queues()), p.limit()})
	}
	r.Curves = append(r.Curves, c)
}

// knee looks for storage's, where all queues are full of work whatever the keys; nil without
// one.
func (r *Report) knee(group string, points []*point) *model.Knee {
	if len(points) < 2 || points[0].strategy() == "partitioned" {
		return nil
	}
	var all []model.Point
	for _, p := range points {
		if !p.limited() {
			continue
		}
		for _, c := range p.cells {
			if c.Storage.QPS != nil && c.Storage.SeenMeanMs != nil {
				all = append(all, model.Point{InFlight: p.queues(), Rate: *c.Storage.QPS, Latency: time.Duration(*c.Storage.SeenMeanMs * 1e6)})
			}
		}
	}
	k, err := model.KneeOf(all)
	if err != nil {
		var no *model.Refusal
		if errors.As(err, &no) && no.Reason == model.NotFlat && points[0].allowed().Inflight == 0 {
			return nil // none was configured, and none is there
		}
		r.refuse(group+", storage's knee", err)
		return nil
	}
	l := Line{
		Point: group, Figure: "storage's knee", Unit: "in flight", Model: "storage.capacity", Kind: Predicts, N: len(all), Measured: &k.InFlight,
		Note: fmt.Sprintf("two lines: flat at %.3g requests/s; by latency alone the knee is at %.3g", k.Capacity, k.ByLatency),
	}
	if c := points[len(points)-1].allowed(); c.Inflight > 0 {
		l.Predicted = new(float64(c.Inflight))
	}
	r.Lines = append(r.Lines, l)
	return &k
}
