package simulate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Comparison is a measured cell beside the simulation of the same arrivals.
type Comparison struct {
	Cell       string            `json:"cell"`
	Repetition int               `json:"repetition"`
	Params     map[string]string `json:"params"`
	Strategy   string            `json:"strategy"`
	// OverheadMs was added to each request; it is the median over FittedOn cells, or 0 cells if it
	// was given or none could be fitted.
	OverheadMs float64 `json:"overheadMs"`
	FittedOn   int     `json:"fittedOn"`
	// WakeMs is Options.Wake, the median over WokenIn cells; 0 without any.
	WakeMs    float64 `json:"wakeMs"`
	WokenIn   int     `json:"wokenIn"`
	Measured  Figures `json:"measured"`
	Predicted Figures `json:"predicted"`
	// Sensitivity is the larger relative change of drain time or storage rate if storage took
	// twice its mean latency. If it is small the load sets the pace, and any model predicts the
	// cell.
	Sensitivity float64 `json:"sensitivity"`
	// DrainError and RateError are predicted ÷ measured − 1.
	DrainError float64 `json:"drainError"`
	RateError  float64 `json:"rateError"`
}

// Figures to compare.
type Figures struct {
	Requests     int64   `json:"requests"`
	DrainSeconds float64 `json:"drainSeconds"`
	StorageQPS   float64 `json:"storageQPS"`
	FreshnessP50 float64 `json:"freshnessP50"` // seconds
	FreshnessP99 float64 `json:"freshnessP99"`
}

// Within reports whether drain time and storage rate are predicted so well.
func (c *Comparison) Within(tolerance float64) bool {
	return math.Abs(c.DrainError) <= tolerance && math.Abs(c.RateError) <= tolerance // NaN is not
}

// Telling reports whether a wrong model could have missed by more than the tolerance.
func (c *Comparison) Telling(tolerance float64) bool { return c.Sensitivity > tolerance }

