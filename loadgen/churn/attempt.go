package churn

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

const (
	// requestTimeout bounds one attempt, unless Settings say otherwise.
	requestTimeout = 10 * time.Second
	// maxAttempts bounds how often one operation is sent.
	maxAttempts = 5
	// firstBackoff doubles with every attempt: 50, 100, 200, 400 ms.
	firstBackoff = 50 * time.Millisecond
	// maxRetryAfter bounds the wait that a throttling apiserver can ask for.
	maxRetryAfter = 30 * time.Second
	// maxErrorText bounds the error text in a record.
	maxErrorText = 300
)

// perform sends one operation until it is acknowledged or given up, and records every attempt.
func (e *Engine) perform(ctx context.Context, op plan.Op, st *object, intended int64) (first int64, err error) {
	unclear := int64(0) // start of an attempt that may have taken effect
	for attempt := 0; ; attempt++ {
		started := e.clock.now()
		if attempt == 0 {
			first = started
		}
		reqCtx, cancel := context.WithTimeout(ctx, e.timeout)
		a := e.send(reqCtx, op, intended)
		finished := e.clock.now()
		if a.err != nil && unclear != 0 {
			a = e.resolve(reqCtx, op, st, a)
		}
		if a.err == nil && op.Type == oplog.TypeBind {
			// The answer to a binding does not hold the pod. This read is not timed.
			if m, err := e.look(reqCtx, op, st); err == nil && m.UID == st.uid {
				a.version, _ = parseVersion(m.ResourceVersion)
			}
		}
		cancel()
		if a.err == nil {
			started = cmp.Or(unclear, started)
		}
		early := op.Type == oplog.TypeTerminate && a.err == nil && a.gone
		if early {
			op.Type = oplog.TypeDelete
		}
		e.recordAttempt(op, st, a, attempt, times{intended: intended, started: started, finished: finished})
		if a.err == nil {
			e.settle(op, st, a, started)
			e.stats.acknowledge(op)
			e.health.report(nil)
			if early {
				return first, errEarly
			}
			return first, nil
		}
		if unclear == 0 && (a.status == 0 || a.status >= http.StatusInternalServerError) {
			unclear = started
		}
		e.stats.fail(op, a.err)
		wait, again := retryAfter(a, attempt)
		if !again || ctx.Err() != nil || !e.clock.sleepUntil(ctx, e.clock.now()+int64(wait)) {
			e.stats.giveUp(op)
			if ctx.Err() == nil {
				e.health.report(a.err)
				e.recordGone(ctx, op, st)
			}
			return first, a.err
		}
	}
}

// errEarly says that a pod that was to end within its grace went at once: a late apiserver begins with the pod in its
// cache, and one without a node has no grace.
var errEarly = errors.New("the pod was deleted without grace")

func (e *Engine) settle(op plan.Op, st *object, a answer, started int64) {
	switch op.Type {
	case oplog.TypeCreate:
		st.uid = a.uid
		st.reached(a.version, started)
		e.created.add(st)
	case oplog.TypeDelete:
		st.end()
		e.created.drop(st)
	default:
		st.reached(a.version, started)
	}
}

// recordGone logs the deletion of an object that is gone when an operation on it is given up.
func (e *Engine) recordGone(ctx context.Context, op plan.Op, st *object) {
	if op.Type == oplog.TypeCreate || st.uid == "" { // another shard's hot pod: it records what becomes of it
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	m, err := e.look(ctx, op, st)
	if gone := apierrors.IsNotFound(err) || err == nil && m.UID != st.uid; !gone || !st.end() {
		return
	}
	version, since := st.last()
	e.append(oplog.Record{
		ID: e.freeID(), Phase: oplog.PhaseOutside, Type: oplog.TypeDelete, Thread: plan.ThreadNone,
		Kind: st.kind, Namespace: st.namespace, Name: st.name, UID: string(st.uid), ResourceVersion: version,
		Intended: since, Started: since, Finished: e.clock.now(), Status: http.StatusOK,
	})
	e.created.drop(st)
}

// retryAfter reports whether a failed attempt is worth another one, and when.
func retryAfter(a answer, attempt int) (time.Duration, bool) {
	if attempt+1 >= maxAttempts || errors.Is(a.err, context.Canceled) {
		return 0, false
	}
	wait := firstBackoff << attempt
	switch a.status {
	case 0, http.StatusConflict, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	case http.StatusTooManyRequests:
		if s, ok := apierrors.SuggestsClientDelay(a.err); ok {
			wait = min(max(wait, time.Duration(s)*time.Second), maxRetryAfter)
		}
	default:
		return 0, false
	}
	// A name that exists will exist at the next attempt too.
	return wait, attempt > 0 || !apierrors.IsAlreadyExists(a.err)
}

func errorText(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "…"
	}
	return s
}
