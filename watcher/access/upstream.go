package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

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

// apiserver is where reviews are sent to.
type apiserver struct {
	client *http.Client
	base   *url.URL
	log    *slog.Logger
	failed atomic.Bool // the last review failed, and that was logged
}

func newAPIServer(kube *rest.Config, log *slog.Logger) (*apiserver, error) {
	kube = rest.CopyConfig(kube)
	kube.Timeout = 0 // each review has its own
	client, base, err := call.APIServer(kube)
	if err != nil {
		return nil, fmt.Errorf("reviews: %w", err)
	}
	return &apiserver{client: client, base: base, log: log}, nil
}

// lane is where the reviews of one resource queue up.
type lane struct {
	server   *apiserver
	group    string // of the resource
	resource string
	turns    chan struct{} // capacity: reviews under way
	waiting  atomic.Int32
}

func (s *apiserver) lane(group, resource string) *lane {
	return &lane{server: s, group: group, resource: resource, turns: make(chan struct{}, maxReviews)}
}

// review creates one and decodes the answer's status. Errors never hold what was sent or answered.
func (l *lane) review(ctx context.Context, spec, status any) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	if err := l.turn(ctx); err != nil {
		return &UnavailableError{err}
	}
	defer func() { <-l.turns }()
	err := l.create(ctx, spec, status)
	switch {
	case err == nil:
		if l.server.failed.Swap(false) {
			l.server.log.Info("the apiserver answers reviews again", "resource", l.resource)
		}
		return nil
	case !l.server.failed.Swap(true):
		l.server.log.Warn("the apiserver answers no review: only remembered users are accepted", "resource", l.resource,
			"error", badinput.Redacted(err))
	}
	return &UnavailableError{err}
}

// turn waits until fewer than maxReviews are under way.
func (l *lane) turn(ctx context.Context) error {
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

// envelope is a review as sent.
type envelope struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       any    `json:"spec"`
}

// kinds of the reviews, by resource.
var kinds = map[string]string{tokenReviews: "TokenReview", accessReviews: "SubjectAccessReview"}

func (l *lane) create(ctx context.Context, spec, into any) error {
	body, err := json.Marshal(envelope{l.group + "/v1", kinds[l.resource], spec})
	if err != nil {
		return errors.New("encode a review")
	}
	u := l.server.base.JoinPath("apis", l.group, "v1", l.resource)
	// A review changes nothing: where a kept connection turns out to be closed, it may be sent again.
	status, data, err := call.Do(ctx, l.server.client, call.Request{
		Method: http.MethodPost, URL: u.String(), Body: body, Limit: maxAnswer, Repeatable: true,
	})
	switch {
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("the watcher may not create %s.%s: status %d; bind it to the ClusterRole system:auth-delegator",
			l.resource, l.group, status)
	case status != 0 && status != http.StatusCreated && status != http.StatusOK:
		return fmt.Errorf("create %s.%s: status %d", l.resource, l.group, status)
	case err != nil:
		return fmt.Errorf("create %s.%s: %w", l.resource, l.group, err)
	}
	// The answer repeats the token in its spec, and an error of encoding/json may quote a value.
	if json.Unmarshal(data, &struct{ Status any }{into}) != nil {
		return fmt.Errorf("the answer of %s.%s is not a review", l.resource, l.group)
	}
	return nil
}

func (s *apiserver) closeIdle() { utilnet.CloseIdleConnectionsFor(s.client.Transport) }
