package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// target takes events, one at each call. A PermanentError, UnreachableError or RetryAfterError says what to do; any
// other error has the event tried again.
type target interface {
	Deliver(context.Context, Event) error
	// Close ends what Deliver does at the time, too. It may be called twice.
	Close()
}

type subscription struct {
	Subscription
	settings Settings
	logger   *slog.Logger
	target   target
	filter   *filter
	queue    *queue
	metrics  *metrics

	followed atomic.Bool // changes, at any time before

	// Pauses between two lines of one kind in the log.
	failing, letter, unserved rate.Sometimes

	mu          sync.Mutex
	unreachable int       // guarded by mu; pauses in a row because the target could not be reached
	alone       time.Time // guarded by mu; until when the last of them is
}

func (s *subscription) follow(ctx context.Context) {
	(&follower{
		sub: s, filter: s.filter, queue: s.queue, known: map[string]*object.Object{}, silent: s.Initial != InitialList,
	}).run(ctx)
}

func (s *subscription) work(ctx context.Context) {
	var buf []byte
	for {
		i, ok := s.queue.take(ctx)
		if !ok {
			return
		}
		buf = s.try(ctx, i, buf)
	}
}

// notPermitted is how long the target is left alone when Settings.Permit has refused.
const notPermitted = time.Second

// try delivers i once, and settles it or has it tried again. It returns the buffer for the next call.
func (s *subscription) try(ctx context.Context, i *item, buf []byte) []byte {
	e, buf, err := s.event(i, buf)
	if permit := s.settings.Permit; permit != nil && permit() != nil {
		due := time.Now().Add(notPermitted)
		s.queue.retry(i, due, due)
		return buf
	}
	if i.first.IsZero() {
		i.first = time.Now()
	}
	i.tries++
	if err == nil {
		err = s.target.Deliver(ctx, e)
	}
	if err == nil {
		s.reached()
		s.metrics.delivered.WithLabelValues(s.Name).Inc()
		s.metrics.latency.WithLabelValues(s.Name).Observe(time.Since(i.received).Seconds())
		s.queue.settle(i)
		return buf
	}
	if ctx.Err() != nil {
		return buf // it stays in the queue, and is counted there
	}
	due, hold, reason := s.after(i, err)
	if reason != "" {
		s.bury(i, reason, err)
		s.queue.settle(i)
		return buf
	}
	s.metrics.retried.WithLabelValues(s.Name).Inc()
	s.failing.Do(func() {
		s.logger.Warn("delivery failed, it is tried again", "event", i.obj.Key, "tries", i.tries, "error", err)
	})
	s.queue.retry(i, due, hold)
	return buf
}

// event builds what is delivered. The object is unpacked into buf.
func (s *subscription) event(i *item, buf []byte) (Event, []byte, error) {
	raw, buf := i.obj.Content(buf)
	body, err := appendBody(make([]byte, 0, len(raw)+64), i, raw)
	if err != nil {
		err = &PermanentError{Reason: Invalid, Err: err}
	}
	r := s.Resource
	return Event{
		ID: i.id(), Type: i.typ.String(), Group: r.Group, Version: r.Version, Resource: r.Resource,
		Namespace: i.obj.Key.Namespace, Name: i.obj.Key.Name, UID: i.obj.UID, Body: body,
	}, buf, err
}

// appendBody appends the watch event. A deleted object has the version of its deletion, as in the apiserver's watch.
func appendBody(dst []byte, i *item, raw []byte) (body []byte, err error) {
	dst = append(append(append(dst, `{"type":"`...), i.typ.String()...), `","object":`...)
	if i.typ == view.Deleted && i.version != 0 {
		dst, err = object.AppendVersion(dst, raw, i.version)
	} else {
		dst = append(dst, raw...)
	}
	return append(dst, '}'), err
}

// eventID is the same for each try and for each time that the same state is sent.
func eventID(uid string, version uint64, t view.Type) string {
	return uid + ":" + strconv.FormatUint(version, 10) + ":" + t.String()
}

func (s *subscription) bury(i *item, reason Reason, why error) {
	s.metrics.deadLettered.WithLabelValues(s.Name, string(reason)).Inc()
	s.letter.Do(func() {
		s.logger.Error("event given up", "event", i.obj.Key, "reason", string(reason), "tries", i.tries, "error", why)
	})
}

func (s *subscription) end() {
	left, _ := s.queue.depth()
	s.metrics.lost.WithLabelValues(s.Name, dropAbandoned).Add(float64(left))
	if left > 0 {
		s.logger.Warn("events dropped", "reason", dropAbandoned, "events", left)
	}
}

// gap counts a place in the history that was not seen.
func (s *subscription) gap(reason string) {
	s.metrics.missed.WithLabelValues(s.Name, reason).Inc()
	s.logger.Warn("changes were missed; the differences are delivered", "reason", reason)
}

// reopening logs why the kind is not followed, as it was not for some time.
func (s *subscription) reopening(err error, lasts, pause time.Duration) {
	log := func() {
		s.logger.Warn("the kind is not followed, and nothing is sent; it is opened again", "resource", s.Resource.String(),
			"error", err, "pause", pause.Round(time.Millisecond))
	}
	switch {
	case errors.Is(err, watches.ErrNotFollowed) && lasts < startsWithin:
	case errors.Is(err, watches.ErrNotServed), errors.Is(err, watches.ErrNotFollowed): // as long as all is as it is
		s.unserved.Do(log)
	default:
		log()
	}
}

// Pauses between two lines of one kind, and between those that a kind is not served.
const (
	logEvery      = 10 * time.Second
	unservedEvery = time.Hour
)

// jitter is any time up to initial, doubled for each failure before, at most up to highest.
func jitter(initial, highest time.Duration, failures int) time.Duration {
	top := highest
	if failures < 32 && initial<<failures < highest && initial<<failures > 0 {
		top = initial << failures
	}
	return rand.N(top + 1)
}
