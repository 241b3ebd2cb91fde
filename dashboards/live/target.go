package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Target is a Source that scrapes a running watcher, one scrape at a time.
type Target struct {
	url      string
	host     string
	interval time.Duration
	client   *http.Client
	meter    Meter
	next     time.Time // when the next scrape is due
}

var _ Source = (*Target)(nil)

// Bounds of the interval between two scrapes.
const (
	MinInterval = 100 * time.Millisecond
	MaxInterval = time.Minute
)

// Bounds on one scrape.
const (
	scrapeTimeout = 5 * time.Second
	maxExposition = 16 << 20 // bytes; a watcher's has some 50 KiB, with thousands of kinds a few MiB
)

// NewTarget reads the URL of an endpoint in the Prometheus text format. The path is /metrics
// where none is given.
func NewTarget(address string, interval time.Duration) (*Target, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a URL", address) // the parser's own words quote a password
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q does not begin with http:// or https://", u.Redacted())
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", u.Redacted())
	case interval < MinInterval || interval > MaxInterval:
		return nil, fmt.Errorf("an interval of %s is out of range; use %s to %s", interval, MinInterval, MaxInterval)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return &Target{url: u.String(), host: u.Host, interval: interval, client: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Host is where the target is.
func (t *Target) Host() string { return t.host }

// Next implements Source. What was due while a scrape took too long is left out.
func (t *Target) Next(ctx context.Context) (Frame, error) {
	if wait := time.Until(t.next); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			t.client.CloseIdleConnections()
			return Frame{}, context.Cause(ctx)
		}
	}
	t.next = time.Now().Add(t.interval)
	text, err := t.scrape(ctx)
	if ctx.Err() != nil {
		t.client.CloseIdleConnections()
		return Frame{}, context.Cause(ctx)
	}
	return t.meter.Frame(Reading{Time: time.Now(), Metrics: text, Err: err}), nil
}

func (t *Target) scrape(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for its metrics: %w", err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, reason(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxExposition+1))
	if err != nil {
		return nil, fmt.Errorf("read its metrics: %w", err)
	}
	if len(text) > maxExposition {
		return nil, fmt.Errorf("its answer has more than %d MiB", maxExposition>>20)
	}
	return text, nil
}

// reason is a failed request without its URL, which may hold a password.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return fmt.Errorf("it does not answer within %s", scrapeTimeout)
		}
		return u.Err
	}
	return err
}
