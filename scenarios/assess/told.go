package assess

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// listener is a watch, or a receiver of webhooks, with the fate of each change there.
type listener struct {
	what string // for messages
	came []fate

	// Of a watch.
	opened bool
	next   int  // after the last change that came, or was excused
	gone   bool // a 410 ended it, or refused it

	// Of a receiver: deliveries in the order of the record, in which they end. That says nothing about the order in which
	// they came.
	all []delivered
}

type delivered struct {
	change  *change
	started int64
}

type fate byte

const (
	owed fate = iota
	had
	excused // it is not owed
)

// told holds all listeners of a kind; they count from 1.
type told struct {
	j     *readersJudge
	check string
	all   []*listener
	lag   *measure.Histogram // of changes of the load
}

func newTold(j *readersJudge, check, what string, n int) told {
	t := told{j: j, check: check, lag: measure.NewHistogram()}
	for i := range n {
		t.all = append(t.all, &listener{what: fmt.Sprintf("%s %d", what, i+1), came: make([]fate, len(j.changes))})
	}
	return t
}

// find returns the change that a record shows at a listener, and where it stands; false for one that never happened, or
// that is outside of what the control saw: of that nothing is known.
func (t *told) find(x *listener, r *readers.Record) (i int, c *change, ok bool) {
	if i, ok = t.j.at[r.Version]; !ok {
		if t.j.from < r.Version && r.Version <= t.j.last() {
			t.j.tally(t.check).wrong(1, "%s: %w: %s of uid %s at version %d never happened",
				x.what, errReliable, r.Type, r.UID, r.Version)
		}
		return 0, nil, false
	}
	tally := t.j.tally(t.check)
	tally.judged++
	if c = &t.j.changes[i]; c.uid != r.UID || c.typ != r.Type {
		tally.wrong(1, "%s: %w: version %d is shown as %s of uid %s, it was %s of %s",
			x.what, errReliable, r.Version, r.Type, r.UID, c.typ, c.uid)
	}
	return i, c, true
}

func (t *told) take(x *listener, i int, received int64) {
	x.came[i] = had
	if c := &t.j.changes[i]; c.load && c.intended > 0 {
		t.lag.Add(received - c.intended)
	}
}

// missed counts what is still owed, which is wrong.
func (t *told) missed() (all int64) {
	for _, x := range t.all {
		first := slices.Index(x.came, owed)
		if first < 0 {
			continue
		}
		n := int64(0)
		for _, f := range x.came {
			if f == owed {
				n++
			}
		}
		t.j.tally(t.check).wrong(n, "%w: %s missed %d of %d changes, the first of version %d",
			errReliable, x.what, n, len(x.came), t.j.changes[first].version)
		all += n
	}
	return all
}

// enough makes the cell invalid where too few of what was due came.
func (t *told) enough(what string, came, due int64) {
	if least := t.j.least; came == 0 || float64(came) < least*float64(due) {
		t.j.invalid("%d of %d %s; at least %.0f%% are needed", came, due, what, 100*least)
	}
}

