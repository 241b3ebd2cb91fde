package access

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// userKey is where the server leaves the user for the guard.
type userKey struct{}

// front stands before the handler: what it refuses reaches no parser of the API.
type front struct {
	next  http.Handler
	guard Guard
	hosts bool // only requests that name this machine
}

func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache, private")
	h.Set("X-Content-Type-Options", "nosniff")
	if why := f.foreign(r); why != "" {
		kubeapi.WriteStatus(w, kubeapi.Status(http.StatusForbidden, metav1.StatusReasonForbidden, "%s", why))
		return
	}
	if r.ContentLength > maxBody {
		h.Set("Connection", "close") // do not read what nobody wants
		kubeapi.WriteStatus(w, apierrors.NewRequestEntityTooLargeError("the body is larger than 64 KiB"))
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	u, err := f.guard.Authenticate(r)
	if err != nil {
		unauthenticated(w, err)
		return
	}
	f.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, u)))
}

// foreign says why a request is refused whoever sends it: it comes from a web page, which
// must not read the cluster through the browser of somebody who may, or it asks for a user
// to be impersonated, which would be answered with the rights of the one who sent it.
func (f front) foreign(r *http.Request) string {
	for name := range r.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			return "impersonation is not supported"
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return "a web page of another site asks"
	}
	if len(r.Header.Values("Origin")) > 0 {
		return "a web page asks: requests with an Origin are refused"
	}
	if f.hosts && !localHost(r.Host) {
		return "the Host is not this machine: without authentication want localhost or a loopback address"
	}
	return ""
}

// localHost reports whether a Host header names this machine. A page whose own name was made
// to resolve to loopback has another.
func localHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else if h, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(h, "]"); !ok {
			return false
		}
	}
	return strings.EqualFold(host, localhost) || isLoopback(host)
}

// unauthenticated ends the connection, so that nobody without credentials keeps one.
func unauthenticated(w http.ResponseWriter, err error) {
	h := w.Header()
	h.Set("Connection", "close")
	switch {
	case errors.Is(err, ErrBusy):
		kubeapi.WriteStatus(w, kubeapi.TooMany(ErrBusy.Error()))
	case errors.As(err, new(*UnavailableError)):
		kubeapi.WriteStatus(w, kubeapi.Unavailable("the apiserver does not say whose the credentials are"))
	default:
		h.Set("WWW-Authenticate", "Bearer")
		kubeapi.WriteStatus(w, kubeapi.Status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "%v", err))
	}
}
