package reading

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/loadgen/hookfault"
	"github.com/watchbench/watchbench/loadgen/readlog"
	"github.com/watchbench/watchbench/reports/result"
)

// webhooks are the receivers.
type webhooks struct {
	j      *judge
	faults []hookfault.Spec
	all    []*receiver // by their number, from 1
	out    result.Webhooks
	lags   lags // of the healthy
	faulty lags
}

type receiver struct {
	healthy bool
	had     []bool // which changes were delivered
	all     []delivered
}

// delivered is one delivery that was answered with 2xx. Those of a receiver are recorded as
// they end, which says nothing about their order: an answer that nobody reads to its end
// takes longer than the next delivery.
type delivered struct {
	change  int
	started int64
}

func newWebhooks(j *judge) *webhooks {
	w := &webhooks{j: j, faults: j.in.Cell.Scenario.Readers.FaultSpecs(), lags: newLags(), faulty: newLags()}
	for i := range j.in.Cell.Scenario.Readers.Webhooks {
		r := &receiver{healthy: hookfault.Healthy(w.faults, i+1), had: make([]bool, len(j.changes))}
		if r.healthy {
			w.out.Healthy++
		}
		w.all = append(w.all, r)
	}
	if len(w.faults) > 0 {
		w.out.Faults = map[string]int64{}
	}
	return w
}

func (w *webhooks) see(r *readlog.Record) {
	if r.What != readlog.Delivery || r.Reader < 1 || r.Reader > len(w.all) {
		return
	}
	x, t := w.all[r.Reader-1], w.j.tally("R3")
	w.out.Attempts++
	w.out.AnswerBytes = max(w.out.AnswerBytes, r.Items)
	if r.Error != "" {
		for _, f := range w.faults {
			if f.Name == r.Error {
				w.out.Faults[f.Name]++
				break
			}
		}
	}
	if r.Code == 400 && r.Error != "" && w.out.Faults[r.Error] == 0 {
		t.wrong(fmt.Errorf("%w: receiver %d was sent what is no delivery: %s", ErrAnswer, r.Reader, r.Error))
	}
	if r.Code/100 != 2 {
		return
	}
	i, ok, err := w.j.happened(r)
	if err != nil {
		t.wrong(fmt.Errorf("receiver %d: %w", r.Reader, err))
	}
	if !ok {
		return
	}
	t.judged++
	if w.j.in.Signed && !r.Signed {
		t.wrong(fmt.Errorf("%w: receiver %d had version %d of uid %s", ErrUnsigned, r.Reader, r.Version, r.UID))
	}
	x.all = append(x.all, delivered{i, r.Started})
	w.out.Delivered++
	if x.had[i] {
		w.out.Repeated++
		return
	}
	x.had[i] = true
	lags := w.faulty
	if x.healthy {
		lags = w.lags
	}
	lags.add(&w.j.changes[i], r.Started)
}

func (w *webhooks) finish() error {
	if len(w.all) == 0 {
		return nil
	}
	w.out.Receivers, w.out.Changes = len(w.all), int64(len(w.j.changes))
	t := w.j.tally("R3")
	healthy := int64(0)
	for n, x := range w.all {
		w.order(n+1, x)
		missed, first := int64(0), -1
		for i, had := range x.had {
			switch {
			case had && x.healthy:
				healthy++
			case !had && first < 0:
				first = i
				fallthrough
			case !had:
				missed++
			}
		}
		if x.healthy && missed > 0 {
			w.out.Missed += missed
			t.many(missed, fmt.Errorf("%w: receiver %d, for which no fault is meant, was not told of %d of %d changes, the first of version %d",
				ErrReliable, n+1, missed, len(x.had), w.j.changes[first].version))
		}
	}
	for _, f := range w.faults {
		if w.out.Faults[f.Name] == 0 {
			w.j.invalid("the fault %s of the receivers never fired", f.Name)
		}
	}
	least := float64(w.j.in.Cell.Scenario.Limits.MinEvents)
	if most := w.out.Changes * int64(w.out.Healthy); w.out.Delivered == 0 || float64(healthy) < least*float64(most) {
		w.j.invalid("%d of %d notifications reached receivers without faults; at least %.0f%% are needed", healthy, most, 100*least)
	}
	w.j.out.Figures.Webhooks = &w.out
	if err := w.faulty.quantiles(&w.out.FaultyMs, nil); err != nil {
		return err
	}
	return w.lags.quantiles(&w.out.LagMs, &w.out.BehindMs)
}

// order judges the deliveries of each object by when they came.
func (w *webhooks) order(n int, x *receiver) {
	slices.SortStableFunc(x.all, func(a, b delivered) int { return cmp.Compare(a.started, b.started) })
	last := map[string]uint64{} // by uid
	for _, d := range x.all {
		c := &w.j.changes[d.change]
		if was := last[c.uid]; c.version < was {
			w.j.tally("R3").wrong(fmt.Errorf("%w: receiver %d had version %d of uid %s after version %d", ErrOrdered, n, c.version, c.uid, was))
			continue
		}
		last[c.uid] = c.version
	}
}
