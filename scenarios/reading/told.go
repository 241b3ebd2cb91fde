package reading

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/reports/result"
)

// listener is a watch, or a receiver of webhooks: what has come to it of each change.
type listener struct {
	what string // for messages
	came []fate
}

type fate byte

const (
	owed fate = iota
	had
	excused // it is not owed
)

func newListeners(j *judge, what string, n int) (all []listener) {
	for i := range n {
		all = append(all, listener{what: fmt.Sprintf("%s %d", what, i+1), came: make([]fate, len(j.changes))})
	}
	return all
}

// missed counts what is still owed, which is wrong.
func (l *listener) missed(j *judge, t *tally) (n int64) {
	first := slices.Index(l.came, owed)
	if first < 0 {
		return 0
	}
	for _, f := range l.came {
		if f == owed {
			n++
		}
	}
	t.wrong(n, "%w: %s missed %d of %d changes, the first of version %d", ErrReliable, l.what, n, len(l.came), j.changes[first].version)
	return n
}

// watches are those of the readers.
type watches struct {
	j    *judge
	all  []*watch // by their number, from 1
	out  result.Watches
	lags lags
}

// watch is how far one of them has come.
type watch struct {
	listener
	opened bool
	next   int  // after the last change that came, or was excused
	gone   bool // a 410 ended it, or refused it
}

func newWatches(j *judge) *watches {
	w := &watches{j: j, lags: newLags()}
	for _, l := range newListeners(j, "watch", j.in.Scenario.Readers.Watches) {
		w.all = append(w.all, &watch{listener: l})
	}
	return w
}

func (w *watches) see(r *readers.Record) {
	if r.Reader == readers.Control || r.Reader > len(w.all) {
		return
	}
	x := w.all[r.Reader-1]
	switch r.What {
	case readers.Opened:
		w.open(x, r)
	case readers.Closed:
		x.gone = x.gone || r.Code == http.StatusGone
	case readers.Event:
		w.event(x, r)
	}
}

func (w *watches) open(x *watch, r *readers.Record) {
	if x.opened && !x.gone {
		w.out.Resumed++
		return
	}
	if x.opened {
		w.out.Relisted++
	}
	x.opened, x.gone = true, false
	for after := w.j.after(r.Version); x.next < after; x.next++ {
		x.came[x.next] = excused
	}
}

func (w *watches) event(x *watch, r *readers.Record) {
	t := w.j.tally("R2")
	if r.Type == bookmark {
		if w.j.after(r.Version) > x.next {
			t.wrong(1, "%w: %s had a bookmark of version %d before version %d", ErrBookmark, x.what, r.Version, w.j.changes[x.next].version)
		}
		return
	}
	i, ok, err := w.j.happened(r)
	if err != nil {
		t.wrong(1, "%s: %w", x.what, err)
	}
	if !ok {
		return
	}
	t.judged++
	c := &w.j.changes[i]
	switch {
	case x.came[i] != owed:
		t.wrong(1, "%w: %s had version %d twice, or before it began", ErrUnique, x.what, c.version)
		return
	case i < x.next:
		t.wrong(1, "%w: %s had version %d after version %d", ErrOrdered, x.what, c.version, w.j.changes[x.next-1].version)
	}
	x.came[i], x.next = had, max(x.next, i+1)
	w.out.Events++
	w.lags.add(c, r.Ended)
}

func (w *watches) finish() (err error) {
	o, j := &w.out, w.j
	if o.Count, o.Changes = len(w.all), int64(len(j.changes)); o.Count == 0 {
		return nil
	}
	for _, x := range w.all {
		o.Missed += x.missed(j, j.tally("R2"))
	}
	if most := o.Changes * int64(o.Count); float64(o.Events) < j.least*float64(most) || o.Events == 0 {
		j.invalid("the watches received %d of %d events; at least %.0f%% are needed", o.Events, most, 100*j.least)
	}
	j.cell.Readers.Watches = o
	o.LagMs, o.BehindMs, err = w.lags.quantiles()
	return err
}

