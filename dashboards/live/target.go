package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Target is a running watcher that is scraped, one scrape at a time.
type Target struct {
	url      string
	host     string
	interval time.Duration
	client   *http.Client
}

// Bounds of the interval between two scrapes.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Minute
)

// Bounds on one scrape.
const (
	scrapeTimeout = 5 * time.Second
	maxExposition = 16 << 20 // bytes; a watcher's has some 50 KiB, with thousands of kinds a few MiB
)

const targetExample = "write for example --target http://127.0.0.1:10252/metrics"

// NewTarget reads the URL of an endpoint in the Prometheus text format. The path is /metrics where none is given.
func NewTarget(address string, interval time.Duration) (*Target, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, badinput.New(targetExample, "--target is not a URL") // either text may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, badinput.New(targetExample, "--target %q is not http://HOST or https://HOST", u.Redacted())
	case interval < minInterval || interval > maxInterval:
		return nil, badinput.New(fmt.Sprintf("use %s to %s", minInterval, maxInterval), "--interval %s is out of range",
			interval)
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

// follow shows a reading each interval until ctx ends. What was due while a scrape took too long is left out.
func (t *Target) follow(ctx context.Context, show func(Reading)) {
	defer t.client.CloseIdleConnections()
	for ctx.Err() == nil {
		next := time.Now().Add(t.interval)
		text, err := t.scrape(ctx)
		if ctx.Err() == nil {
			show(Reading{Time: time.Now(), Metrics: text, Err: err})
			_ = lifecycle.Pause(ctx, time.Until(next))
		}
	}
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
	if u, ok := errors.AsType[*url.Error](err); ok { // its text has the URL, which may hold a password
		if u.Timeout() {
			return nil, fmt.Errorf("it does not answer within %s", scrapeTimeout)
		}
		return nil, u.Err
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxExposition+1))
	if err == nil && len(text) > maxExposition {
		err = fmt.Errorf("its answer has more than %d MiB", maxExposition>>20)
	}
	return text, err
}
