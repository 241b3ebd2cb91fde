package reading

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/readlog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// Checks lists the names of what is judged, in their order; see the package's doc.
var Checks = []string{"R1", "R2", "R3", "R4"}

// What can be wrong, an error for each.
var (
	ErrAnswer   = errors.New("not what was asked for")
	ErrShort    = errors.New("a list that lacks objects")
	ErrOrdered  = errors.New("not ordered")
	ErrUnique   = errors.New("not unique")
	ErrReliable = errors.New("not reliable")
	ErrBookmark = errors.New("not bookmarkable")
	ErrUnsigned = errors.New("not signed")
	ErrFollower = errors.New("the follower's storage differs")
)

// Outcome is what the record of a cell's readers came to.
type Outcome struct {
	Figures *result.Readers
	Checks  map[string]result.Check
	// Invalid says why the cell is not believed.
	Invalid []string
}

// Log is a record that can be read several times.
type Log = iter.Seq2[readlog.Record, error]

// Input is what is judged.
type Input struct {
	Cell *history.Cell
	Log  Log
	Ops  iter.Seq2[oplog.Record, error]
	// Signed says that deliveries are to have a signature.
	Signed bool
}

const podKind = "Pod"

// Judge reads the record twice, and the op log once. An error means that the evidence is
// unusable.
func Judge(ctx context.Context, in Input) (*Outcome, error) {
	j := &judge{in: in, out: &Outcome{Figures: &result.Readers{From: in.Cell.Scenario.Readers.Source()}, Checks: map[string]result.Check{}}}
	if err := j.control(ctx); err != nil {
		return nil, err
	}
	if err := j.operations(ctx); err != nil {
		return nil, err
	}
	r := &in.Cell.Scenario.Readers
	parts := []part{newQueries(j, readlog.Get, r.Get), newQueries(j, readlog.List, r.List), newWatches(j), newWebhooks(j)}
	for rec, err := range in.Log {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			p.see(&rec)
		}
	}
	for _, p := range parts {
		if err := p.finish(); err != nil {
			return nil, err
		}
	}
	for name, t := range j.tallies {
		j.out.Checks[name] = t.check()
	}
	return j.out, nil
}

// part is one kind of readers.
type part interface {
	see(*readlog.Record)
	finish() error
}

// change is one that happened, as the control saw it.
type change struct {
	version  uint64
	uid, typ string
	seen     int64 // by the control
	intended int64 // 0: not known
	load     bool  // it belongs to the load
}

type judge struct {
	in      Input
	out     *Outcome
	changes []change
	at      map[uint64]int // position by version
	from    uint64         // version at which the control begins
	started int64          // of the queries
	stopped int64
	always  int64 // Pods that existed as the control began, and to the end, as far as is known
	tallies map[string]*tally
}

func (j *judge) invalid(format string, args ...any) {
	j.out.Invalid = append(j.out.Invalid, fmt.Sprintf(format, args...))
}

// control reads what happened.
func (j *judge) control(ctx context.Context) error {
	j.at, j.tallies = map[uint64]int{}, map[string]*tally{}
	opened, gone, turned := false, false, 0
	early := func(effect, cause int64) bool { return effect != 0 && effect < cause-history.ClockSlack }
	for r, err := range j.in.Log {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if early(r.Ended, r.Started) || early(r.Started, r.Intended) {
			turned++
		}
		switch {
		case r.What == readlog.Started:
			j.started = r.Ended
		case r.What == readlog.Stopped:
			j.stopped = r.Ended
		case r.Reader != readlog.Control:
		case r.What == readlog.Opened && !opened:
			opened, j.from = true, r.Version
		case r.What == readlog.Closed && r.Code == 410:
			gone = true
		case r.What == readlog.Event && r.Type != bookmark:
			if n := len(j.changes); n > 0 && r.Version <= j.changes[n-1].version {
				return fmt.Errorf("the control saw version %d after %d", r.Version, j.changes[n-1].version)
			}
			j.at[r.Version] = len(j.changes)
			j.changes = append(j.changes, change{version: r.Version, uid: r.UID, typ: r.Type, seen: r.Ended})
		}
	}
	switch {
	case !opened:
		return errors.New("the record has no control, a watch straight from the apiserver")
	case j.started == 0 || j.stopped < j.started:
		return errors.New("the record does not say when the queries began and ended")
	case turned > 0:
		j.invalid("the clock was set, or the record changed: %d records of readers end before they begin", turned)
	case gone:
		j.invalid("the control had to list anew, so that nobody knows what happened")
	}
	return nil
}

