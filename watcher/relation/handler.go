package relation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Path is where Relations answers.
const Path = "/v1/relations"

var _ http.Handler = (*Relations)(nil)

// retryAfter is when a client should try again, in seconds.
const retryAfter = 1

// An answer has to be taken at minRate, in bytes per second, once writeGrace is used up.
const (
	minRate    = 1 << 20
	writeGrace = 10 * time.Second
)

// ServeHTTP answers GET with an Answer, or a Status.
func (r *Relations) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refused := apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "relations"}, req.Method)
		refused.ErrStatus.Message += ": use GET"
		refuse(w, refused)
		return
	}
	user, err := r.set.Guard.Authenticate(req)
	if err != nil {
		r.fail(w, Query{}, err)
		return
	}
	q, err := ParseQuery(req.URL.RawQuery)
	if err != nil {
		r.fail(w, q, err)
		return
	}
	q.User = user
	seat, err := r.set.Seats.Take(req.Context(), user)
	if err != nil {
		if errors.Is(err, access.ErrNoSeat) {
			w.Header().Set("Connection", "close") // new ones are accepted at a bounded rate
		}
		r.fail(w, q, err)
		return
	}
	defer seat.Leave()
	answer, err := r.graph(req.Context(), q, seat)
	if err != nil {
		r.fail(w, q, err)
		return
	}
	text := encode(answer)
	seat.Leave()
	send(w, text)
}

func (r *Relations) fail(w http.ResponseWriter, q Query, err error) {
	s := r.status(q, err)
	if s.ErrStatus.Code == http.StatusInternalServerError {
		r.set.Logger.Error("a query for relations was not answered", "kind", q.Kind, "error", err)
	}
	refuse(w, s)
}

// status puts an error in the apiserver's words.
func (r *Relations) status(q Query, err error) *apierrors.StatusError {
	resource := schema.GroupResource{Group: q.Group, Resource: q.Kind}
	if k, served := r.set.Kinds.Served().FindKind(q.Group, q.Version, q.Kind); served {
		resource.Resource = k.Name
	}
	var (
		input     *InputError
		forbidden *access.ForbiddenError
		denied    *access.UnauthorizedError
		undecided *access.UnavailableError
		missing   *NotFoundError
		limit     *watches.LimitError
		unsynced  *watches.UnsyncedError
		unserved  *watches.NotServedError
	)
	switch {
	case errors.As(err, &input):
		return apierrors.NewBadRequest(err.Error())
	case errors.As(err, &denied):
		return apierrors.NewUnauthorized("Unauthorized")
	case errors.As(err, &forbidden):
		return apierrors.NewForbidden(resource, q.Name, errors.New(forbidden.Sentence()))
	case errors.As(err, &missing):
		return apierrors.NewNotFound(resource, q.Name)
	case errors.Is(err, watches.ErrNotServed):
		message := "the server could not find the requested resource"
		if errors.As(err, &unserved) {
			message += ": " + unserved.Error()
		}
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: message, Details: &metav1.StatusDetails{Group: q.Group, Kind: q.Kind, Name: q.Name},
		}}
	case errors.Is(err, watches.ErrDenied), errors.Is(err, watches.ErrNotFollowed):
		return apierrors.NewForbidden(resource, q.Name, err)
	case errors.Is(err, access.ErrNoSeat):
		return apierrors.NewTooManyRequests(access.ErrNoSeat.Error(), retryAfter)
	case errors.Is(err, access.ErrBusy):
		return apierrors.NewTooManyRequests(access.ErrBusy.Error(), retryAfter)
	case errors.As(err, &undecided), errors.As(err, &limit), errors.As(err, &unsynced), errors.Is(err, view.ErrNotSynced),
		errors.Is(err, errUnknown):
		s := apierrors.NewServiceUnavailable(said(err, undecided, resource))
		s.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
		return s
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("the request did not complete in time", retryAfter)
	}
	return apierrors.NewInternalError(errors.New("the query was not answered"))
}

// said returns the part of an error that a client may see: not why the apiserver could not be asked.
func said(err error, undecided *access.UnavailableError, of schema.GroupResource) string {
	var unsynced *watches.UnsyncedError
	switch {
	case undecided != nil:
		return "access cannot be decided now"
	case errors.As(err, &unsynced): // why is between the watcher and the apiserver
		return fmt.Sprintf("%s is not synced: %v; GET /v1/watches says why", of,
			&watches.UnsyncedError{Waited: unsynced.Waited})
	}
	return err.Error()
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	if err.ErrStatus.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	kubeapi.WriteStatus(w, err)
}

func encode(a *Answer) []byte {
	text, err := json.Marshal(a)
	if err != nil { // strings and numbers can always be encoded
		panic(err)
	}
	return append(text, '\n')
}

func send(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", kubeapi.StatusType)
	w.Header().Set("Cache-Control", "no-cache, private")
	limit := writeGrace + time.Duration(len(text))*time.Second/minRate
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // has no effect without a connection
	_, _ = w.Write(text)                                                      // the client is gone
}
