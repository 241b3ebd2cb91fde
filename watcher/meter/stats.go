package meter

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// Stats are the event counts of one kind, or of all. At any moment
// Received = Sent + Coalesced + Parked + Queued + Dropped.
type Stats struct {
	Received  uint64 // accepted or refused by Enqueue
	Sent      uint64 // acknowledged by storage
	Coalesced uint64 // superseded by a later event of the same key
	Dropped   uint64 // discarded by a full queue, refused or abandoned at shutdown
	Retried   uint64 // requests after the first for the same event
	Parked    int    // given up until the next change of the key
	Queued    int    // not settled: waiting, in flight, or held by a blocked Enqueue
	InFlight  int    // of the queued ones, being sent
}

// Plus returns the sum of two counts.
func (s Stats) Plus(o Stats) Stats {
	return Stats{
		Received: s.Received + o.Received, Sent: s.Sent + o.Sent, Coalesced: s.Coalesced + o.Coalesced,
		Dropped: s.Dropped + o.Dropped, Retried: s.Retried + o.Retried,
		Parked: s.Parked + o.Parked, Queued: s.Queued + o.Queued, InFlight: s.InFlight + o.InFlight,
	}
}

// Balanced reports whether every event is accounted for (G6).
func (s Stats) Balanced() bool {
	return s.Received == s.Sent+s.Coalesced+s.Dropped+uint64(s.Parked)+uint64(s.Queued)
}

// Abandoned logs the events that were dropped at shutdown, in all and by kind.
type Abandoned struct {
	total int
	kinds []any
}

// Add notes n events of a kind.
func (a *Abandoned) Add(kind string, n int) {
	if n > 0 {
		a.total += n
		a.kinds = append(a.kinds, slog.Int(kind, n))
	}
}

// Log writes one line, or none if nothing was dropped.
func (a *Abandoned) Log(logger *slog.Logger, reason string, attrs ...any) {
	if a.total > 0 {
		attrs = append([]any{"reason", reason}, attrs...)
		logger.Warn("events dropped", append(attrs, "events", a.total, slog.Group("kinds", a.kinds...))...)
	}
}

// EventSeries are the series of the events of each kind.
type EventSeries struct {
	sent, coalesced, dropped, retried, parked, queued, oldest, freshness *prometheus.Desc
}

// NewEventSeries describes the series in d.
func NewEventSeries(d *Descs) EventSeries {
	return EventSeries{
		sent:      d.New(metric.EventsSent, "Events acknowledged by storage.", "kind"),
		coalesced: d.New(metric.EventsCoalesced, "Events superseded by a later one of the same object.", "kind"),
		dropped:   d.New(metric.EventsDropped, "Events lost by a full queue or a shutdown.", "kind"),
		retried:   d.New(metric.EventsRetried, "Requests after the first for the same event.", "kind"),
		parked:    d.New(metric.EventsParked, "Events given up until their object changes.", "kind"),
		queued:    d.New(metric.EventsQueued, "Events accepted and not settled.", "kind"),
		oldest:    d.New(metric.OldestUnsent, "Age of the oldest change that storage lacks.", "kind"),
		freshness: d.New(metric.Freshness, "Receipt of the oldest change in a write to its acknowledgement.", "kind"),
	}
}

// Append appends the series of one kind. age is the age of the oldest unsent event, in
// nanoseconds.
func (s EventSeries) Append(to []prometheus.Metric, kind string, st Stats, age int64,
	freshness *Histogram) []prometheus.Metric {
	return append(to,
		Counter(s.sent, float64(st.Sent), kind),
		Counter(s.coalesced, float64(st.Coalesced), kind),
		Counter(s.dropped, float64(st.Dropped), kind),
		Counter(s.retried, float64(st.Retried), kind),
		Gauge(s.parked, float64(st.Parked), kind),
		Gauge(s.queued, float64(st.Queued), kind),
		Gauge(s.oldest, float64(age)/1e9, kind),
		freshness.Metric(s.freshness, kind),
	)
}