// Against simulates every valid cell of a run's folder with the arrivals of its op log. A
// negative overhead is fitted: for each cell, the median of those that make the simulation of
// a cell of another point of the matrix as fast as it was measured, never of its own. So is
// the wake, the median of what other points' idle cells took from a write's answer to its
// request. left says of the other cells why they are left out.
func Against(ctx context.Context, dir string, overhead time.Duration) (all []Comparison, left []string, err error) {
	res, err := result.LoadFile(dir)
	if err != nil {
		return nil, nil, &badinput.Error{What: err.Error(), Remedy: "name the folder of a run"}
	}
	var cells []*measured
	for i := range res.Cells {
		m, why, err := load(dir, &res.Cells[i])
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			left = append(left, fmt.Sprintf("%s, repetition %d: %s", res.Cells[i].ID, res.Cells[i].Repetition, why))
			continue
		}
		cells = append(cells, m)
	}
	wake(cells)
	if overhead < 0 {
		for _, m := range cells {
			if err := m.fit(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, m := range cells {
		given, n := overhead, 0
		if overhead < 0 {
			given, n = median(others(cells, m, func(o *measured) (time.Duration, bool) { return o.overhead, o.fits }))
		}
		c, err := m.compare(ctx, given)
		if err != nil {
			return nil, nil, err
		}
		if c == nil {
			left = append(left, fmt.Sprintf("%s, repetition %d: its drain time or storage rate, measured or simulated, is 0",
				m.cell.ID, m.cell.Repetition))
			continue
		}
		c.FittedOn = n
		all = append(all, *c)
	}
	return all, left, nil
}

// draws is how many times a cell is simulated, each with other latencies of the same
// distribution: which request got which in the run is not known.
const draws = 5

// typical is the simulation whose drain time is the median of so many draws.
func (m *measured) typical(ctx context.Context, overhead time.Duration) (*Outcome, error) {
	var all []*Outcome
	for i := range uint64(draws) {
		o, err := m.run(ctx, overhead, m.seed+i)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *Outcome) int { return cmp.Compare(*a.DrainSeconds, *b.DrainSeconds) })
	return all[draws/2], nil
}

// compare simulates a cell, also with storage twice as slow; nil if a figure to be compared is
// 0, which no ratio can be to.
func (m *measured) compare(ctx context.Context, overhead time.Duration) (*Comparison, error) {
	o, err := m.typical(ctx, overhead)
	if err != nil {
		return nil, err
	}
	if min(*o.DrainSeconds, *o.StorageQPS, *m.cell.Handler.DrainSeconds, *m.cell.Storage.QPS) <= 0 {
		return nil, nil
	}
	slow, err := m.typical(ctx, overhead+m.scenario.Storage.MeanLatency(podKind))
	if err != nil {
		return nil, err
	}
	c := &Comparison{
		Cell: m.cell.ID, Repetition: m.cell.Repetition, Params: m.cell.Params, Strategy: m.cell.Handler.Strategy,
		OverheadMs: overhead.Seconds() * 1e3, WakeMs: m.wake.Seconds() * 1e3, WokenIn: m.woken,
		Measured: Figures{m.cell.Storage.Requests, *m.cell.Handler.DrainSeconds, *m.cell.Storage.QPS,
			m.cell.Freshness.P50, m.cell.Freshness.P99},
		Predicted:   Figures{Requests: o.Requests, DrainSeconds: *o.DrainSeconds, StorageQPS: *o.StorageQPS},
		Sensitivity: max(*slow.DrainSeconds / *o.DrainSeconds - 1, 1 - *slow.StorageQPS / *o.StorageQPS),
	}
	if o.Freshness != nil {
		c.Predicted.FreshnessP50, c.Predicted.FreshnessP99 = o.Freshness.P50, o.Freshness.P99
	}
	c.DrainError = c.Predicted.DrainSeconds/c.Measured.DrainSeconds - 1
	c.RateError = c.Predicted.StorageQPS/c.Measured.StorageQPS - 1
	return c, nil
}

// measured is a cell with what it is simulated by.
type measured struct {
	cell     *result.Cell
	scenario *spec.Scenario
	seed     uint64
	arrivals []Arrival
	delay    time.Duration // median, from a write's answer to the request with its state; negative: unknown
	wake     time.Duration // median of other points' delays
	woken    int           // how many
	overhead time.Duration // that fits it
	fits     bool          // its rate depends on the overhead, and one was found
}

// load reads a cell; why says why it cannot be compared.
func load(dir string, c *result.Cell) (m *measured, why string, err error) {
	switch {
	case !c.Valid:
		return nil, "invalid", nil
	case c.Cut:
		return nil, "cut before it had drained", nil
	case c.Handler.DrainSeconds == nil || c.Storage.QPS == nil || c.Freshness == nil:
		return nil, "it has no drain time, storage rate or freshness", nil
	case c.Watcher.Restarts > 0:
		return nil, "the watcher was restarted", nil
	}
	folder := history.CellDir(dir, c.ID)
	record, err := history.LoadCell(folder)
	if err != nil {
		return nil, "", &badinput.Error{What: err.Error(), Remedy: "name the folder of a run, with its cells"}
	}
	s := record.Scenario
	s.DrainTimeout = spec.Duration(24 * time.Hour) // it did drain
	if err := possible(&s, true); err != nil {
		return nil, err.Error(), nil
	}
	ops, err := history.Ops(folder)
	if err != nil {
		return nil, "", err
	}
	if ops == nil {
		return nil, "the op log is missing", nil
	}
	arrivals, first, err := recorded(&s, ops)
	if err != nil {
		return nil, "", err
	}
	if len(arrivals) == 0 {
		return nil, "the op log has no write of the load", nil
	}
	sent, err := history.Ledger(folder)
	if err != nil {
		return nil, "", err
	}
	m = &measured{cell: c, scenario: &s, seed: record.Seed, arrivals: arrivals}
	m.delay, err = delayOf(arrivals, first, sent)
	return m, "", err
}

// recorded are the arrivals of an op log: the load's writes when they were answered, those of
// one object in the order of their versions. first is the start of the load, in Unix
// nanoseconds.
func recorded(s *spec.Scenario, ops iter.Seq2[oplog.Record, error]) (all []Arrival, first int64, err error) {
	var records []oplog.Record
	first = math.MaxInt64
	for r, err := range ops {
		if err != nil {
			return nil, 0, err
		}
		if r.Phase != oplog.PhaseLoad && r.Phase != oplog.PhaseWitnessed || r.Type == oplog.TypeHeartbeat || !r.OK() {
			continue
		}
		if !r.Bystander && r.Phase == oplog.PhaseLoad {
			first = min(first, r.Started)
		}
		records = append(records, r)
	}
	version := func(r *oplog.Record) uint64 { return max(r.ResourceVersion, r.DeletedVersion) }
	slices.SortStableFunc(records, func(a, b oplog.Record) int {
		return cmp.Or(cmp.Compare(version(&a), version(&b)), cmp.Compare(deletes(&a), deletes(&b)))
	})
	type name struct{ kind, namespace, name string }
	last := map[name]time.Duration{}
	end := newEnds(s)
	for i := range records {
		r := &records[i]
		of := name{r.Kind, r.Namespace, r.Name}
		a := Arrival{
			At: max(time.Duration(r.Finished-first), last[of],
				0), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
			Version: version(r), Delete: r.Type == oplog.TypeDelete, Uncounted: r.Bystander,
		}
		last[of] = a.At
		if r.Phase == oplog.PhaseLoad {
			a.Lag = max(0, a.At-time.Duration(r.Intended-first))
		}
		if end.first(&a, r.Type) {
			all = append(all, state(a))
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return all, first, nil
}

func deletes(r *oplog.Record) int {
	if r.Type == oplog.TypeDelete {
		return 1
	}
	return 0
}