// operations holds the control against the op log, which says when each write was due, and
// which Pods existed all the time.
func (j *judge) operations(ctx context.Context) error {
	if j.in.Ops == nil {
		return errors.New("there is no op log")
	}
	deleted := map[string]int{}
	for i, c := range j.changes {
		if c.typ == "DELETED" {
			deleted[c.uid] = i
		}
	}
	missing, writes := 0, 0
	first := uint64(0)
	there := map[string]bool{}
	for r, err := range j.in.Ops {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if r.Kind != podKind || !r.OK() {
			continue
		}
		switch {
		case r.Type == oplog.TypeCreate && r.ResourceVersion <= j.from:
			there[r.UID] = true
		case r.Type == oplog.TypeDelete && r.Phase != oplog.PhaseTeardown:
			delete(there, r.UID)
		}
		if r.Phase != oplog.PhaseLoad || r.Type == oplog.TypeHeartbeat {
			continue
		}
		var i int
		var ok bool
		switch {
		case r.Type == oplog.TypeDelete:
			i, ok = deleted[r.UID]
		case r.ResourceVersion > 0:
			i, ok = j.at[r.ResourceVersion]
		default:
			continue // an answer without a version, such as that of a binding
		}
		writes++
		if !ok {
			missing++
			if first == 0 {
				first = r.ResourceVersion
			}
			continue
		}
		j.changes[i].load = true
		j.changes[i].intended = r.Intended
	}
	for uid := range deleted {
		delete(there, uid)
	}
	j.always = int64(len(there))
	if missing > 0 {
		j.invalid("the control, a watch straight from the apiserver, lacks %d of %d writes, the first of version %d", missing, writes, first)
	}
	if writes == 0 {
		j.invalid("the load wrote no Pod, so that there was nothing to see")
	}
	return nil
}

// happened finds an event among the changes. ok is false for one that is outside of what
// the control saw, of which nothing is known.
func (j *judge) happened(r *readlog.Record) (i int, ok bool, err error) {
	last := j.from
	if n := len(j.changes); n > 0 {
		last = j.changes[n-1].version
	}
	i, ok = j.at[r.Version]
	switch {
	case !ok && (r.Version <= j.from || r.Version > last):
		return 0, false, nil
	case !ok:
		return 0, false, fmt.Errorf("%w: %s of uid %s at version %d never happened", ErrReliable, r.Type, r.UID, r.Version)
	case j.changes[i].uid != r.UID || j.changes[i].typ != r.Type:
		c := j.changes[i]
		return i, true, fmt.Errorf("%w: version %d is shown as %s of uid %s, it was %s of %s", ErrReliable, r.Version, r.Type, r.UID, c.typ, c.uid)
	}
	return i, true, nil
}

const bookmark = "BOOKMARK"

// tally gathers the verdict of a check.
type tally struct {
	judged, violations int64
	examples           []string
}

// maxExamples bounds the counterexamples of a check.
const maxExamples = 50

func (j *judge) tally(name string) *tally {
	if j.tallies[name] == nil {
		j.tallies[name] = &tally{}
	}
	return j.tallies[name]
}

func (t *tally) wrong(err error) { t.many(1, err) }

func (t *tally) many(n int64, err error) {
	t.violations += n
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, err.Error())
	}
}

func (t *tally) check() result.Check {
	c := result.Check{Verdict: result.Pass, Judged: t.judged, Violations: t.violations}
	switch {
	case t.violations > 0:
		c.Verdict, c.Counterexample, c.Further = result.Fail, t.examples[0], t.examples[1:]
	case t.judged == 0:
		c.Verdict, c.Note = result.NotJudged, "nothing to judge"
	}
	return c
}

// lags are times in the two forms in which they are shown.
type lags struct{ lag, behind *measure.Histogram }

func newLags() lags { return lags{measure.NewHistogram(), measure.NewHistogram()} }

// add takes the receipt of a change of the load.
func (l lags) add(c *change, received int64) {
	if !c.load {
		return
	}
	l.behind.Add(max(0, received-c.seen)) // the control may see it later
	if c.intended > 0 {
		l.lag.Add(received - c.intended)
	}
}

func (l lags) quantiles(lag, behind **result.Quantiles) (err error) {
	if *lag, err = l.lag.Quantiles(measure.Millis); err != nil {
		return err
	}
	if behind != nil {
		*behind, err = l.behind.Quantiles(measure.Millis)
	}
	return err
}
