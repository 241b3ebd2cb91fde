package reading

import (
	"fmt"
	"net/http"
	"sort"

	"github.com/watchbench/watchbench/loadgen/readlog"
	"github.com/watchbench/watchbench/reports/result"
)

// watches are those of the readers.
type watches struct {
	j    *judge
	all  []*watch // by their number, from 1
	out  result.Watches
	lags lags
}

// watch is how far one of them has come.
type watch struct {
	opened bool
	next   int          // the first change that has not come, nor was passed over
	passed map[int]bool // those that were passed over
	gone   bool         // a 410 ended it, or refused it
}

func newWatches(j *judge) *watches {
	w := &watches{j: j, lags: newLags()}
	for range j.in.Cell.Scenario.Readers.Watches {
		w.all = append(w.all, &watch{passed: map[int]bool{}})
	}
	return w
}

func (w *watches) see(r *readlog.Record) {
	if r.Reader == readlog.Control || r.Reader > len(w.all) {
		return
	}
	x := w.all[r.Reader-1]
	switch r.What {
	case readlog.Opened:
		w.open(x, r)
	case readlog.Closed:
		x.gone = x.gone || r.Code == http.StatusGone
	case readlog.Event:
		w.event(x, r)
	}
}

// after is the first change of a later version.
func (j *judge) after(version uint64) int {
	return sort.Search(len(j.changes), func(i int) bool { return j.changes[i].version > version })
}

func (w *watches) open(x *watch, r *readlog.Record) {
	switch {
	case !x.opened:
		x.opened, x.next = true, w.j.after(r.Version)
	case x.gone:
		w.out.Relisted++
		x.next = max(x.next, w.j.after(r.Version))
	default:
		w.out.Resumed++
	}
	x.gone = false
}

func (w *watches) event(x *watch, r *readlog.Record) {
	t := w.j.tally("R2")
	if r.Type == bookmark {
		if n := w.j.after(r.Version); n > x.next {
			t.wrong(fmt.Errorf("%w: watch %d had a bookmark of version %d before version %d", ErrBookmark, r.Reader, r.Version, w.j.changes[x.next].version))
		}
		return
	}
	i, ok, err := w.j.happened(r)
	if err != nil {
		t.wrong(fmt.Errorf("watch %d: %w", r.Reader, err))
	}
	if !ok {
		return
	}
	t.judged++
	c := &w.j.changes[i]
	switch {
	case i >= x.next:
		for ; x.next < i; x.next++ {
			x.passed[x.next] = true
		}
		x.next++
	case x.passed[i]:
		delete(x.passed, i)
		t.wrong(fmt.Errorf("%w: watch %d had version %d after version %d", ErrOrdered, r.Reader, c.version, w.j.changes[x.next-1].version))
	default:
		t.wrong(fmt.Errorf("%w: watch %d had version %d twice, or before it began", ErrUnique, r.Reader, c.version))
		return
	}
	w.out.Events++
	w.lags.add(c, r.Ended)
}

func (w *watches) finish() error {
	n := len(w.all)
	if n == 0 {
		return nil
	}
	w.out.Count, w.out.Changes = n, int64(len(w.j.changes))
	t := w.j.tally("R2")
	for i, x := range w.all {
		missed := int64(len(x.passed) + len(w.j.changes) - x.next)
		if missed == 0 {
			continue
		}
		w.out.Missed += missed
		first := x.next
		for p := range x.passed {
			first = min(first, p)
		}
		t.many(missed, fmt.Errorf("%w: watch %d missed %d of %d changes, the first of version %d", ErrReliable, i+1, missed, len(w.j.changes), w.j.changes[first].version))
	}
	if most, least := w.out.Changes*int64(n), float64(w.j.in.Cell.Scenario.Limits.MinEvents); float64(w.out.Events) < least*float64(most) || w.out.Events == 0 {
		w.j.invalid("the watches received %d of %d events; at least %.0f%% are needed", w.out.Events, most, 100*least)
	}
	w.j.out.Figures.Watches = &w.out
	return w.lags.quantiles(&w.out.LagMs, &w.out.BehindMs)
}
