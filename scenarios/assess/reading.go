package assess

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// What can be wrong, an error for each.
var (
	errAnswer   = errors.New("not what was asked for")
	errShort    = errors.New("a list that lacks objects")
	errOrdered  = errors.New("not ordered")
	errUnique   = errors.New("not unique")
	errReliable = errors.New("not reliable")
	errBookmark = errors.New("not bookmarkable")
	errUnsigned = errors.New("not signed")
)

// reading is the evidence of readers. log and ops can be read several times. The control watch, straight from the
// apiserver, shows what happened; it is checked against the op log.
//
//   - R1 answers: a 200 is a complete and valid body with what was asked for, unless the reader cut it off at the end,
//     and a LIST has at least the Pods that existed all the time.
//   - R2 watches: every change comes once, in order, as it happened, and before a bookmark of its version. What a watch
//     skips that begins anew after a 410 is not missed.
//   - R3 webhooks: every change is delivered, signed, the versions of an object in order.
//
// Only a 200 with the right answer counts as done, so errors are not in the latencies. Readers that did less than the
// limit of the scenario, or saw nothing, make a cell invalid.
type reading struct {
	scenario *spec.Scenario
	log      iter.Seq2[readers.Record, error]
	ops      iter.Seq2[oplog.Record, error]
}

const podKind = "Pod"

// judgeReaders reads the record twice, and the op log once, and adds figures of readers, checks and reasons to
// disbelieve it to the cell. An error means that the evidence is unusable.
func judgeReaders(ctx context.Context, in reading, cell *result.Cell) error {
	j := &readersJudge{in: in, cell: cell, least: float64(in.scenario.Limits.MinEvents)}
	j.at, j.tallies = map[uint64]int{}, map[string]*tally{}
	if err := j.control(ctx); err != nil {
		return err
	}
	if err := j.operations(ctx); err != nil {
		return err
	}
	r := &in.scenario.Readers
	parts := []part{
		newQueries(j, readers.Get, r.Get), newQueries(j, readers.List, r.List),
		&watches{told: newTold(j, "R2", "watch", r.Watches)}, &webhooks{told: newTold(j, "R3", "receiver", r.Webhooks)},
	}
	if err := each(ctx, in.log, func(rec *readers.Record) {
		for _, p := range parts {
			p.see(rec)
		}
	}); err != nil {
		return err
	}
	for _, p := range parts {
		if err := p.finish(); err != nil {
			return err
		}
	}
	for name, t := range j.tallies {
		cell.Checks[name] = t.check()
	}
	return nil
}

func each[R any](ctx context.Context, all iter.Seq2[R, error], see func(*R)) error {
	for r, err := range all {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		see(&r)
	}
	return nil
}

type part interface {
	see(*readers.Record)
	finish() error
}

// change is one that happened, as the control saw it.
type change struct {
	version  uint64
	uid, typ string
	intended int64 // 0: not known
	load     bool  // it belongs to the load
}

type readersJudge struct {
	in      reading
	cell    *result.Cell
	least   float64 // share that must be done
	changes []change
	at      map[uint64]int // position by version
	from    uint64         // version at which the control begins
	started int64          // of the queries
	stopped int64
	always  int64 // Pods that existed as the control began, and to the end, as far as is known
	tallies map[string]*tally
}

func (j *readersJudge) invalid(format string, args ...any) {
	j.cell.InvalidReasons = append(j.cell.InvalidReasons, fmt.Sprintf(format, args...))
}

