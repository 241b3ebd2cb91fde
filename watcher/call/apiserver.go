package call

import (
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// RedirectError is a redirect from an API server. It is not followed, because every request
// carries the watcher's token (CVE-2022-3172).
type RedirectError struct {
	Status int
	From   string // scheme and host that were asked
	To     string // scheme and host of the answer's Location
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("HTTP %d: %s redirects to %s; not followed, because that would leak the token: "+
		"use the address of the API server itself", e.Status, e.From, e.To)
}

// APIServer makes the client for a Kubernetes API server and the URL to join paths such as
// /api/v1 to. Any redirect is a *RedirectError.
func APIServer(cfg *rest.Config) (*http.Client, *url.URL, error) {
	shared, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("address of the API server: %w", err)
	}
	client := *shared // client-go may hand out http.DefaultClient
	client.CheckRedirect = refuseRedirect
	return &client, base, nil
}

func refuseRedirect(req *http.Request, via []*http.Request) error {
	origin := func(u *url.URL) string { return u.Scheme + "://" + u.Host }
	return &RedirectError{Status: req.Response.StatusCode, From: origin(via[len(via)-1].URL), To: origin(req.URL)}
}