// watches judges the watches of the readers.
type watches struct {
	told
	out result.Watches
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

func (w *watches) open(x *listener, r *readers.Record) {
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

func (w *watches) event(x *listener, r *readers.Record) {
	t := w.j.tally(w.check)
	if r.Type == bookmark {
		if w.j.after(r.Version) > x.next {
			t.wrong(1, "%w: %s had a bookmark of version %d before version %d",
				errBookmark, x.what, r.Version, w.j.changes[x.next].version)
		}
		return
	}
	i, c, ok := w.find(x, r)
	if !ok {
		return
	}
	switch {
	case x.came[i] != owed:
		t.wrong(1, "%w: %s had version %d twice, or before it began", errUnique, x.what, c.version)
		return
	case i < x.next:
		t.wrong(1, "%w: %s had version %d after version %d", errOrdered, x.what, c.version, w.j.changes[x.next-1].version)
	}
	w.take(x, i, r.Ended)
	x.next = max(x.next, i+1)
	w.out.Events++
}

func (w *watches) finish() (err error) {
	o := &w.out
	if o.Count, o.Changes = len(w.all), int64(len(w.j.changes)); o.Count == 0 {
		return nil
	}
	o.Missed = w.missed()
	w.enough("events reached the watches", o.Events, o.Changes*int64(o.Count))
	w.j.cell.Readers.Watches = o
	o.LagMs, err = w.lag.Quantiles(measure.Millis)
	return err
}

type webhooks struct {
	told
	out result.Webhooks
}

func (w *webhooks) see(r *readers.Record) {
	if r.What != readers.Delivery || r.Reader < 1 || r.Reader > len(w.all) {
		return
	}
	x, t := w.all[r.Reader-1], w.j.tally(w.check)
	w.out.Attempts++
	if r.Error != "" {
		t.wrong(1, "%w: %s received an invalid delivery: %s", errAnswer, x.what, r.Error)
	}
	if r.Code/100 != 2 {
		return
	}
	i, c, ok := w.find(x, r)
	if !ok {
		return
	}
	if !r.Signed {
		t.wrong(1, "%w: %s had version %d of uid %s", errUnsigned, x.what, r.Version, r.UID)
	}
	x.all = append(x.all, delivered{c, r.Started})
	w.out.Delivered++
	if x.came[i] == had {
		w.out.Repeated++
		return
	}
	w.take(x, i, r.Started)
}

func (w *webhooks) finish() (err error) {
	o := &w.out
	if o.Receivers, o.Changes = len(w.all), int64(len(w.j.changes)); o.Receivers == 0 {
		return nil
	}
	for _, x := range w.all {
		x.order(w.j.tally(w.check))
	}
	o.Missed = w.missed()
	due := o.Changes * int64(o.Receivers)
	w.enough("notifications reached the receivers", due-o.Missed, due)
	w.j.cell.Readers.Webhooks = o
	o.LagMs, err = w.lag.Quantiles(measure.Millis)
	return err
}

func (x *listener) order(t *tally) {
	slices.SortStableFunc(x.all, func(a, b delivered) int { return cmp.Compare(a.started, b.started) })
	last := map[string]uint64{} // by uid
	for _, d := range x.all {
		c := d.change
		if was := last[c.uid]; c.version < was {
			t.wrong(1, "%w: %s had version %d of uid %s after version %d", errOrdered, x.what, c.version, c.uid, was)
		}
		last[c.uid] = max(last[c.uid], c.version)
	}
}

type queries struct {
	j      *readersJudge
	verb   string
	rate   int
	least  int64 // objects in an answer
	out    result.Queries
	intent *measure.Histogram
}

func newQueries(j *readersJudge, verb string, rate int) *queries {
	q := &queries{j: j, verb: verb, rate: rate, least: 1, intent: measure.NewHistogram()}
	q.out.Errors = map[string]int64{}
	if verb == readers.List {
		q.least = j.always
		if n := int64(j.in.scenario.Readers.Limit); n > 0 {
			q.least = min(q.least, n)
		}
	}
	return q
}

func (q *queries) see(r *readers.Record) {
	if r.What != q.verb {
		return
	}
	q.out.Sent++
	t, answered := q.j.tally("R1"), r.Code == http.StatusOK && r.Error != readers.CutOff
	if answered {
		t.judged++
	}
	switch {
	case r.Code != 0 && r.Code != http.StatusOK:
		q.out.Errors[strconv.Itoa(r.Code)]++
	case r.Error != "" || r.Code == 0:
		q.out.Errors[r.Error]++
		if answered {
			t.wrong(1, "%w: %s at %d ns: %s", errAnswer, q.verb, r.Ended, r.Error)
		}
	case r.Items < q.least:
		q.out.Errors["objects are missing"]++
		t.wrong(1, "%w: %s at %d ns has %d, at least %d were there all the time", errShort, q.verb, r.Ended, r.Items, q.least)
	default:
		q.out.Done++
		q.intent.Add(r.Ended - r.Intended)
	}
}

func (q *queries) finish() (err error) {
	if q.rate == 0 {
		return nil
	}
	o, seconds := &q.out, float64(q.j.stopped-q.j.started)/1e9
	// Each interval of the rate has one; that of the last may not have been due.
	o.Planned = max(int64(float64(q.rate)*seconds), o.Sent)
	if o.FromIntent, err = q.intent.Quantiles(measure.Millis); err != nil {
		return err
	}
	if n := float64(o.Done); n > 0 {
		o.QPS = new(stats.Round(n / seconds))
	}
	if least := q.j.least; float64(o.Done) < least*float64(o.Planned) || o.Done == 0 {
		q.j.invalid("%d of %d planned %ss were answered (%.0f%%); at least %.0f%% are needed",
			o.Done, o.Planned, strings.ToUpper(q.verb), 100*float64(o.Done)/max(1, float64(o.Planned)), 100*least)
	}
	if q.verb == readers.Get {
		q.j.cell.Readers.Get = o
	} else {
		q.j.cell.Readers.List = o
	}
	return nil
}
