package measure

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// TestRetriesAreNoLag: lag is how late an operation was dispatched, not how late it was tried again.
func TestRetriesAreNoLag(t *testing.T) {
	e := backlog(0)
	e.ops, e.entries = nil, nil
	for i := range 50 {
		t0 := float64(i) * 100
		o := op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), t0, t0, t0+5)
		o.ID = int64(i + 1)
		if i == 7 {
			bad := o
			bad.ResourceVersion, bad.Status, bad.Error = 0, 500, "etcd: leader changed"
			bad.Finished = at(t0 + 400)
			e.ops = append(e.ops, bad)
			o.Attempt, o.Started, o.Finished = 1, at(t0+450), at(t0+455)
		}
		e.ops = append(e.ops, o)
		e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), t0+500, t0+600))
	}
	e.cell.DrainEnd = at(6000)
	c := e.figures(t)
	if c.Load.LagMs.Max > 1 {
		t.Errorf("every operation was dispatched at its time; the lag is %.0f ms of %d dispatches", c.Load.LagMs.Max, c.Load.LagMs.Count)
	}
}

// TestBurstsKeepOneThreadBusy: ten requests at once are no ten times as busy a thread.
func TestBurstsKeepOneThreadBusy(t *testing.T) {
	l := newLoad()
	for i := range 10 {
		r := op(oplog.TypePatch, "hot", "u", uint64(i+1), 0, 0, 100+float64(i))
		l.add(&r)
	}
	last := op(oplog.TypeCreate, "a", "v", 99, 990, 990, 1000)
	l.add(&last)
	approx(t, "busy", l.busy(1), 0.119, 1e-3)
}

// TestBackoffIsNoRequest: an acknowledged retry starts in the log where the first attempt did, but nothing is under way
// between the two.
func TestBackoffIsNoRequest(t *testing.T) {
	l := newLoad()
	lost := op(oplog.TypeCreate, "a", "", 0, 0, 0, 10)
	lost.Status, lost.Error = 0, "connection reset"
	again := op(oplog.TypeCreate, "a", "v", 1, 0, 0, 900)
	again.Attempt = 1
	last := op(oplog.TypeCreate, "b", "w", 2, 900, 900, 1000)
	for _, r := range []oplog.Record{lost, again, last} {
		l.add(&r)
	}
	approx(t, "busy", l.busy(1), 0.11, 1e-3)
}
