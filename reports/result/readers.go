package result

import (
	"maps"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// Readers are those who read Pods while the load went on, and what that did to the others;
// nil where the resource watcher did not run and nobody read from the apiserver.
type Readers struct {
	From string `json:"from"` // watcher or apiserver
	// Get and List are nil where nobody asked.
	Get      *Queries  `json:"get,omitempty"`
	List     *Queries  `json:"list,omitempty"`
	Watches  *Watches  `json:"watches,omitempty"`
	Webhooks *Webhooks `json:"webhooks,omitempty"`
	// FreshnessRatio is the 99th percentile of the Pods' freshness over that of the cell with the same plan, in the
	// same repetition, and no readers. nil without such a cell, and where one of the two is invalid or was cut.
	FreshnessRatio *float64 `json:"freshnessRatio,omitempty"`
}

// Queries counts the queries of one verb during the load.
type Queries struct {
	Planned int64 `json:"planned"` // by rate and time; at least Sent
	Sent    int64 `json:"sent"`    // those that were answered, or failed
	Done    int64 `json:"done"`    // answered with 200 and a complete and valid body, a GET with the object asked for
	// Errors are the others, by status or by what went wrong.
	Errors map[string]int64 `json:"errors,omitempty"`
	QPS    *float64         `json:"qps,omitempty"` // done, per second
	// FromIntent is the time from when a query was due to the last byte of its answer, of those that were done.
	FromIntent *Quantiles `json:"latencyIntendedMs,omitempty"`
}

// Watches counts what the readers' watches received.
type Watches struct {
	Count    int   `json:"count"`
	Changes  int64 `json:"changes"`  // that each was to show, by the control
	Events   int64 `json:"events"`   // of these received, by all; what comes again does not count
	Missed   int64 `json:"missed"`   // that did not come, by all
	Resumed  int64 `json:"resumed"`  // watches that ended, and went on where they were
	Relisted int64 `json:"relisted"` // that began anew, after a 410
	// LagMs is the time from when a write was due to its event at a reader, of writes whose version is known.
	LagMs *Quantiles `json:"lagMs,omitempty"`
}

// Webhooks are deliveries to the receivers.
type Webhooks struct {
	Receivers int   `json:"receivers"`
	Changes   int64 `json:"changes"` // that each was to receive
	Attempts  int64 `json:"attempts"`
	Delivered int64 `json:"delivered"` // answered with 2xx
	Repeated  int64 `json:"repeated"`  // delivered before, once more
	Missed    int64 `json:"missed"`    // that they did not receive
	// LagMs is like that of Watches, up to the delivery's arrival.
	LagMs *Quantiles `json:"lagMs,omitempty"`
}

// CompareReaders compares each cell with readers with the one of the same plan that has
// none: the same repetition, and the same point of all axes but those of readers.
func (r *Results) CompareReaders() {
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Readers == nil {
			continue
		}
		c.Readers.FreshnessRatio = nil
		base := r.withoutReaders(c)
		if base == nil || !c.Valid || !base.Valid || c.Cut || base.Cut || c.Freshness == nil || base.Freshness == nil ||
			base.Freshness.P99 <= 0 {
			continue
		}
		c.Readers.FreshnessRatio = new(stats.Round(c.Freshness.P99 / base.Freshness.P99))
	}
}

func (r *Results) withoutReaders(c *Cell) (found *Cell) {
	for i := range r.Cells {
		o := &r.Cells[i]
		if o.Readers != nil || o.Repetition != c.Repetition || !maps.Equal(plan(o.Params), plan(c.Params)) {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	return found
}

// plan is what parameters say of all but the readers.
func plan(params map[string]string) map[string]string {
	all := maps.Clone(params)
	maps.DeleteFunc(all, func(axis, _ string) bool { return axis == "readers" || strings.HasPrefix(axis, "readers.") })
	return all
}
