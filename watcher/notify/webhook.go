package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/watcher/setting"
)

const (
	maxReply    = 64 << 10 // bytes that are read of an answer
	maxHeader   = 64 << 10 // bytes of its header
	idleTimeout = 90 * time.Second
)

// WebhookTarget posts events to one receiver.
type WebhookTarget struct {
	url     string
	timeout time.Duration
	client  *http.Transport         // no http.Client: that reads where a redirect leads to, and fails if it cannot
	secrets *setting.File[[][]byte] // nil: not signed
}

// NewWebhook makes the target of a valid Webhook; connections is the most that it opens, from the first Deliver on.
func NewWebhook(c Webhook, connections int) (*WebhookTarget, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	dial := NewDialer(Egress{c.Allow, c.CAFile}, nil)
	t := &WebhookTarget{
		url:     c.URL,
		timeout: c.Timeout.Or(defaultTimeout),
		client: &http.Transport{
			DialContext: notSent(dial.Dial), DialTLSContext: notSent(dial.DialTLS),
			MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: idleTimeout,
			ResponseHeaderTimeout: c.Timeout.Or(defaultTimeout), MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		},
	}
	if c.SecretFile != "" {
		t.secrets = setting.NewFile(c.SecretFile, readSecrets)
	}
	return t, nil
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// notSent marks the failures of dial, which the transport's own error does not reveal.
func notSent(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, &UnreachableError{Err: err}
		}
		return conn, nil
	}
}

// Deliver posts e once. nil means that the receiver has taken it.
func (t *WebhookTarget) Deliver(ctx context.Context, e Event) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(e.Body))
	if err != nil {
		return withoutURL(err)
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "k8s-watch")
	// The specification's names are in lower case; HTTP ignores case.
	req.Header.Set("Webhook-Id", e.ID)
	req.Header.Set("Webhook-Timestamp", timestamp)
	if t.secrets != nil {
		keys, err := t.secrets.Get()
		if err != nil {
			return &UnreachableError{Err: fmt.Errorf("secretFile: %w", err)}
		}
		req.Header.Set("Webhook-Signature", sign(keys, e.ID, timestamp, e.Body))
	}
	resp, err := t.client.RoundTrip(req)
	if err != nil {
		return withoutURL(err)
	}
	// Read to its end, so that the connection can be used again, but not for long.
	_, _ = io.CopyN(io.Discard, resp.Body, maxReply)
	_ = resp.Body.Close()
	return webhookVerdict(resp.StatusCode, resp.Header.Get("Retry-After"), time.Now())
}

// withoutURL takes the address out of an error: a query may hold a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var unreachable *UnreachableError
	if errors.As(err, &unreachable) {
		return unreachable
	}
	return err
}

// webhookVerdict classifies a status. Few say that the receiver has read it and does not want it. All others,
// redirects among them, may be those of a proxy on the way while the receiver is away, a login page for instance.
func webhookVerdict(status int, retryAfter string, now time.Time) error {
	err := fmt.Errorf("the receiver answered HTTP %d", status)
	if status/100 == 3 {
		err = fmt.Errorf("%w: redirects are not followed, want the address of the receiver itself", err)
	}
	switch status {
	case http.StatusRequestEntityTooLarge:
		return &PermanentError{Reason: TooLarge, Err: err}
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return &PermanentError{Reason: Refused, Err: err}
	}
	if status/100 == 2 {
		return nil
	}
	if after, ok := parseRetryAfter(retryAfter, now); ok {
		return &RetryAfterError{After: after, All: status == http.StatusTooManyRequests, Err: err}
	}
	return err
}

// maxRetryAfter is the longest time that a receiver may ask for.
const maxRetryAfter = 15 * time.Minute

// parseRetryAfter reads the header, which is a number of seconds or a date, cut to maxRetryAfter.
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second,
			true //nolint:gosec // 900 at most
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

// Close closes the connections that are not in use.
func (t *WebhookTarget) Close() { t.client.CloseIdleConnections() }

// Webhook describes a receiver.
type Webhook struct {
	// Where events are posted, `http://` or `https://`. No redirects, no proxies.
	URL string `json:"url"`
	// File with the signing secret, `whsec_` and base64; a second line may hold another one during a rotation. A
	// replaced file is read again. Without: no signature.
	SecretFile string `json:"secretFile"`
	// CA of the receiver's certificate in PEM, read again when replaced; empty is the system's.
	CAFile string `json:"caFile"`
	// Non-public networks that may be connected to, such as `10.96.0.0/12`. Other non-public addresses are refused.
	Allow []string `json:"allow"`
	// Longest time of one try, 10 s by default.
	Timeout setting.Duration `json:"timeout"`
}

// Validate refuses what could not work; errors name the key.
func (c Webhook) Validate() error {
	if c.Timeout < 0 {
		return KeyError("timeout", "is negative, want a time such as %q", "10s")
	}
	if c.SecretFile != "" {
		if _, err := readSecrets(c.SecretFile); err != nil {
			return KeyError("secretFile", "%w", err)
		}
	}
	if err := (Egress{c.Allow, c.CAFile}).Validate(); err != nil {
		return err
	}
	if err := checkURL(c.URL); err != nil {
		return KeyError("url", "%w", err)
	}
	return nil
}

// checkURL refuses a receiver's address. What it holds is not repeated in errors: it may be a secret.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "":
		return errors.New("invalid URL, want one such as https://host/path")
	case u.User != nil:
		return errors.New("holds a user, want it without: receivers know the watcher by its signature")
	case u.Fragment != "" || u.RawFragment != "":
		return errors.New("has a fragment (#), which is never sent, want it without")
	case strings.HasSuffix(u.Host, ":"):
		return errors.New("has an empty port, want a number or no colon")
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if err := checkPort(cmp.Or(u.Port(), port)); err != nil {
		return fmt.Errorf("has a port that cannot be: %w", err)
	}
	return nil
}
