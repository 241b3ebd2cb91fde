package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// retryAfter is what refused clients are asked to wait, in seconds.
const retryAfter = 1

// status is an error with a Status of its own.
func status(code int32, reason metav1.StatusReason, format string, args ...any) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf(format, args...), Details: &metav1.StatusDetails{},
	}}
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

func invalidOptions(errs fielderrors.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
}

// noResource is what an apiserver says of a path that leads nowhere.
func noResource() error {
	return status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

func notAcceptable() error {
	return status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only the following media types are accepted: %s", kubeapi.StatusType)
}

// unavailable asks the client to come back.
func unavailable(format string, args ...any) *apierrors.StatusError {
	err := status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, format, args...)
	err.ErrStatus.Details.RetryAfterSeconds = retryAfter
	return err
}

// notKnown is said before the first discovery.
func notKnown() error { return unavailable("what the cluster serves is not known yet") }

// tooMany refuses a request beyond a limit.
func tooMany(what string, most int) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf("too many %s: %d at once, please try again later", what, most), retryAfter)
}

// tooLarge says that a version is still to come.
func tooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), retryAfter)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// tooOld ends a watch that cannot go on from a version.
func tooOld(version, current uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, current))
}

// forbidden is the refusal of what a user may not do.
func forbidden(e *access.ForbiddenError) error {
	a := e.Attributes
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errors.New(e.Sentence()))
}

// statusOf gives every error the Status that a client is to see. What is in none is an
// internal error, of which no client learns more.
func statusOf(err error, r watches.GVR) error {
	var (
		known        *apierrors.StatusError
		unauthorized *access.UnauthorizedError
		refused      *access.ForbiddenError
		undecided    *access.UnavailableError
		limit        *watches.LimitError
		unsynced     *watches.UnsyncedError
		unserved     *watches.NotServedError
	)
	gr := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	switch {
	case errors.As(err, &unsynced): // before known: why it is so is between the watcher and the apiserver
		return unavailable("%s is not synced: %v", gr, &watches.UnsyncedError{Waited: unsynced.Waited})
	case errors.As(err, &known):
		return known
	case errors.As(err, &unauthorized):
		return apierrors.NewUnauthorized("Unauthorized")
	case errors.As(err, &refused):
		return forbidden(refused)
	case errors.As(err, &undecided):
		return unavailable("access cannot be decided now, please try again later")
	case errors.As(err, &unserved):
		return status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource: %v", unserved)
	case errors.Is(err, access.ErrNoSeat):
		return apierrors.NewTooManyRequests(access.ErrNoSeat.Error(), retryAfter)
	case errors.Is(err, watches.ErrNotServed):
		return noResource()
	case errors.Is(err, watches.ErrDenied), errors.Is(err, watches.ErrNotFollowed):
		return apierrors.NewForbidden(gr, "", err)
	case errors.Is(err, watches.ErrNoWatch):
		return status(http.StatusNotFound, metav1.StatusReasonNotFound, "%s: %v", gr, err)
	case errors.Is(err, watches.ErrKept):
		return status(http.StatusConflict, metav1.StatusReasonConflict, "%s: %v", gr, err)
	case errors.As(err, &limit):
		return unavailable("%s cannot be followed: %v", gr, limit)
	case errors.Is(err, view.ErrNotSynced), errors.Is(err, view.ErrEnded):
		return unavailable("%s is not synced: %v", gr, err)
	case errors.Is(err, view.ErrExpired):
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("%s: the time for the request is over", gr)
	}
	return apierrors.NewInternalError(errors.New("the request could not be served"))
}

func invalidVersion(text string) error {
	return badRequest("resourceVersion: Invalid value: %q: want a whole number", text)
}
