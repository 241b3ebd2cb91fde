package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	acceptJSON = "application/json"
	// Both ask for the metadata of each object alone.
	acceptMetadata      = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
	acceptMetadataWatch = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	// maxErrorBody bounds what is read of a failed answer.
	maxErrorBody = 64 << 10
	// busyTries is how often a request is sent to an apiserver that answers with a
	// Retry-After, as often as client-go's REST client does; maxComeBack bounds each wait.
	busyTries   = 10
	maxComeBack = 30 * time.Second
	// listRead is how much of a list one read waits for.
	listRead = 32 << 10
	// answerWithin is how long a watch may go unanswered before the server's version is checked.
	answerWithin = 2 * time.Second
	// watchesPerSecond and watchesAtOnce bound the watches opened per kind: after one that
	// delivered anything the reflector opens the next without a pause, even if it ended at once.
	watchesPerSecond = 1
	watchesAtOnce    = 5
)

// errSamePage refuses a list without an end, which would be read until memory is full.
var errSamePage = errors.New("the page names itself as the next one: the server does not page as it says")

// source lists and watches one kind over HTTP. It takes the place of client-go's typed clients below the reflector.
type source struct {
	conn      *connection
	resource  Resource
	namespace string
	metadata  bool   // ask for that alone
	idle      Config // WatchIdle, ListIdle, InitialIdle, and the shard
	decoder   decoder
	metrics   *kindMetrics
	life      *life
	logger    *slog.Logger
	plain     bool        // no streaming lists
	afresh    func() bool // whether lists have to be consistent
	doubt     func()      // schedules a check of the apiserver's version

	// broken is set after a watch that was lost, ended early or delivered nothing: the next one
	// may reach a restored apiserver, where it would be silent.
	broken  atomic.Bool
	listed  atomic.Bool
	spread  atomic.Bool   // no watch has ended since the last list
	current atomic.Bool   // a list was complete, and no watch opened since
	opens   *rate.Limiter // of watches: see watchesPerSecond
	running gate          // lists and streams
}

var (
	_ cache.ListerWatcherWithContext = (*source)(nil)
	_ cache.ListerWatcher            = (*source)(nil)
)

// List and Watch satisfy the reflector's constructor; it calls the forms with a context.
func (s *source) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

func (s *source) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported makes the reflector list in pages.
func (s *source) IsWatchListSemanticsUnSupported() bool { return s.plain }

// ListWithContext fetches a list or one page of it.
func (s *source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if !s.running.enter() {
		return nil, context.Canceled
	}
	defer s.running.leave()
	if o.Continue == "" {
		s.countList()
		s.consistent(&o)
	}
	list, err := s.page(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.resource, err)
	}
	s.life.sign()
	s.current.Store(true)
	return list, nil
}

// page reads a list or one page of it.
func (s *source) page(ctx context.Context, o metav1.ListOptions) (*itemList, error) {
	ctx, guard := guardIdle(ctx, s.idle.ListIdle)
	defer guard.close()
	body, err := s.open(ctx, guard, o)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = body.Close() }()
	f := &buffer{src: &guardedReader{body, guard, nil}, atLeast: listRead}
	list, err := s.decoder.list(f)
	if err == nil && o.Continue != "" && list.Continue == o.Continue {
		err = errSamePage
	}
	if err != nil {
		err = cause(ctx, err)
		s.life.fail(ctx, err)
		return nil, err
	}
	// Reading to the end lets the connection be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxErrorBody))
	return list, nil
}

// consistent makes a list a consistent read if it has to be, not one of an apiserver's cache.
func (s *source) consistent(o *metav1.ListOptions) {
	if s.afresh() {
		o.ResourceVersion = ""
	}
}

func (s *source) countList() {
	if shard := s.idle.Shard; shard != nil && shard.String() != "" {
		s.metrics.sharded.Set(1) // until an object of another one comes
	}
	s.metrics.lists.Inc()
	s.spread.Store(true)
	if s.decoder.listing != nil {
		s.decoder.listing(s.decoder.kind, 0)
	}
	if s.listed.Swap(true) {
		s.metrics.relists.Inc()
		s.metrics.relisted.Add(1)
	}
}

// WatchWithContext opens a watch. With SendInitialEvents it is a streaming list, which
// may take as long as the reflector says.
func (s *source) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if !s.running.enter() {
		return nil, context.Canceled
	}
	// The reflector takes "0" from an object that has no version either.
	if fresh := s.current.Swap(false); !fresh && (o.ResourceVersion == "" || o.ResourceVersion == "0") &&
		o.SendInitialEvents == nil {
		s.running.leave()
		return nil, apierrors.NewResourceExpired("lists of " + s.resource.String() +
			" have no version: a watch would miss what was deleted since the last list")
	}
	if err := s.opens.Wait(ctx); err != nil {
		s.running.leave()
		return nil, err
	}
	o.Watch = true
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if initial {
		s.countList()
		s.consistent(&o)
	}
	s.metrics.watches.Inc()
	idle := s.idle.WatchIdle
	if initial {
		idle = s.idle.InitialIdle
	} else if idle > 0 {
		seconds := watchSeconds(idle, s.together(), rand.Float64())
		o.TimeoutSeconds = &seconds
	}
	ctx, stop := context.WithCancel(ctx)
	request, guard := guardIdle(ctx, idle)
	// A server may not answer a watch from a future version until it gets there.
	waits := time.AfterFunc(answerWithin, s.doubt)
	body, err := s.open(request, guard, o)
	waits.Stop()
	if err != nil {
		err = cause(request, err)
		s.broken.Store(true)
		guard.close()
		stop()
		s.running.leave()
		return nil, fmt.Errorf("watch %s: %w", s.resource, err)
	}
	if !initial {
		s.life.sign()
		if s.broken.Swap(false) {
			s.doubt()
		}
	}
	w := &stream{
		source: s, ctx: ctx, stop: stop, request: request, guard: guard, body: body, initial: initial, list: initial,
		version: o.ResourceVersion,
		result:  make(chan watch.Event, resultBuffer),
	}
	if o.TimeoutSeconds != nil {
		w.until = time.Now().Add(time.Duration(*o.TimeoutSeconds) * time.Second)
	}
	go w.run()
	return w, nil
}

