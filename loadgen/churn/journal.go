package churn

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// journal writes the op log. It numbers requests that the plan does not foresee, and knows the time and the phase.
type journal struct {
	log    Recorder
	shard  plan.Shard
	clock  clock
	nextID atomic.Int64
	phase  atomic.Pointer[string]
}

func newJournal(log Recorder, s plan.Shard) *journal {
	j := &journal{log: log, shard: s, clock: newClock()}
	j.nextID.Store(plan.FirstFreeID + int64(s.Index-1))
	j.enter(oplog.PhasePrepare)
	return j
}

func (j *journal) enter(phase string) { j.phase.Store(&phase) }

// freeID is unique among all shards.
func (j *journal) freeID() int64 {
	stride := int64(j.shard.Of)
	return j.nextID.Add(stride) - stride
}

func (j *journal) append(r oplog.Record) {
	if j.shard.Divides() {
		r.Shard = j.shard.Index
	}
	j.log.Append(r)
}

// free is the record of a request that the plan does not foresee, begun now.
func (j *journal) free(kind, namespace, name, what string) oplog.Record {
	now := j.clock.now()
	return oplog.Record{
		ID: j.freeID(), Phase: *j.phase.Load(), Type: what, Thread: plan.ThreadNone,
		Kind: kind, Namespace: namespace, Name: name, Intended: now, Started: now,
	}
}

type times struct{ intended, started, finished int64 }

func (j *journal) recordAttempt(op plan.Op, st *object, a answer, attempt int, t times) {
	r := oplog.Record{
		ID: op.ID, Attempt: attempt, Phase: op.Phase, Type: op.Type, Thread: op.Thread,
		Kind: st.kind, Namespace: st.namespace, Name: st.name, UID: string(st.uid), Bystander: op.Bystander,
		Intended: t.intended, Started: t.started, Finished: t.finished, Status: a.status,
	}
	switch {
	case a.err != nil:
		r.Error = errorText(a.err)
	case op.Type == oplog.TypeCreate:
		r.UID, r.ResourceVersion = string(a.uid), a.version
	case op.Type == oplog.TypeDelete:
		r.ResourceVersion, _ = st.last()
		if a.version > r.ResourceVersion {
			r.DeletedVersion = a.version
		}
	default:
		// Another shard may have created a hot pod.
		r.UID, r.ResourceVersion = cmp.Or(r.UID, string(a.uid)), a.version
	}
	j.append(r)
}

func (j *journal) record(r oplog.Record, a answer) {
	r.Finished, r.Status, r.UID, r.ResourceVersion = j.clock.now(), a.status, string(a.uid), a.version
	if a.err != nil {
		r.Error = errorText(a.err)
	}
	j.append(r)
}

// clock gives Unix nanoseconds that never step: the wall clock as it was at the start, moved on by the monotonic one.
type clock struct {
	start time.Time
	base  int64
}

func newClock() clock {
	now := time.Now()
	return clock{start: now, base: now.UnixNano()}
}

func (c clock) now() int64 { return c.base + int64(time.Since(c.start)) }

// sleepUntil returns at the given time, or false when ctx ended first.
func (c clock) sleepUntil(ctx context.Context, at int64) bool {
	return lifecycle.Pause(ctx, time.Duration(at-c.now())) == nil
}
