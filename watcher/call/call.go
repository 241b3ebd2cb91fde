// Package call does one HTTP request whose body and answer fit in memory, as the watcher's small clients need it.
package call

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Request describes one request. Accept and Content-Type are application/json.
type Request struct {
	Method, URL string
	Header      map[string]string // further headers; may be nil
	Body        []byte            // nil: none
	Limit       int64             // bytes of the answer; a longer one is an error
	Repeatable  bool              // net/http may send it again over another connection
}

// Do sends r and returns the answer, whatever its status.
func Do(ctx context.Context, c *http.Client, r Request) (status int, body []byte, err error) {
	var send io.Reader
	if r.Body != nil {
		send = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, send)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Repeatable {
		req.Header["Idempotency-Key"] = []string{} // which is not sent
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, r.Limit+1))
	if err == nil && int64(len(body)) > r.Limit {
		err = fmt.Errorf("answer longer than %d bytes", r.Limit)
	}
	return resp.StatusCode, body, err
}