// watchSeconds is how long a watch is asked for that may be silent for idle: 70 to 90 % of that by chance (0 to 1),
// 10 to 90 % for kinds that began together, so that they do not all come back at once.
func watchSeconds(idle time.Duration, together bool, chance float64) int64 {
	from := 0.7
	if together {
		from = 0.1
	}
	return max(1, int64((from+(0.9-from)*chance)*idle.Seconds()))
}

// together reports whether other kinds may begin to watch at this moment: after the list,
// and when the apiserver is back.
func (s *source) together() bool { return s.spread.Swap(false) || s.life.error() != nil }

// firstIdle is the longest silence behind a streaming list. Of a quiet kind that is how long
// the watch lasts: its time was chosen by the reflector, in minutes.
func (s *source) firstIdle() time.Duration {
	seconds := watchSeconds(s.idle.WatchIdle, s.together(), rand.Float64())
	return min(s.idle.WatchIdle, time.Duration(seconds)*time.Second)
}

// open sends the request and returns the body of a successful answer. An apiserver that
// is too busy says when to come back, and gets the request again then.
func (s *source) open(ctx context.Context, guard *idleGuard, o metav1.ListOptions) (io.ReadCloser, error) {
	for left := busyTries; ; left-- {
		resp, err := s.conn.get(ctx, s.path(), s.query(o), s.form(o.Watch))
		if err != nil {
			s.life.fail(ctx, cause(ctx, err))
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			return resp.Body, nil
		}
		pause, busy := comeBack(resp)
		err = answerError(resp, s.resource)
		s.life.fail(ctx, err)
		_ = resp.Body.Close()
		if !busy || left == 1 {
			return nil, err
		}
		guard.stop()
		if err := lifecycle.Pause(ctx, wait.Jitter(pause, 0.5)); err != nil {
			return nil, err
		}
		guard.start()
	}
}

// form is the header Accept.
func (s *source) form(watch bool) string {
	switch {
	case !s.metadata:
		return acceptJSON
	case watch:
		return acceptMetadataWatch
	}
	return acceptMetadata
}

// comeBack is the time after which a busy apiserver wants the request again.
func comeBack(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return 0, false
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return 0, false
	}
	return min(time.Duration(seconds)*time.Second, maxComeBack), true
}

// answerError is the typed error of an answer that is not 200.
func answerError(resp *http.Response, r Resource) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var st metav1.Status
	if json.Unmarshal(text, &st) != nil || st.Kind != "Status" || st.Status != metav1.StatusFailure {
		retryAfter, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		// The text is left out: it does not come from an apiserver.
		st = apierrors.NewGenericServerResponse(resp.StatusCode, http.MethodGet, r.groupResource(), "", resp.Status,
			retryAfter, true).ErrStatus
	}
	if st.Message == "" {
		st.Message = fmt.Sprintf("the API server answered %s without a message", resp.Status)
	}
	return apierrors.FromObject(&st)
}

func (s *source) path() string {
	path := "/apis/" + s.resource.Group + "/" + s.resource.Version
	if s.resource.Group == "" {
		path = "/api/" + s.resource.Version
	}
	if s.namespace != "" && s.resource.Namespaced {
		path += "/namespaces/" + s.namespace
	}
	return path + "/" + s.resource.Name
}

func (s *source) query(o metav1.ListOptions) url.Values {
	q := url.Values{}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	set("labelSelector", s.resource.LabelSelector)
	if s.idle.Shard != nil {
		set("shardSelector", s.idle.Shard.String())
	}
	set("fieldSelector", o.FieldSelector)
	set("resourceVersion", o.ResourceVersion)
	set("resourceVersionMatch", string(o.ResourceVersionMatch))
	set("continue", o.Continue)
	if o.Limit > 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	if o.TimeoutSeconds != nil {
		q.Set("timeoutSeconds", strconv.FormatInt(*o.TimeoutSeconds, 10))
	}
	if o.SendInitialEvents != nil {
		q.Set("sendInitialEvents", strconv.FormatBool(*o.SendInitialEvents))
	}
	if o.AllowWatchBookmarks {
		q.Set("allowWatchBookmarks", "true")
	}
	if o.Watch {
		q.Set("watch", "true")
	}
	return q
}
