package measure

import (
	"math"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Queues reads the watcher's own metrics about a kind's handler queues.
type Queues struct {
	Handled   map[string]float64 // events per queue
	Imbalance *float64           // busiest queue's share ÷ mean share; nil with one queue
	// Little is the largest |L − λW| ÷ L of a queue, in a drained cell: mean depth against rate × mean wait.
	Little      *float64
	LittleQueue string
}

// littleLeast is the event-seconds a queue must have held before Little's law is judged on it: below, one scrape
// between two updates is a visible part.
const littleLeast = 1.0

// QueuesOf compares two scrapes around the load.
func QueuesOf(before, after history.Scrape, kind string, drained bool) Queues {
	q := Queues{}
	handled := difference(before, after, metric.QueueHandled)
	if handled == nil {
		return q
	}
	names := history.QueueNames(handled, kind)
	q.Handled = map[string]float64{}
	total, most := 0.0, 0.0
	for _, n := range names {
		q.Handled[n] = handled[n]
		total += handled[n]
		most = max(most, handled[n])
	}
	if len(names) > 1 && total > 0 {
		q.Imbalance = ptr(most / (total / float64(len(names))))
	}
	if !drained {
		return q
	}
	depth := difference(before, after, metric.QueueDepthTime)
	wait := difference(before, after, metric.QueueWaitSeconds)
	if depth == nil || wait == nil {
		return q
	}
	// L = depth/T and λW = handled/T × wait/handled; the time cancels out.
	for _, n := range names {
		if depth[n] < littleLeast {
			continue
		}
		d := math.Abs(depth[n]-wait[n]) / depth[n]
		if q.Little == nil || d > *q.Little {
			q.Little, q.LittleQueue = &d, n
		}
	}
	q.Little = rounded(q.Little)
	return q
}

// difference is the growth of a counter per queue; a queue that came up in between started at 0.
func difference(before, after history.Scrape, name string) map[string]float64 {
	b, a := before.By(name, "queue"), after.By(name, "queue")
	if a == nil {
		return nil
	}
	out := map[string]float64{}
	for k, v := range a {
		out[k] = v - b[k]
	}
	return out
}

// growth is the growth of a counter, all series together.
func growth(before, after history.Scrape, name string, labels ...string) *float64 {
	a := after.Sum(name, labels...)
	if a == nil {
		return nil
	}
	return new(*a - before.Value(name, labels...))
}

// EventsOf is the watcher's own account of its events since its start, of the series with these labels; nil when it
// gives none.
func EventsOf(s history.Scrape, labels ...string) *result.Events {
	if !s.Has(metric.EventsReceived) {
		return nil
	}
	return events(func(name string) *float64 { return s.Sum(name, labels...) })
}

func events(counter func(name string) *float64) *result.Events {
	n := func(name string) int64 {
		if v := counter(name); v != nil {
			return int64(*v)
		}
		return 0
	}
	return &result.Events{
		Received: n(metric.EventsReceived), Sent: n(metric.EventsSent), Coalesced: n(metric.EventsCoalesced),
		Filtered: n(metric.EventsFiltered), Parked: n(metric.EventsParked), Queued: n(metric.EventsQueued),
		Dropped: n(metric.EventsDropped), Retried: n(metric.EventsRetried),
	}
}

// eventsBetween is the account of what came between two scrapes of one process: neither what was there before the load
// nor a warm-up.
func eventsBetween(before, after history.Scrape) *result.Events {
	e, b := EventsOf(after), EventsOf(before)
	if e == nil || b == nil || e.Received < b.Received { // none, or another replica's
		return e
	}
	return events(func(name string) *float64 { return growth(before, after, name) })
}

// EventsByKind is the same as EventsOf, per kind.
func EventsByKind(s history.Scrape) map[string]result.Events {
	out := map[string]result.Events{}
	for kind := range s.By(metric.EventsReceived, "kind") {
		out[kind] = *EventsOf(s, "kind", kind)
	}
	return out
}
