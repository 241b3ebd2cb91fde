package check

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Verdict is the outcome of judging one cell.
type Verdict struct {
	// Checks has one entry per guarantee, G1…G14.
	Checks map[string]result.Check
	// Lost is the number of keys whose final state, by the op log, storage does not hold, by the ledger; nil in a cut cell
	// and without an op log.
	Lost *int64
	// Reordered is the number of applied requests that violate G2, G3 or G4.
	Reordered *int64
}

// Guarantees lists the names of all guarantees in their order; see the package's doc.
var Guarantees = []string{"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G11", "G12", "G13", "G14"}

// Judge reads the history once, state, op log and ledger in this order, shows each record to the observers, and judges
// every guarantee. An error means unusable evidence (a FormatError) or the end of ctx.
func Judge(ctx context.Context, h *History, observers ...history.Observer) (*Verdict, error) {
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	j := newJudge(h)
	if err := j.read(ctx, observers); err != nil {
		return nil, err
	}
	ceilings, isolation := h.Ceilings, h.Isolation
	if h.Bounds != nil {
		ceilings, isolation = h.Bounds(Measured{
			Operations: j.book.records + j.after.records, PeakLive: max(j.book.peak, j.after.peak), Changes: j.changes(),
		})
	}
	j.converge()
	err := each(ctx, j.h.Former, func(_ int, r *history.StateRecord) error {
		j.former(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if j.compared+j.unserved > 0 {
		j.tally["G1"].note("%d PUTs of former states compared with what the apiserver served; "+
			"it no longer knew the versions of %d", j.compared, j.unserved)
	}
	j.settle()
	j.recreate()
	j.power()
	if t := j.tally["G11"]; t.judged == 0 {
		t.note("no request was applied twice")
	}
	j.tally["G10"].needAll()
	j.noteRestore()
	j.conserve()
	bounded{h, ceilings}.judge(j.tally["G7"])
	isolation.judge(j.tally["G8"])
	j.restarts()
	j.tamper.judge(j.tally["G12"], h, j.book)
	if err := j.secrecy(ctx); err != nil {
		return nil, err
	}
	j.telemetry()
	return j.verdict(), nil
}

type judge struct {
	h                  *History
	book               *book
	back               restore
	after              *book // of the history that a restore began; else empty
	compared, unserved int64 // former states, and those of versions that the apiserver no longer had
	acc                account
	tamper             tamperings
	tenures            *tenures // nil without an election
	notServed          unserved
	late               []lateWrite
	// unrepaired indexes late by key, until a later write of the key.
	unrepaired map[*keyState][]int
	request    request // under judgement
	// arrived are the requests that a fault hit, and whether the client had an answer: one that storage applies again has
	// the same time of arrival.
	arrived map[arrival]bool
	tally   map[string]*tally

	named     int64 // when the watcher's record of kinds was last stored
	reordered int64
	lost      *int64
	accounts  *accounting // nil without a ledger
	lastStart int64       // start of the last watcher process, by the marks
	down      []window    // between the end of a watcher and the start of the next
	restarted int64       // processes started after the first
}

func newJudge(h *History) *judge {
	j := &judge{h: h, tally: make(map[string]*tally), tamper: make(tamperings), notServed: make(unserved)}
	for _, g := range Guarantees {
		j.tally[g] = &tally{}
	}
	j.tenures = newTenures(&h.Meta, h.Leases)
	if h.Shards > 0 && j.tenures == nil {
		j.tally["G10"].lack("nobody recorded the replicas' Leases")
	}
	ready := j.readMarks()
	j.book, j.after = newBook(&h.Meta, ready), newBook(&h.Meta, ready)
	j.book.restored, j.after.opsNear = j.back.happened(), j.book.opsNear
	j.acc = account{meta: &h.Meta, since: j.lastStart, kinds: make(map[string]requests)}
	return j
}

func (j *judge) verdict() *Verdict {
	v := &Verdict{Checks: make(map[string]result.Check), Lost: j.lost}
	if j.h.Ledger != nil {
		v.Reordered = &j.reordered
	}
	for g, t := range j.tally {
		v.Checks[g] = t.check()
	}
	return v
}

type tally struct {
	judged, violations int64
	power              *int64
	examples           []string // of the first violations
	notes              []string
	lacks              bool // a figure that it needs is not there
}

const maxExamples = 50

func (t *tally) fail(format string, args ...any) { t.failN(1, format, args...) }

// failN counts violations that have one text together.
func (t *tally) failN(n int64, format string, args ...any) {
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, fmt.Sprintf(format, args...))
	}
	t.violations += n
}

func (t *tally) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
}

