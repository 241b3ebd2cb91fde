package collector

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
)

// resultBuffer holds the events of one ReadPace at 3,000 a second: the reflector wakes up once per read instead of once
// per event. What finds no room stays in the socket and holds back the sender.
const resultBuffer = 64

// early is how long before its time a watch ends only for a reason.
const early = 5 * time.Second

// stream is one open watch.
type stream struct {
	source  *source
	ctx     context.Context // ends with Stop
	stop    context.CancelFunc
	request context.Context // of the request: ends with ctx or by guard
	guard   *idleGuard
	body    io.ReadCloser
	initial bool // until the bookmark behind the initial events
	list    bool // it began as a streaming list
	result  chan watch.Event
	overdue *time.Timer // of a list that should be complete; nil: it need not be yet
	index   int         // of the last item of a streaming list, from 1
	version string      // that the watch was requested from
	last    *item       // the last event that could be decoded; nil: none
	brought bool        // something arrived
	until   time.Time   // when its requested time is over
}

var _ watch.Interface = (*stream)(nil)

// Stop ends the watch. The result channel is closed soon after.
func (w *stream) Stop() { w.stop() }

// ResultChan delivers the events until the watch ends.
func (w *stream) ResultChan() <-chan watch.Event { return w.result }

func (w *stream) run() {
	defer w.source.running.leave()
	defer close(w.result)
	defer w.stop()
	defer func() { _ = w.body.Close() }()
	defer w.guard.close()
	reader := &guardedReader{w.body, w.guard, nil}
	if !w.initial {
		reader.life = w.source.life
	}
	f := &buffer{src: reader, atLeast: 1}
	var event watch.Event
	step := func(s *jsonscan.Scanner, b []byte) (err error) {
		event, err = w.source.decoder.frame(s, b)
		return err
	}
	defer w.listed()
	for {
		if err := f.parse(step); err != nil {
			w.end(err)
			return
		}
		it, ok := event.Object.(*item)
		if ok {
			w.place(it)
		}
		if w.initial && !w.initially(event) {
			return
		}
		if w.initial && event.Type == watch.Bookmark && !it.initialEnd { // of another shard, in no order
			w.brought = true
			continue
		}
		if !w.send(event) {
			return
		}
		w.brought = true
		if ok && it.initialEnd && w.initial {
			w.initial = false
			reader.life = w.source.life
			reader.life.sign()
			w.listed()
			w.guard.limit = w.source.firstIdle()
		}
	}
}

// place records an item's position. One that cannot be decoded gets the version before it,
// from which the watch can always resume.
func (w *stream) place(it *item) {
	if w.initial {
		w.index++
	}
	switch {
	case it.bad == nil:
		w.last = it
	case w.initial:
		it.bad.index = w.index
	case w.last != nil:
		it.version = itemMeta{i: w.last}.GetResourceVersion()
	default:
		it.version = w.version
	}
}

// initially looks at an event before the closing bookmark, and reports false when the streaming list is over. After any
// change but an addition the list should be complete: live changes must not keep one open whose bookmark never comes.
// An error event ends it for good, as the reflector would ask for another one without a pause.
func (w *stream) initially(e watch.Event) bool {
	switch e.Type {
	case watch.Modified, watch.Deleted:
		if limit := w.source.idle.InitialIdle; w.overdue == nil && limit > 0 {
			w.overdue = time.AfterFunc(limit, func() { w.guard.cancel(errIdle) })
		}
	case watch.Error:
		w.source.logger.Debug("streaming list refused", "status", e.Object)
		w.fail(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the streaming list ended with an error")
		return false
	}
	return true
}

// listed ends the wait for the closing bookmark.
func (w *stream) listed() {
	if w.overdue != nil {
		w.overdue.Stop()
	}
}

func (w *stream) send(e watch.Event) bool {
	select {
	case w.result <- e:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// end reports to the reflector why the watch is over. After a connection that merely ended the next watch goes on
// from the last version; after bytes that make no sense it lists again, after an incomplete streaming list in pages.
func (w *stream) end(err error) {
	logger := w.source.logger
	if w.ctx.Err() != nil {
		return
	}
	if w.initial {
		w.source.life.fail(w.request, cause(w.request, err))
	}
	if !w.brought || !errors.Is(err, io.EOF) || time.Until(w.until) > early {
		w.source.broken.Store(true)
	}
	if !w.brought && !w.list && w.version != "" && !errors.Is(err, io.EOF) {
		// client-go lists again after a watch of less than a second without an event. A broken
		// connection does not warrant that.
		w.send(watch.Event{Type: watch.Bookmark, Object: &item{obj: &object.Object{}, version: w.version}})
	}
	var bad *valueError
	switch {
	case errors.As(err, &bad):
		logger.Warn("watch ended: unreadable frame", "error", err)
		w.fail(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
		return
	case errors.Is(context.Cause(w.request), errIdle) && w.list && !w.initial:
		// A quiet kind, most likely: the reflector asked for minutes, and the first bookmark takes one.
		logger.Debug("watch ended: nothing arrived since the list", "for", w.guard.limit)
	case errors.Is(context.Cause(w.request), errIdle):
		w.source.life.fail(w.request, errIdle)
		logger.Debug("watch ended: nothing arrived", "for", w.guard.limit, "initial", w.initial)
	case errors.Is(err, io.EOF):
		if !w.initial {
			w.source.life.sign()
		}
	default:
		logger.Debug("watch ended", "error", err)
	}
	if w.initial {
		w.fail(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the streaming list ended before its closing bookmark")
	}
}

func (w *stream) fail(code int32, reason metav1.StatusReason, message string) {
	st := apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message}}
	w.send(watch.Event{Type: watch.Error, Object: &st.ErrStatus})
}
