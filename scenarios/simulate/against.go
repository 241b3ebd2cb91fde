package simulate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
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
	// OverheadMs is what was added to each request, FittedOn how many cells it is the
	// median of; 0: it was given, or there was none to fit on.
	OverheadMs float64 `json:"overheadMs"`
	FittedOn   int     `json:"fittedOn"`
	Measured   Figures `json:"measured"`
	Predicted  Figures `json:"predicted"`
	// DrainError and RateError are predicted ÷ measured − 1.
	DrainError float64 `json:"drainError"`
	RateError  float64 `json:"rateError"`
}

// Figures are what is compared.
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

// Against simulates every valid cell of a run's folder with the arrivals of its op log. A
// negative overhead is fitted: for each cell, the median of those that make the simulation of
// a cell of another point of the matrix as fast as it was measured, never of its own. left
// says of the other cells why they are left out.
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
			given, n = fromOthers(cells, m)
		}
		o, err := m.run(ctx, given)
		if err != nil {
			return nil, nil, err
		}
		c := Comparison{
			Cell: m.cell.ID, Repetition: m.cell.Repetition, Params: m.cell.Params, Strategy: m.cell.Handler.Strategy,
			OverheadMs: given.Seconds() * 1e3, FittedOn: n,
			Measured:  Figures{m.cell.Storage.Requests, *m.cell.Handler.DrainSeconds, *m.cell.Storage.QPS, m.cell.Freshness.P50, m.cell.Freshness.P99},
			Predicted: Figures{Requests: o.Requests, DrainSeconds: o.DrainSeconds, StorageQPS: o.StorageQPS},
		}
		if o.Freshness != nil {
			c.Predicted.FreshnessP50, c.Predicted.FreshnessP99 = o.Freshness.P50, o.Freshness.P99
		}
		c.DrainError, c.RateError = c.Predicted.DrainSeconds/c.Measured.DrainSeconds-1, c.Predicted.StorageQPS/c.Measured.StorageQPS-1
		all = append(all, c)
	}
	return all, left, nil
}

// measured is a cell with what it is simulated by.
type measured struct {
	cell     *result.Cell
	scenario *spec.Scenario
	seed     uint64
	arrivals []Arrival
	overhead time.Duration // that fits it
	fits     bool          // its rate depends on the overhead
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
		return nil, "there is no op log", nil
	}
	arrivals, err := recorded(&s, ops)
	if err != nil {
		return nil, "", err
	}
	if len(arrivals) == 0 {
		return nil, "the op log has no write of the load", nil
	}
	return &measured{cell: c, scenario: &s, seed: record.Seed, arrivals: arrivals}, "", nil
}

// recorded are the arrivals of an op log: the load's writes when they were answered, those of
// one object in the order of their versions.
func recorded(s *spec.Scenario, ops iter.Seq2[oplog.Record, error]) ([]Arrival, error) {
	var records []oplog.Record
	first := int64(math.MaxInt64)
	for r, err := range ops {
		if err != nil {
			return nil, err
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
	var all []Arrival
	for i := range records {
		r := &records[i]
		of := name{r.Kind, r.Namespace, r.Name}
		a := Arrival{
			At: max(time.Duration(r.Finished-first), last[of], 0), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
			Version: version(r), Delete: r.Type == oplog.TypeDelete, Bystander: r.Bystander,
		}
		last[of] = a.At
		if r.Phase == oplog.PhaseLoad {
			a.Lag = max(0, a.At-time.Duration(r.Intended-first))
		}
		if end.first(&a, r.Type) {
			state := a
			state.Delete = false
			all = append(all, state)
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

func deletes(r *oplog.Record) int {
	if r.Type == oplog.TypeDelete {
		return 1
	}
	return 0
}

func (m *measured) run(ctx context.Context, overhead time.Duration) (*Outcome, error) {
	o, err := Run(ctx, m.scenario, Options{Seed: m.seed, Overhead: overhead, Arrivals: slices.Values(m.arrivals)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.cell.ID, err)
	}
	return o, nil
}

const (
	// mostOverhead is the largest that is looked for.
	mostOverhead = 50 * time.Millisecond
	// fitSteps halve it to 50 µs.
	fitSteps = 10
	// sensitive is the least part by which a cell's rate must fall at twice the mean
	// latency, or what is fitted to it is noise.
	sensitive = 0.2
)

// fit looks for the overhead that makes the simulation as fast as the cell.
func (m *measured) fit(ctx context.Context) error {
	mean := m.scenario.Storage.MeanLatency(podKind)
	rates := map[time.Duration]float64{0: 0, mean: 0}
	for d := range maps.Clone(rates) {
		o, err := m.run(ctx, d)
		if err != nil {
			return err
		}
		rates[d] = o.StorageQPS
	}
	if mean == 0 || rates[mean] > rates[0]*(1-sensitive) {
		return nil
	}
	m.fits = true
	low, high := time.Duration(0), mostOverhead
	for range fitSteps {
		middle := (low + high) / 2
		o, err := m.run(ctx, middle)
		if err != nil {
			return err
		}
		if o.StorageQPS > *m.cell.Storage.QPS {
			low = middle
		} else {
			high = middle
		}
	}
	m.overhead = low
	return nil
}

// fromOthers is the median of the overheads of the other points' cells, and of how many.
func fromOthers(cells []*measured, m *measured) (time.Duration, int) {
	var all []time.Duration
	for _, o := range cells {
		if o.fits && !maps.Equal(o.cell.Params, m.cell.Params) {
			all = append(all, o.overhead)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], len(all)
}
