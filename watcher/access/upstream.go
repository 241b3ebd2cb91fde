package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher/call"
)

const (
	// reviewTimeout bounds one question, the wait for its turn included.
	reviewTimeout = 5 * time.Second
	// maxReviews questions of one sort are under way at a time, and so that a flood of bad
	// tokens costs the apiserver a bounded amount.
	maxReviews = 32
	// maxWaiting more wait for their turn; beyond it is ErrBusy.
	maxWaiting = 256
	// maxAnswer bounds the apiserver's answer, in bytes.
	maxAnswer = 256 << 10
)

// ErrBusy is in an UnavailableError where too many reviews wait already: 429.
var ErrBusy = errors.New("too many requests wait for the apiserver to review them")

// reviews are created at the apiserver, of one sort.
type reviews struct {
	client   *http.Client
	url      string
	version  string // of the API
	kind     string
	resource string // with its group, for messages
	log      *slog.Logger
	failed   atomic.Bool   // the last one failed, and that was logged
	turns    chan struct{} // capacity: those under way
	waiting  atomic.Int32
}

// review creates one and decodes the answer's status. Errors never hold what was sent or answered.
func (l *reviews) review(ctx context.Context, spec, status any) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	if err := l.turn(ctx); err != nil {
		return &UnavailableError{err}
	}
	defer func() { <-l.turns }()
	err := l.create(ctx, spec, status)
	switch {
	case err == nil:
		if l.failed.Swap(false) {
			l.log.Info("the apiserver answers reviews again", "resource", l.resource)
		}
		return nil
	case !l.failed.Swap(true):
		l.log.Warn("the apiserver answers no review: only remembered users are accepted", "resource", l.resource,
			"error", badinput.Redacted(err))
	}
	return &UnavailableError{err}
}

// turn waits until fewer than maxReviews are under way.
func (l *reviews) turn(ctx context.Context) error {
	select {
	case l.turns <- struct{}{}:
		return nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > maxWaiting {
		return ErrBusy
	}
	select {
	case l.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no turn to ask the apiserver within %s", reviewTimeout)
	}
}

func (l *reviews) create(ctx context.Context, spec, into any) error {
	body, err := json.Marshal(map[string]any{"apiVersion": l.version, "kind": l.kind, "spec": spec})
	if err != nil {
		return errors.New("encode a review")
	}
	// A review changes nothing: where a kept connection turns out to be closed, it may be sent again.
	status, data, err := call.Do(ctx, l.client, call.Request{
		Method: http.MethodPost, URL: l.url, Body: body, Limit: maxAnswer, Repeatable: true,
	})
	switch {
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("the watcher may not create %s: status %d; bind it to the ClusterRole system:auth-delegator",
			l.resource, status)
	case status != 0 && status != http.StatusCreated && status != http.StatusOK:
		return fmt.Errorf("create %s: status %d", l.resource, status)
	case err != nil:
		return fmt.Errorf("create %s: %w", l.resource, err)
	}
	// The answer repeats the token in its spec, and an error of encoding/json may quote a value.
	if json.Unmarshal(data, &struct{ Status any }{into}) != nil {
		return fmt.Errorf("the answer of %s is not a review", l.resource)
	}
	return nil
}