func (j *readersJudge) control(ctx context.Context) error {
	opened, gone, turned, disordered := false, false, 0, false
	early := func(effect, cause int64) bool { return effect != 0 && effect < cause-history.ClockSlack }
	err := each(ctx, j.in.log, func(r *readers.Record) {
		if early(r.Ended, r.Started) || early(r.Started, r.Intended) {
			turned++
		}
		switch {
		case r.What == readers.Started:
			j.started = r.Ended
		case r.What == readers.Stopped:
			j.stopped = r.Ended
		case r.Reader != readers.Control:
		case r.What == readers.Opened && !opened:
			opened, j.from = true, r.Version
		case r.What == readers.Closed && r.Code == 410:
			gone = true
		case r.What == readers.Event && r.Type != bookmark:
			disordered = disordered || r.Version <= j.last()
			j.at[r.Version] = len(j.changes)
			j.changes = append(j.changes, change{version: r.Version, uid: r.UID, typ: r.Type})
		}
	})
	switch {
	case err != nil:
		return err
	case !opened:
		return errors.New("the record has no control, a watch straight from the apiserver")
	case disordered:
		return errors.New("the control saw versions that go down")
	case j.started == 0 || j.stopped < j.started:
		return errors.New("the record does not say when the queries began and ended")
	case turned > 0:
		j.invalid("the clock was set, or the record changed: %d records of readers end before they begin", turned)
	case gone:
		j.invalid("the control had to list anew, so what happened is unknown")
	}
	return nil
}

func (j *readersJudge) last() uint64 {
	if n := len(j.changes); n > 0 {
		return j.changes[n-1].version
	}
	return j.from
}

// operations holds the control against the op log, which says when each write was due, and which Pods existed all the
// time.
func (j *readersJudge) operations(ctx context.Context) error {
	if j.in.ops == nil {
		return errors.New("the op log is missing")
	}
	deleted := map[string]int{}
	for i, c := range j.changes {
		if c.typ == "DELETED" {
			deleted[c.uid] = i
		}
	}
	missing, writes, first := 0, 0, uint64(0)
	there := map[string]bool{}
	if err := each(ctx, j.in.ops, func(r *oplog.Record) {
		if r.Kind != podKind || !r.OK() {
			return
		}
		switch {
		case r.Type == oplog.TypeCreate && r.ResourceVersion <= j.from:
			there[r.UID] = true
		case r.Type == oplog.TypeDelete && r.Phase != oplog.PhaseTeardown:
			delete(there, r.UID)
		}
		if r.Phase != oplog.PhaseLoad || r.Type == oplog.TypeHeartbeat {
			return
		}
		var i int
		var ok bool
		switch {
		case r.Type == oplog.TypeDelete:
			i, ok = deleted[r.UID]
		case r.ResourceVersion > 0:
			i, ok = j.at[r.ResourceVersion]
		default:
			return // an answer without a version, such as that of a binding
		}
		if writes++; ok {
			j.changes[i].load, j.changes[i].intended = true, r.Intended
		} else if missing++; missing == 1 {
			first = r.ResourceVersion
		}
	}); err != nil {
		return err
	}
	for uid := range deleted {
		delete(there, uid)
	}
	j.always = int64(len(there))
	if missing > 0 {
		j.invalid("the control, a watch straight from the apiserver, lacks %d of %d writes, the first of version %d",
			missing, writes, first)
	}
	if writes == 0 {
		j.invalid("the load wrote no Pod, so there was nothing to observe")
	}
	return nil
}

func (j *readersJudge) after(version uint64) int {
	return sort.Search(len(j.changes), func(i int) bool { return j.changes[i].version > version })
}

const bookmark = "BOOKMARK"

type tally struct {
	judged, violations int64
	examples           []string
}

const maxExamples = 50

func (j *readersJudge) tally(name string) *tally {
	if j.tallies[name] == nil {
		j.tallies[name] = &tally{}
	}
	return j.tallies[name]
}

// wrong adds n violations, and says what is wrong with the first.
func (t *tally) wrong(n int64, format string, args ...any) {
	t.violations += n
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, fmt.Errorf(format, args...).Error())
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

func (c *recorded) readers(ctx context.Context, dir string, cell *result.Cell) error {
	r := &c.Cell.Scenario.Readers
	if !r.Asked() || c.Cell.Refusal != nil {
		return nil
	}
	cell.Readers = &result.Readers{From: r.Source()}
	if !r.Any() {
		return nil
	}
	ops, err := history.Ops(dir)
	if err != nil {
		return err
	}
	evidence := reading{scenario: &c.Cell.Scenario, log: history.Readers(dir), ops: ops}
	if err := judgeReaders(ctx, evidence, cell); err != nil {
		return fmt.Errorf("readers: %w", err)
	}
	cell.Valid = len(cell.InvalidReasons) == 0
	return nil
}
