package live

import (
	"strings"
	"unicode"
)

// Frame is one moment as the page shows it. A nil figure is unknown.
type Frame struct {
	Time  int64 `json:"t"`               // Unix milliseconds
	State bool  `json:"state,omitempty"` // only Run has changed; without a reading

	// Events per second. Of bcs-k8s-watch, Sent are the requests that storage took.
	Received  *float64 `json:"received,omitempty"`
	Sent      *float64 `json:"sent,omitempty"`
	Coalesced *float64 `json:"coalesced,omitempty"`
	Dropped   *float64 `json:"dropped,omitempty"`

	Queues     []Queue  `json:"queues,omitempty"`     // the Writer first, then by name
	MoreQueues int      `json:"moreQueues,omitempty"` // that are not among Queues
	Writer     *float64 `json:"writer,omitempty"`     // events in the Writer queue
	Handlers   *float64 `json:"handlers,omitempty"`   // and in all other queues

	InFlight  *float64     `json:"inFlight,omitempty"` // requests
	Latency   *Percentiles `json:"latency,omitempty"`  // of writes to storage
	Freshness *Percentiles `json:"freshness,omitempty"`
	Oldest    *float64     `json:"oldest,omitempty"`     // age of the oldest unsent change, seconds
	OldestOf  string       `json:"oldestKind,omitempty"` // and its kind

	CPU    *float64 `json:"cpu,omitempty"`    // cores
	Memory *float64 `json:"memory,omitempty"` // resident bytes
	NetIn  *float64 `json:"netIn,omitempty"`  // bytes per second
	NetOut *float64 `json:"netOut,omitempty"`

	Bottleneck  *Bottleneck `json:"bottleneck,omitempty"`
	Unreachable *Outage     `json:"unreachable,omitempty"`
	Run         *Run        `json:"run,omitempty"` // nil where no run is watched
}

// Queue is one queue of the watcher.
type Queue struct {
	Name     string   `json:"n"`
	Depth    float64  `json:"d"`
	Capacity *float64 `json:"c,omitempty"`
}

// Percentiles are in seconds. One beyond the last bound of its histogram is that bound.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// Outage explains a missing reading.
type Outage struct {
	Since int64  `json:"since"` // Unix milliseconds
	Why   string `json:"why"`
}

// Run is how far a run is.
type Run struct {
	Scenario string    `json:"scenario"`
	Cell     string    `json:"cell,omitempty"`
	Number   int       `json:"number,omitempty"` // of the cell, from 1
	Of       int       `json:"of,omitempty"`
	Phase    string    `json:"phase,omitempty"`
	Fault    string    `json:"fault,omitempty"` // in force now
	Note     string    `json:"note,omitempty"`  // what is done to the processes now
	Verdicts []Verdict `json:"verdicts,omitempty"`
	Judged   int       `json:"judged,omitempty"` // cells, also those that are no longer among Verdicts
	Failed   int       `json:"failed,omitempty"`
	Ended    bool      `json:"ended,omitempty"`
}

// Verdict is the outcome of one cell.
type Verdict struct {
	Cell  string `json:"cell"`
	State string `json:"state"` // one of the State constants
	Text  string `json:"text"`
}

// States of a cell.
const (
	StatePassed  = "passed"
	StateAllowed = "failed as allowed"
	StateOpen    = "nothing failed" // and not all was judged
	StateFailed  = "failed"
	StateInvalid = "invalid"
)

const maxVerdicts = 40

// Add notes the verdict of one more cell.
func (r *Run) Add(v Verdict) {
	r.Judged++
	if v.State == StateFailed {
		r.Failed++
	}
	kept := r.Verdicts[max(0, len(r.Verdicts)-maxVerdicts+1):]
	r.Verdicts = append(append(make([]Verdict, 0, len(kept)+1), kept...), v) // frames share the old ones
}

func (r *Run) plain() *Run {
	if r == nil {
		return nil
	}
	c := *r
	for _, s := range []*string{&c.Scenario, &c.Cell, &c.Phase, &c.Fault, &c.Note} {
		*s = plain(*s)
	}
	c.Verdicts = make([]Verdict, len(r.Verdicts))
	for i, v := range r.Verdicts {
		c.Verdicts[i] = Verdict{plain(v.Cell), v.State, plain(v.Text)}
	}
	return &c
}

const maxText = 200

// plain is text for the page: one line, printable, not too long. Braces would begin a style in a chart.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	n := 0
	return strings.Map(func(r rune) rune {
		n++
		switch {
		case n > maxText:
			return -1
		case n == maxText:
			return '…'
		case r == '{':
			return '('
		case r == '}':
			return ')'
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, s)
}