func (t *tally) lack(format string, args ...any) {
	t.lacks = true
	t.note(format, args...)
}

// needAll makes nothing of a check that lacks a figure: what is not there may be what is bad. A violation stands.
func (t *tally) needAll() {
	if t.lacks && t.violations == 0 {
		t.judged = 0
	}
}

func (t *tally) check() result.Check {
	c := result.Check{Judged: t.judged, Violations: t.violations, Power: t.power, Note: strings.Join(t.notes, "; ")}
	if len(t.examples) > 0 {
		c.Counterexample, c.Further = t.examples[0], t.examples[1:]
	}
	switch {
	case t.violations > 0:
		c.Verdict = result.Fail
		c.Judged = max(c.Judged, t.violations)
	case t.judged == 0:
		c.Verdict = result.NotJudged
		if c.Note == "" {
			c.Note = "the record holds nothing to judge"
		}
	default:
		c.Verdict = result.Pass
	}
	return c
}

func (j *judge) read(ctx context.Context, observers []history.Observer) error {
	b := j.book
	b.haveState, b.haveOps = j.h.State != nil, j.h.Ops != nil
	err := each(ctx, j.h.State, func(n int, r *history.StateRecord) error {
		if err := b.addState(r); err != nil {
			return &history.FormatError{File: history.FileState, Line: n, Err: err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = each(ctx, j.h.Ops, func(_ int, r *oplog.Record) error {
		for _, o := range observers {
			o.Operation(r)
		}
		if j.back.before(r.Finished) {
			b.addOp(r)
		} else if r.Finished > j.back.to {
			j.after.addOp(r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.sort()
	j.after.sort()
	last := uint64(0)
	err = each(ctx, j.h.Ledger, func(n int, e *ledger.Entry) error {
		if last != 0 && e.Seq != last+1 {
			return &history.FormatError{File: history.FileLedger, Line: n,
				Err: fmt.Errorf("seq %d after %d: the ledger has no gaps, so this record of it is incomplete or out of order",
					e.Seq, last)}
		}
		last = e.Seq
		for _, o := range observers {
			o.Request(e)
		}
		if j.h.Until != 0 && e.Received > j.h.Until || j.h.Cluster != "" && e.Cluster != j.h.Cluster {
			return nil
		}
		e.Kind = canonicalKind(e.Kind)
		j.entry(e)
		return nil
	})
	b.settle()
	j.after.settle()
	return err
}

const ctxEvery = 1 << 16

// each reads a sequence that may be nil; n counts from 1.
func each[T any](ctx context.Context, seq iter.Seq2[T, error], record func(n int, v *T) error) error {
	if seq == nil {
		return nil
	}
	n := 0
	for v, err := range ahead(seq) {
		n++
		if err == nil && n%ctxEvery == 0 {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = record(n, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endOfTime marks a uid that the apiserver holds in the end.
const endOfTime = math.MaxInt64

// clock prints a time of the record: UTC, to the microsecond, because requests of one run differ by less than a
// millisecond.
func clock(ns int64) string {
	if ns == 0 {
		return "never"
	}
	return time.Unix(0, ns).UTC().Format("15:04:05.000000")
}

func (r *request) text() string { return requestText(r.e.Method, r.touch) }
func putText(t touch) string    { return requestText("PUT", t) }
func deleteText(t touch) string { return requestText("DELETE", t) }

func requestText(method string, t touch) string {
	return fmt.Sprintf("%s seq %d (received %s, applied %s)", method, t.seq, clock(t.received), clock(t.applied))
}
