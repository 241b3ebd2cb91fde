package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
)

type answer struct {
	status int
	header http.Header
	body   []byte
}

var (
	getRequest  = &http.Request{Method: http.MethodGet}
	okEnvelope  = []byte(`{"result":true,"code":0,`)
	shownOfBody = 120
)

// Bounds on what may come before the body of an answer.
const (
	mostInterim = 64       // interim answers
	maxHead     = 64 << 10 // bytes, theirs included
)

var (
	errNoFinal  = fmt.Errorf("no final answer after %d interim answers or %d bytes of headers", mostInterim, maxHead)
	errSwitched = errors.New("the server switched protocols unasked (HTTP 101)")
	errTwice    = errors.New("a second answer followed at once: cannot tell which one belongs to the request")
)

// ErrTooLong means that an answer has more than Config.MaxResponse bytes.
var ErrTooLong = errors.New("the answer is longer than may be read")

// final reads the head of the final answer and skips interim ones (RFC 9110 §15.2).
func (c *conn) final() (*http.Response, error) {
	c.left = maxHead
	defer func() { c.left = math.MaxInt64 }()
	for range mostInterim + 1 {
		resp, err := http.ReadResponse(c.br, getRequest)
		switch {
		case err != nil && c.left <= 0:
			return nil, errNoFinal
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errSwitched
		case resp.StatusCode >= http.StatusOK:
			return resp, nil
		}
	}
	return nil, errNoFinal
}

// ErrTooSlow means that an answer's body began and did not end in time.
var ErrTooSlow = errors.New("the answer stopped midway")

// read takes one response from the connection. reuse reports whether the
// connection may serve another request.
func (c *conn) read(limit int64) (a answer, reuse bool, err error) {
	resp, err := c.final()
	if err != nil {
		return a, false, err
	}
	defer func() { _ = resp.Body.Close() }()
	c.came = c.br.Buffered() > 0
	a.status, a.header = resp.StatusCode, resp.Header
	switch n := resp.ContentLength; {
	case n > limit:
		return a, false, fmt.Errorf("%w: %d bytes", ErrTooLong, limit)
	case n >= 0:
		a.body = make([]byte, n)
		_, err = io.ReadFull(resp.Body, a.body)
	default:
		a.body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
		if err == nil && int64(len(a.body)) > limit {
			return a, false, fmt.Errorf("%w: %d bytes", ErrTooLong, limit)
		}
	}
	if err != nil {
		return a, false, fmt.Errorf("read answer: %w", err)
	}
	more := c.more()
	if string(more) == protocol {
		return a, false, errTwice
	}
	return a, !resp.Close && len(more) == 0, nil
}

// judge turns an answer to a write into its policy; hasBody says that the request had
// one. Only what is about the body is refused for good. Other errors below 500 come from
// a front end: a missing right, a wrong route, a login page.
func (a answer) judge(now time.Time, hasBody bool) error {
	if a.status == http.StatusOK {
		return a.judgeEnvelope()
	}
	err := fmt.Errorf("HTTP %d: %s", a.status, excerpt(a.body))
	switch s := a.status; {
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		d, ok := retryAfter(a.header.Get("Retry-After"), now)
		if ok || s == http.StatusTooManyRequests {
			return &ThrottledError{RetryAfter: d, Err: err}
		}
	case s == http.StatusBadGateway, s == http.StatusGatewayTimeout:
		// A proxy gave up on a storage server that may still be at work.
		return &UnknownOutcomeError{Err: err}
	case hasBody && a.refusesBody():
		return &PermanentError{Status: s, Err: err}
	}
	return &TransientError{Err: err}
}

// refusesBody reports whether the answer is about the bytes that were sent: by its
// status, or because bcs-storage itself says so.
func (a answer) refusesBody() bool {
	switch {
	case a.status == http.StatusRequestEntityTooLarge, a.status == http.StatusUnprocessableEntity:
		return true
	case a.status < 400, a.status >= 500:
		return false
	}
	env, err := a.envelope()
	return err == nil && !env.Result && env.Code.OfStorage()
}

func (a answer) judgeEnvelope() error {
	if bytes.HasPrefix(a.body, okEnvelope) { // the usual answer, not decoded further
		if json.Valid(a.body) {
			return nil
		}
		return &UnknownOutcomeError{Err: fmt.Errorf("answer is cut off: %s", excerpt(a.body))}
	}
	env, err := a.envelope()
	if err != nil {
		return &UnknownOutcomeError{Err: err}
	}
	if !env.Result || env.Code != bcsapi.CodeSuccess {
		return &TransientError{Err: fmt.Errorf("code %d: %s", env.Code, env.Message)}
	}
	return nil
}

// envelope decodes the body; an answer that is not an envelope is an error that
// shows how it starts.
func (a answer) envelope() (bcsapi.Envelope, error) {
	var env bcsapi.Envelope
	var keys struct{ Result *bool }
	if err := json.Unmarshal(a.body, &env); err != nil {
		return env, fmt.Errorf("not a bcs-storage answer (%s): %s", a.header.Get("Content-Type"), excerpt(a.body))
	}
	if err := json.Unmarshal(a.body, &keys); err != nil || keys.Result == nil {
		return env, fmt.Errorf("not a bcs-storage answer, it has no \"result\": %s", excerpt(a.body))
	}
	return env, nil
}

// works reports whether the answer is one of a bcs-storage that is at work, whatever it
// thinks of the request.
func (a answer) works() bool {
	switch s := a.status; {
	case s == http.StatusTooManyRequests, s == http.StatusRequestEntityTooLarge, s == http.StatusUnprocessableEntity:
		return true
	case s >= 500:
		return false
	case bytes.HasPrefix(a.body, okEnvelope):
		return true
	}
	env, err := a.envelope()
	return err == nil && (a.status == http.StatusOK || env.Code.OfStorage()) // else a gateway's
}

// excerpt shows how an answer starts, on one line. Answers do not carry objects
// back, so nothing secret is in them; GET answers never come here.
func excerpt(b []byte) string {
	if len(b) > shownOfBody {
		return strconv.Quote(string(b[:shownOfBody])) + "…"
	}
	return strconv.Quote(string(b))
}

// retryAfter reads both forms of the header, seconds and a date.
func retryAfter(v string, now time.Time) (time.Duration, bool) {
	if v == "" {
		return 0, false
	}
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0), true
	}
	return 0, false
}
