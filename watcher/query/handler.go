package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Kinds are the kinds that can be read.
type Kinds interface {
	Served() *watches.Catalogue
	Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error)
	List() []watches.Status // of those that are followed
}

var _ Kinds = (*watches.Watches)(nil)

// Settings are passed in by code.
type Settings struct {
	Kinds Kinds
	Guard access.Guard
	// Relations answers /v1/relations; nil: nobody does.
	Relations *relation.Relations
	Logger    *slog.Logger          // nil: slog.Default()
	Registry  prometheus.Registerer // nil: no metrics
	// Version returns that of the cluster, as in v1.36.3, for /version. Where it returns
	// nothing: that of the release whose behaviour this is.
	Version func() string
}

// Handler serves the API. It has no goroutine but those of its requests.
type Handler struct {
	config    Config
	kinds     Kinds
	guard     access.Guard
	seats     *access.Seats
	relations *relation.Relations
	logger    *slog.Logger
	version   func() string
	patience  time.Duration // writeTimeout
	requests  slots
	watchers  slots
	waiting   slots // requests that gave their slot to others
	metrics   *metrics

	mu   sync.Mutex
	hubs map[*view.View]*hub // guarded by mu; of views that somebody watches
}

var _ http.Handler = (*Handler)(nil)

// New makes a Handler.
func New(c Config, s Settings) (*Handler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s.Logger = cmp.Or(s.Logger, slog.Default())
	h := &Handler{
		config: c, kinds: s.Kinds, guard: s.Guard, seats: access.NewSeats(), relations: s.Relations, logger: s.Logger,
		version: s.Version, patience: writeTimeout, hubs: map[*view.View]*hub{},
		requests: newSlots("requests (resourceWatcher.query.maxInFlight)", c.MaxInFlight),
		watchers: newSlots("watches (resourceWatcher.query.maxWatches)", c.MaxWatches),
		waiting:  newSlots("requests that wait for a first list or a resourceVersion", maxWaiting),
	}
	var err error
	h.metrics, err = newMetrics(s.Registry, h)
	return h, err
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := newRecorder(w, r, h.patience)
	start, verb := time.Now(), ""
	defer func() {
		rec.seat.Leave()
		if p := recover(); p != nil {
			h.panicked(rec, p) // ends with another panic once the answer has begun
		}
		h.metrics.observe(verb, rec.status, time.Since(start))
	}()
	gvr, err := h.serve(rec, r, &verb)
	switch {
	case err == nil:
	case rec.status != 0: // so that the client does not take what it has for the whole
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil: // nobody is there
	default:
		h.refuse(rec, statusOf(err, gvr))
	}
}

func (h *Handler) refuse(w http.ResponseWriter, err error) {
	w.Header().Del("Content-Length")
	w.Header().Del("Content-Encoding")
	kubeapi.WriteStatus(w, err)
}

// panicked answers after a panic, of which neither client nor log gets more than its place:
// its value may have content of an object in it.
func (h *Handler) panicked(rec *recorder, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // the value itself, as in net/http
		panic(p)
	}
	h.logger.Error("a request caused a panic: please report it", "panic", fmt.Sprintf("%T", p), "stack",
		string(debug.Stack()))
	if rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	h.refuse(rec, apierrors.NewInternalError(errors.New("the request could not be served")))
}

// serve finds out what a request wants and whether it may have it.
func (h *Handler) serve(w *recorder, r *http.Request, verb *string) (watches.GVR, error) {
	if err := checkSize(r); err != nil {
		return watches.GVR{}, err
	}
	q, err := parseRequest(r)
	if err != nil {
		return watches.GVR{}, err
	}
	*verb = q.verb
	q.place = &place{serving: h.requests, waiting: h.waiting}
	if q.verb == "watch" {
		q.place = &place{serving: h.watchers}
	}
	if !q.health() { // which a busy server must answer, lest it be restarted for that
		if q.place.release, err = q.place.serving.take(); err != nil {
			return q.gvr, err
		}
		defer func() { q.place.release() }()
	}
	user, err := h.guard.Authenticate(r)
	if err != nil {
		return q.gvr, err
	}
	if q.path != "" {
		err := h.servePath(w, r, q, user)
		return q.gvr, err
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		return q.gvr, kubeapi.MethodNotAllowed(r, q.gvr.Group, q.gvr.Resource, readOnly)
	}
	return q.gvr, h.read(w, r, q, user)
}

func (h *Handler) read(w *recorder, r *http.Request, q *request, user access.User) error {
	if err := h.guard.Authorize(r.Context(), user, q.attributes()); err != nil {
		return err
	}
	if q.subresource != "" {
		return kubeapi.NoResource()
	}
	kind, known := h.kinds.Served().Find(q.gvr)
	if known {
		if err := q.scope(kind); err != nil {
			return err
		}
	}
	var ok bool
	if q.form.as, ok = kubeapi.FormOf(r, kubeapi.AsTable, kubeapi.AsMetadata); !ok {
		return kubeapi.NotAcceptable()
	}
	if err := q.form.parseInclude(q.query.Get("includeObject")); err != nil {
		return err
	}
	q.user = user
	if q.name == "" {
		if err := h.parseList(q); err != nil {
			return err
		}
	}
	open, err := h.kinds.Open(r.Context(), q.gvr, watches.Wait{Begin: q.place.wait})
	if err != nil {
		return err
	}
	defer open.Close()
	if err := q.place.back(); err != nil {
		return err
	}
	if !known { // it is now
		if err := q.scope(open.Kind); err != nil {
			return err
		}
	}
	switch {
	case q.name != "":
		return h.get(w, r, q, open)
	case q.options.Watch:
		return h.watch(w, r, q, open)
	}
	return h.list(w, r, q, open)
}

// sit waits for a seat, without which nobody reads more than one object.
func (h *Handler) sit(w *recorder, r *http.Request, q *request) (err error) {
	if m := q.matcher; m != nil && m.name != "" && m.namespace != "" {
		return nil
	}
	q.place.lend()
	if w.seat, err = h.seats.Take(r.Context(), q.user); err != nil {
		if errors.Is(err, access.ErrNoSeat) {
			w.Header().Set("Connection", "close") // new ones are accepted at a bounded rate
		}
		return err
	}
	return q.place.back()
}
