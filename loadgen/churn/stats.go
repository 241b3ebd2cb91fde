package churn

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Quantiles of a distribution, in milliseconds. HDR is the base64 HdrHistogram V2
// encoding in microseconds, so that runs can be merged.
type Quantiles struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	HDR   string  `json:"hdr,omitempty"`
}

// Stats summarizes the load. Operations of bystanders are counted apart;
// those of warm-up, prefill and heartbeats not at all. The fields up to
// latencyActualMs have the names and meanings of "load" in results.json.
type Stats struct {
	Model     string  `json:"model"`
	Threads   int     `json:"threads,omitempty"`
	DurationS float64 `json:"durationSeconds"` // from the start of the load to the last answer
	// Planned is the number of operations asked for; in a closed loop bounded by
	// time, of those begun.
	Planned    int64      `json:"planned"`
	Done       int64      `json:"done"`   // acknowledged
	Errors     int64      `json:"errors"` // failed attempts, retried ones included
	OfferedQPS *float64   `json:"offeredQPS,omitempty"`
	QPS        float64    `json:"qps"`                         // done per second of DurationS
	LagMs      *Quantiles `json:"lagMs,omitempty"`             // actual minus intended dispatch
	FromIntent *Quantiles `json:"latencyIntendedMs,omitempty"` // answer minus intended dispatch
	FromActual *Quantiles `json:"latencyActualMs,omitempty"`   // answer minus actual (first) dispatch

	Abandoned  int64           `json:"abandoned"` // given up after all attempts
	Skipped    int64           `json:"skipped"`   // not sent because an earlier step of the pod was given up
	FirstError string          `json:"firstError,omitempty"`
	Bystander  *BystanderStats `json:"bystander,omitempty"`
	Live       int             `json:"livePods"` // pods of the plan that exist now, prefilled ones included
}

// BystanderStats is the trickle beside the load.
type BystanderStats struct {
	Kind    string `json:"kind"`
	Planned int64  `json:"planned"`
	Done    int64  `json:"done"`
	Errors  int64  `json:"errors"`
}

// Progress is a look at a phase under way.
type Progress struct {
	Done    int64 // acknowledged
	Planned int64 // 0: not known, a closed loop bounded by time
	Errors  int64
	// Fraction of the phase that is over: of operations, or of time where that is
	// what ends it.
	Fraction float64
}

// stats collects Stats while the load runs.
type stats struct {
	mu                        sync.Mutex // guards what follows
	begun                     int64      // closed loop: taken from the plan
	done, errors              int64
	abandoned, skipped        int64
	firstError                string
	lastAnswer                int64
	lag, fromIntent, fromDisp *hdrhistogram.Histogram
	bystander                 BystanderStats
}

// Histogram range: 1 µs to 10 minutes with three digits.
const (
	histogramMin    = 1
	histogramMax    = int64(10 * time.Minute / time.Microsecond)
	histogramDigits = 3
)

func (s *stats) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	histogram := func() *hdrhistogram.Histogram {
		return hdrhistogram.New(histogramMin, histogramMax, histogramDigits)
	}
	s.lag, s.fromIntent, s.fromDisp = histogram(), histogram(), histogram()
}

func micros(ns int64) int64 { return min(max(ns/int64(time.Microsecond), 0), histogramMax) }

func (s *stats) acknowledge(op plan.Op, intended, started, finished int64) {
	if op.Phase != oplog.PhaseLoad {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.lastAnswer = max(s.lastAnswer, finished)
	// The values were forced into the histograms' range.
	_ = s.lag.RecordValue(micros(started - intended))
	_ = s.fromIntent.RecordValue(micros(finished - intended))
	_ = s.fromDisp.RecordValue(micros(finished - started))
}

func (s *stats) fail(op plan.Op, err error) {
	if op.Phase != oplog.PhaseLoad {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors++
	if s.firstError == "" {
		s.firstError = errorText(err)
	}
}

func (s *stats) giveUp(op plan.Op) { s.add(op, &s.abandoned) }
func (s *stats) skip(op plan.Op)   { s.add(op, &s.skipped) }
func (s *stats) begin(op plan.Op)  { s.add(op, &s.begun) }

func (s *stats) add(op plan.Op, to *int64) {
	if op.Phase != oplog.PhaseLoad {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*to++
}

func (s *stats) bystanderDone(begun bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case begun:
		s.bystander.Planned++
	case err != nil:
		s.bystander.Errors++
	default:
		s.bystander.Done++
	}
}

// QuantilesOf reads a histogram of microseconds, nil if it is empty.
func QuantilesOf(h *hdrhistogram.Histogram) *Quantiles {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	ms := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		encoded = nil // the quantiles suffice
	}
	return &Quantiles{Count: h.TotalCount(), P50: ms(50), P90: ms(90), P99: ms(99), Max: float64(h.Max()) / 1000,
		HDR: string(encoded)}
}
