package capacity

import (
	"errors"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/model"
)

// burstModel is the name of the model in tables.
const burstModel = "burst"

// burst holds the largest backlog and the end of the drain, as the arrivals of each cell and the
// configured service give them, against what was sampled and acknowledged.
func (r *Report) burst(p *point) {
	var peaks, ends []float64
	for _, l := range p.loads {
		peak, end, err := p.absorb(l)
		if err != nil {
			r.refuse(p.label()+", "+burstModel, err)
			return
		}
		peaks, ends = append(peaks, peak), append(ends, end.Seconds())
	}
	r.add(p, Line{
		Figure: "peak backlog", Unit: "events", Model: burstModel, Kind: Approximate, Predicted: median(peaks), Measured: p.median(sampledPeak),
		Note: "measured by samples, four a second: the peak may be higher",
	})
	r.add(p, Line{
		Figure: "drain", Unit: "s", Model: burstModel, Kind: Approximate, Predicted: median(ends), Measured: p.median(func(c *result.Cell) *float64 { return c.Handler.DrainSeconds }),
	})
}

// sampledPeak is the largest sample of the Pod events that the watcher had accepted and storage
// had not acknowledged, from the start of the load to the end of the drain.
func sampledPeak(c *result.Cell) (most *float64) {
	depth := c.Series[result.SeriesQueueDepth]
	for i, t := range depth.T {
		if i < len(depth.V) && t >= 0 && c.Handler.DrainSeconds != nil && t <= *c.Handler.DrainSeconds && (most == nil || depth.V[i] > *most) {
			most = new(depth.V[i])
		}
	}
	return most
}

// Reasons why the model does not apply.
var (
	errNoOps    = errors.New("the record of a cell has no op log (ops.ndjson)")
	errMerges   = errors.New("dedup merges events, so that fewer are sent than arrive")
	errBeside   = errors.New("controllers write Pods that are in no op log")
	errPeriods  = errors.New("storage is slow for whole periods: its mean latency is not that of a burst")
	errNoDelay  = errors.New("storage has no latency, so that its service has no rate")
	errNoBurst  = errors.New("no more events arrive than requests may be in flight: there is no backlog to speak of")
	errOverflow = errors.New("what a full queue does decides from there on")
)

// absorb plays the events of a cell into storage's configured service. Of a partitioned watcher
// each queue has one request in flight, but all together are not served faster than storage
// answers: both are lower bounds of the backlog, and the larger one counts.
func (p *point) absorb(l *load) (peak float64, end time.Duration, err error) {
	_, even := p.scenario.Storage.LatencyDeviation(podKind)
	switch {
	case l == nil:
		return 0, 0, errNoOps
	case p.strategy() == "dedup":
		return 0, 0, errMerges
	case p.scenario.Cluster.Controllers:
		return 0, 0, errBeside
	case p.latency() <= 0:
		return 0, 0, errNoDelay
	case !even:
		return 0, 0, errPeriods
	}
	together, err := model.Absorb(l.arrivals(false), 1, p.limit())
	if err != nil {
		return 0, 0, err
	}
	most, longest, inFlight := together.Peak, together.Peak, int64(p.inFlight())
	end = together.Drained
	if p.strategy() == "partitioned" {
		apart, err := model.Absorb(l.arrivals(true), p.queues(), model.Rate(1, p.latency()))
		if err != nil {
			return 0, 0, err
		}
		most, longest, inFlight = max(most, apart.Peak), apart.Longest, 1
		end = max(end, apart.Drained)
	}
	if longest <= inFlight {
		return 0, 0, errNoBurst
	}
	if room := int64(p.scenario.Watcher.HandlerQueueLen); longest-inFlight > room {
		return 0, 0, fmt.Errorf("%d events wait for a queue with room for %d (handlerQueueLen): %w", longest-inFlight, room, errOverflow)
	}
	// The last event takes a whole request, however many others are free to serve it.
	return float64(most), max(end, l.events[len(l.events)-1].at+p.latency()), nil
}

// arrivals are the events in the queues of the hash, or all in one.
func (l *load) arrivals(hashed bool) func(yield func(time.Duration, int) bool) {
	return func(yield func(time.Duration, int) bool) {
		for _, e := range l.events {
			queue := 0
			if hashed {
				queue = e.queue
			}
			if !yield(e.at, queue) {
				return
			}
		}
	}
}