// webhooks are the receivers.
type webhooks struct {
	j      *judge
	faults []readers.Fault
	all    []*receiver // by their number, from 1
	out    result.Webhooks
	lags   lags // of the healthy
	faulty lags
}

type receiver struct {
	listener
	healthy bool
	all     []delivered
}

// delivered is one delivery that was answered with 2xx. Those of a receiver are recorded as they end, which says
// nothing about their order: an answer that nobody reads to its end takes longer than the next delivery.
type delivered struct {
	change  *change
	started int64
}

func newWebhooks(j *judge) *webhooks {
	w := &webhooks{j: j, faults: j.in.Scenario.Readers.FaultSpecs(), lags: newLags(), faulty: newLags()}
	for i, l := range newListeners(j, "receiver", j.in.Scenario.Readers.Webhooks) {
		r := &receiver{listener: l, healthy: readers.Healthy(w.faults, i+1)}
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

func (w *webhooks) see(r *readers.Record) {
	if r.What != readers.Delivery || r.Reader < 1 || r.Reader > len(w.all) {
		return
	}
	x, t, o := w.all[r.Reader-1], w.j.tally("R3"), &w.out
	o.Attempts++
	o.AnswerBytes = max(o.AnswerBytes, r.Items)
	fired := r.Error != "" && slices.ContainsFunc(w.faults, func(f readers.Fault) bool { return f.Name == r.Error })
	if fired {
		o.Faults[r.Error]++
	}
	if r.Code == http.StatusBadRequest && r.Error != "" && !fired {
		t.wrong(1, "%w: %s was sent what is no delivery: %s", ErrAnswer, x.what, r.Error)
	}
	if r.Code/100 != 2 {
		return
	}
	i, ok, err := w.j.happened(r)
	if err != nil {
		t.wrong(1, "%s: %w", x.what, err)
	}
	if !ok {
		return
	}
	t.judged++
	if !r.Signed {
		t.wrong(1, "%w: %s had version %d of uid %s", ErrUnsigned, x.what, r.Version, r.UID)
	}
	c := &w.j.changes[i]
	x.all = append(x.all, delivered{c, r.Started})
	o.Delivered++
	switch {
	case x.came[i] == had:
		o.Repeated++
	case x.healthy:
		w.lags.add(c, r.Started)
	default:
		w.faulty.add(c, r.Started)
	}
	x.came[i] = had
}

func (w *webhooks) finish() (err error) {
	o, j := &w.out, w.j
	if o.Receivers, o.Changes = len(w.all), int64(len(j.changes)); o.Receivers == 0 {
		return nil
	}
	for _, x := range w.all {
		x.order(j.tally("R3"))
		if x.healthy {
			o.Missed += x.missed(j, j.tally("R3"))
		}
	}
	for _, f := range w.faults {
		if o.Faults[f.Name] == 0 {
			j.invalid("the fault %s of the receivers never fired", f.Name)
		}
	}
	most := o.Changes * int64(o.Healthy)
	if told := most - o.Missed; o.Delivered == 0 || float64(told) < j.least*float64(most) {
		j.invalid("%d of %d notifications reached receivers without faults; at least %.0f%% are needed", told, most, 100*j.least)
	}
	j.cell.Readers.Webhooks = o
	if o.FaultyMs, _, err = w.faulty.quantiles(); err == nil {
		o.LagMs, o.BehindMs, err = w.lags.quantiles()
	}
	return err
}

// order judges the deliveries of each object by when they came.
func (x *receiver) order(t *tally) {
	slices.SortStableFunc(x.all, func(a, b delivered) int { return cmp.Compare(a.started, b.started) })
	last := map[string]uint64{} // by uid
	for _, d := range x.all {
		c := d.change
		if was := last[c.uid]; c.version < was {
			t.wrong(1, "%w: %s had version %d of uid %s after version %d", ErrOrdered, x.what, c.version, c.uid, was)
		}
		last[c.uid] = max(last[c.uid], c.version)
	}
}
