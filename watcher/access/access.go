// Package access decides who may read what of the resource watcher's API.
package access

import (
	"context"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// User is the sender of a request, as a TokenReview names it.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string]authorizationv1.ExtraValue
}

// Attributes describe a request: all that a SubjectAccessReview asks for. Path is
// that of a request for no resource, such as discovery; the others are then empty.
type Attributes struct {
	Verb                                  string // get, list or watch; get, post or delete of a Path
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	LabelSelector, FieldSelector          string // as sent; "" is none
	Path                                  string
}

// Guard answers both questions. Authenticate's error is an *UnauthorizedError, Authorize's
// a *ForbiddenError, or either is an *UnavailableError: the apiserver could not be asked.
type Guard interface {
	Authenticate(*http.Request) (User, error)
	Authorize(context.Context, User, Attributes) error
}

// UnauthorizedError is the refusal of a request without valid credentials: 401.
type UnauthorizedError struct{ Reason string }

func (e *UnauthorizedError) Error() string { return "unauthorized: " + e.Reason }

// ForbiddenError is the refusal of what a user may not do: 403.
type ForbiddenError struct {
	User       User
	Attributes Attributes
	Reason     string // what the apiserver gives as its reason; may be empty
}

func (e *ForbiddenError) Error() string { return "forbidden: " + e.Sentence() }

// Sentence says it in the apiserver's words, which clients know.
func (e *ForbiddenError) Sentence() string {
	a := e.Attributes
	s := fmt.Sprintf("User %q cannot %s path %q", e.User.Name, a.Verb, a.Path)
	if a.Path == "" {
		resource, scope := a.Resource, "at the cluster scope"
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		if a.Namespace != "" {
			scope = fmt.Sprintf("in the namespace %q", a.Namespace)
		}
		s = fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", e.User.Name, a.Verb, resource, a.Group, scope)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// UnavailableError says that nobody could decide: 503.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "access cannot be decided now: " + e.Err.Error() }

// Unwrap returns why.
func (e *UnavailableError) Unwrap() error { return e.Err }

type open struct{}

var _ Guard = open{}

// Open is the guard of a server on loopback without authentication: everybody is the apiserver's anonymous user and
// may read everything that is not withheld elsewhere. NewServer serves with it on loopback only.
func Open() Guard { return open{} }

func (open) Authenticate(*http.Request) (User, error) {
	return User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}, nil
}

func (open) Authorize(context.Context, User, Attributes) error { return nil }
