package simulate

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func (m *measured) run(ctx context.Context, overhead time.Duration, seed uint64) (*Outcome, error) {
	o, err := Run(ctx, m.scenario, Options{Seed: seed, Overhead: overhead, Wake: m.wake,
		Arrivals: slices.Values(m.arrivals)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.cell.ID, err)
	}
	if o.Cut {
		return nil, badinput.New("name another run", "%s: %s after the load %d of %d simulated events are unsent", m.cell.ID,
			m.scenario.DrainTimeout, o.Left, o.Events)
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
		o, err := m.run(ctx, d, m.seed)
		if err != nil {
			return err
		}
		rates[d] = *o.StorageQPS
	}
	if mean == 0 || rates[mean] > rates[0]*(1-sensitive) {
		return nil
	}
	if rates[0] < *m.cell.Storage.QPS {
		return nil // faster than without any
	}
	low, high := time.Duration(0), mostOverhead
	for range fitSteps {
		middle := (low + high) / 2
		o, err := m.run(ctx, middle, m.seed)
		if err != nil {
			return err
		}
		if *o.StorageQPS > *m.cell.Storage.QPS {
			low = middle
		} else {
			high = middle
		}
	}
	m.overhead, m.fits = low, high < mostOverhead
	return nil
}

// delayOf is the median time from a write's answer until storage received a request with that
// very state; negative if there was none.
func delayOf(arrivals []Arrival, first int64, sent iter.Seq2[ledger.Entry, error]) (time.Duration, error) {
	if sent == nil {
		return -1, nil
	}
	type version struct {
		uid    string
		number uint64
	}
	at := map[version]time.Duration{}
	for i := range arrivals {
		if a := &arrivals[i]; !a.Delete && !a.Uncounted {
			at[version{a.UID, a.Version}] = a.At
		}
	}
	var all []time.Duration
	for e, err := range sent {
		if err != nil {
			return 0, err
		}
		v := version{e.UID, e.ResourceVersion}
		if arrived, ok := at[v]; ok && e.Method == "PUT" {
			all = append(all, max(0, time.Duration(e.Received-first)-arrived))
			delete(at, v) // the first request only
		}
	}
	if len(all) == 0 {
		return -1, nil
	}
	d, _ := median(all)
	return d, nil
}

// idle reports whether most of a cell's writes found a worker that had nothing to do, so that
// its delay is the time to wake it.
func (m *measured) idle() bool {
	return m.delay >= 0 && m.delay < m.scenario.Storage.MeanLatency(podKind)/4
}

// wake gives each cell the median delay of the idle cells of other points.
func wake(cells []*measured) {
	for _, m := range cells {
		m.wake, m.woken = median(others(cells, m, func(o *measured) (time.Duration, bool) { return o.delay, o.idle() }))
	}
}

// others are a figure of the cells of other points that have it.
func others(cells []*measured, m *measured, figure func(*measured) (time.Duration, bool)) (all []time.Duration) {
	for _, o := range cells {
		if d, ok := figure(o); ok && !maps.Equal(o.cell.Params, m.cell.Params) {
			all = append(all, d)
		}
	}
	return all
}

// median returns the median and the number of durations; 0 of none.
func median(all []time.Duration) (time.Duration, int) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], len(all)
}
