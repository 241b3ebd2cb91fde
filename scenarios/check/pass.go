package check

import (
	"context"
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

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
	var v T // one for all: what looks at a record keeps none of it
	for next, err := range seq {
		n, v = n+1, next
		if err == nil && n%ctxEvery == 0 {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = record(n, &v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
