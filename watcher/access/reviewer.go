package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/call"
)

// How long answers count: those of controller-runtime's filter for metrics.
const (
	userTTL    = time.Minute
	refusedTTL = 10 * time.Second // of credentials
	allowTTL   = 5 * time.Minute
	denyTTL    = 30 * time.Second
)

// How many answers are kept. The least recently used goes first.
const (
	maxUsers   = 4096
	maxRefused = 1024 // credentials
	maxAllowed = 16384
	maxDenied  = 4096
)

// Settings are passed by code.
type Settings struct {
	Logger *slog.Logger // nil: no logs
	// Kube is how the watcher itself reaches the apiserver.
	Kube *rest.Config
}

// Reviewer asks the apiserver who a client is and what that user may do. Credentials are kept by a keyed hash only.
type Reviewer struct {
	client       *http.Client
	tokens, acls *reviews
	audiences    []string
	secret       [32]byte // of the hash
	users        *cache[User]
	decisions    *cache[string] // why not
}

var _ Guard = (*Reviewer)(nil)

// New is the guard that the configuration asks for: Open, or a *Reviewer.
func New(c Config, s Settings) (Guard, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Authentication == None {
		return Open(), nil
	}
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	kube := rest.CopyConfig(s.Kube)
	kube.Timeout = 0 // each review has its own
	client, base, err := call.APIServer(kube)
	if err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	of := func(group, resource, kind string) *reviews {
		return &reviews{
			client: client, url: base.JoinPath("apis", group, "v1", resource).String(), version: group + "/v1", kind: kind,
			resource: resource + "." + group, log: s.Logger, turns: make(chan struct{}, maxReviews),
		}
	}
	r := &Reviewer{
		client: client, audiences: c.Audiences,
		tokens: of("authentication.k8s.io", "tokenreviews", "TokenReview"),
		acls:   of("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
		users:  newCache[User](maxUsers, maxRefused), decisions: newCache[string](maxAllowed, maxDenied),
	}
	_, _ = rand.Read(r.secret[:]) // never fails
	return r, nil
}

// CloseIdleConnections ends those to the apiserver that are kept for a next review.
func (r *Reviewer) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(r.client.Transport) }

func (r *Reviewer) key(what []byte) (k key) {
	h := hmac.New(sha256.New, r.secret[:])
	_, _ = h.Write(what)
	h.Sum(k[:0])
	return k
}

// Authenticate returns the user of the bearer token. The user is shared: callers must not change it.
func (r *Reviewer) Authenticate(req *http.Request) (User, error) {
	if u, ok := req.Context().Value(userKey{}).(User); ok {
		return u, nil // the server has asked already
	}
	token, refused := bearer(req.Header.Values("Authorization"))
	if refused != nil {
		return User{}, refused
	}
	return r.token(req.Context(), token)
}

func bearer(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", &UnauthorizedError{"the request has no bearer token"}
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	// The characters of RFC 6750 and those that are printed, but no second word.
	odd := func(c rune) bool { return c <= ' ' || c >= 0x7f }
	if len(headers) > 1 || !strings.EqualFold(scheme, "bearer") || token == "" || strings.ContainsFunc(token, odd) {
		return "", &UnauthorizedError{"want one header Authorization: Bearer and a token"}
	}
	return token, nil
}

func (r *Reviewer) token(ctx context.Context, token string) (User, error) {
	a, err := r.users.do(ctx, r.key([]byte(token)), func(ctx context.Context) (answer[User], error) {
		var s authenticationv1.TokenReviewStatus
		spec := authenticationv1.TokenReviewSpec{Token: token, Audiences: r.audiences}
		if err := r.tokens.review(ctx, spec, &s); err != nil {
			return answer[User]{}, err
		}
		// An apiserver that knows no audiences names none: its yes is then for its own only.
		ours := len(r.audiences) == 0 || slices.ContainsFunc(s.Audiences, func(a string) bool {
			return slices.Contains(r.audiences, a)
		})
		if !s.Authenticated || !ours || s.User.Username == "" {
			return answer[User]{valid: refusedTTL}, nil
		}
		u := User{Name: s.User.Username, UID: s.User.UID, Groups: s.User.Groups}
		for name, values := range s.User.Extra {
			if u.Extra == nil {
				u.Extra = map[string]authorizationv1.ExtraValue{}
			}
			u.Extra[name] = authorizationv1.ExtraValue(values)
		}
		return answer[User]{u, true, userTTL}, nil
	})
	switch {
	case err != nil:
		return User{}, unavailable(err)
	case !a.yes:
		return User{}, &UnauthorizedError{"the apiserver does not accept the token"}
	}
	return a.value, nil
}

// unavailable is err as one of the Guard's.
func unavailable(err error) error {
	if u, ok := errors.AsType[*UnavailableError](err); ok {
		return u
	}
	return &UnavailableError{err}
}

// question makes the spec of a review; a list or watch of one name is about that object.
func (a Attributes) question(u User) authorizationv1.SubjectAccessReviewSpec {
	s := authorizationv1.SubjectAccessReviewSpec{User: u.Name, Groups: u.Groups, Extra: u.Extra, UID: u.UID}
	if a.Path != "" {
		s.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
		return s
	}
	r := &authorizationv1.ResourceAttributes{
		Namespace: a.Namespace, Verb: a.Verb, Group: a.Group, Version: a.Version,
		Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
	}
	if a.FieldSelector != "" {
		var only string
		r.FieldSelector, only = fieldLimit(a.FieldSelector)
		if r.Name == "" && (a.Verb == "list" || a.Verb == "watch") && len(content.IsPathSegmentName(only)) == 0 {
			r.Name = only
		}
	}
	if a.LabelSelector != "" {
		r.LabelSelector = labelLimit(a.LabelSelector)
	}
	s.ResourceAttributes = r
	return s
}

// maxReason bounds what is kept of an authorizer's reason, in bytes.
const maxReason = 256

// Authorize asks whether the user may do exactly that.
func (r *Reviewer) Authorize(ctx context.Context, u User, a Attributes) error {
	spec := a.question(u)
	text, err := json.Marshal(spec)
	if err != nil {
		return &UnavailableError{errors.New("encode a review")}
	}
	d, err := r.decisions.do(ctx, r.key(text), func(ctx context.Context) (answer[string], error) {
		var s authorizationv1.SubjectAccessReviewStatus
		if err := r.acls.review(ctx, spec, &s); err != nil {
			return answer[string]{}, err
		}
		if s.Allowed && !s.Denied {
			return answer[string]{yes: true, valid: allowTTL}, nil
		}
		return answer[string]{value: strings.Clone(s.Reason[:min(len(s.Reason), maxReason)]), valid: denyTTL}, nil
	})
	switch {
	case err != nil:
		return unavailable(err)
	case !d.yes:
		return &ForbiddenError{User: u, Attributes: a, Reason: d.value}
	}
	return nil
}
