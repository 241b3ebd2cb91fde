package query

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

var status = kubeapi.Status

var unavailable, badRequest, noResource = kubeapi.Unavailable, kubeapi.BadRequest, kubeapi.NoResource

func notKnown() error { return unavailable("what the cluster serves is not known yet") }

func tooMany(what string, most int) error {
	return kubeapi.TooMany(fmt.Sprintf("too many %s: %d at once, please try again later", what, most))
}

func forbidden(e *access.ForbiddenError) error {
	a := e.Attributes
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name,
		errors.New(e.Sentence()))
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
	case errors.Is(err, access.ErrBusy):
		return kubeapi.TooMany(access.ErrBusy.Error())
	case errors.As(err, &undecided):
		return unavailable("access cannot be decided now, please try again later")
	case errors.Is(err, access.ErrNoSeat):
		return kubeapi.TooMany(access.ErrNoSeat.Error())
	case errors.Is(err, watches.ErrNotServed):
		return noResource()
	case errors.Is(err, watches.ErrDenied), errors.Is(err, watches.ErrNotFollowed):
		return apierrors.NewForbidden(gr, "", err)
	case errors.As(err, &limit):
		return unavailable("%s cannot be followed: %v", gr, limit)
	case errors.Is(err, view.ErrNotSynced), errors.Is(err, view.ErrEnded):
		return unavailable("%s is not synced: %v", gr, err)
	case errors.Is(err, view.ErrExpired):
		return kubeapi.Expired(kubeapi.Token{})
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("%s: the time for the request is over", gr)
	}
	return apierrors.NewInternalError(errors.New("the request could not be served"))
}
