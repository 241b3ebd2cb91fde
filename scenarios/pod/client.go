package pod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// retryEvery is the pause after a request that failed.
const retryEvery = 200 * time.Millisecond

// agentClient talks to one agent. It retries what breaks on the way until ctx ends; the agent's own refusals are
// errors.
type agentClient struct{ http *http.Client }

func newAgentClient(dial func(_ context.Context, network, addr string) (net.Conn, error)) *agentClient {
	return &agentClient{&http.Client{Transport: &http.Transport{DisableCompression: true, DialContext: dial}}}
}

func (c *agentClient) close() { c.http.CloseIdleConnections() }

// refusedError is an answer that would be the same again.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

// once sends a request; take gets an answer of success.
func (c *agentClient) once(ctx context.Context, method, path string, query url.Values, body []byte,
	take func(*http.Response) error) error {
	r, err := http.NewRequestWithContext(ctx, method, AgentURL+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 300 {
		return take(resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxInput))
	if err == nil && resp.StatusCode < 500 {
		return &refusedError{resp.StatusCode, strings.TrimSpace(string(text))}
	}
	return errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(text)), err)
}

// ask repeats once until it has an outcome.
func (c *agentClient) ask(ctx context.Context, method, path string, query url.Values, body []byte,
	take func(*http.Response) error) error {
	for {
		err := c.once(ctx, method, path, query, body, take)
		if _, ok := errors.AsType[*refusedError](err); ok || err == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(retryEvery):
		}
	}
}

// post sends a request whose answer is empty.
func (c *agentClient) post(ctx context.Context, path string, query url.Values, body []byte) error {
	return c.ask(ctx, http.MethodPost, path, query, body, func(*http.Response) error { return nil })
}

func (c *agentClient) start(ctx context.Context, s Start) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return c.post(ctx, "/start", nil, body)
}

// pass sends the seq-th part of the party's input; an empty one is its end.
func (c *agentClient) pass(ctx context.Context, seq int, part []byte) error {
	return c.post(ctx, "/stdin", url.Values{"seq": {strconv.Itoa(seq)}}, part)
}

// feed passes in on to the party's standard input, and its end.
func (c *agentClient) feed(ctx context.Context, in io.Reader) error {
	buf := make([]byte, 32<<10)
	for seq := 1; ; seq++ {
		n, _ := in.Read(buf) // after an error there is no more
		if err := c.pass(ctx, seq, buf[:n]); err != nil || n == 0 {
			return err
		}
	}
}

// output copies a file of the party's folder to w until the party has ended. A write error of w does not end it.
func (c *agentClient) output(ctx context.Context, name string, w io.Writer) (end End, err error) {
	sink := &counting{w: w}
	query := url.Values{"path": {name}, "offset": {"0"}}
	for over := false; !over && err == nil; {
		err = c.ask(ctx, http.MethodGet, "/file", query, nil, func(r *http.Response) error {
			if over = r.StatusCode == http.StatusNoContent; over {
				return json.Unmarshal([]byte(r.Header.Get(endHeader)), &end)
			}
			_, err := io.Copy(sink, r.Body)
			query.Set("offset", strconv.FormatInt(sink.n, 10))
			return err
		})
	}
	return end, err
}

// counting counts what goes through, whether or not w takes it.
type counting struct {
	w   io.Writer
	n   int64
	err error // the first of w
}

func (c *counting) Write(p []byte) (int, error) {
	if c.err == nil {
		_, c.err = c.w.Write(p)
	}
	c.n += int64(len(p))
	return len(p), nil
}

// fetch copies a file of a party that has ended to a path here. A missing one is left out.
func (c *agentClient) fetch(ctx context.Context, name, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", path, err)
	}
	sink := &counting{w: f}
	_, err = c.output(ctx, name, sink)
	missing, _ := errors.AsType[*refusedError](err)
	if err = errors.Join(err, sink.err, f.Close()); err == nil {
		return nil
	}
	_ = os.Remove(path)
	if missing != nil && missing.status == http.StatusNotFound {
		return nil
	}
	return fmt.Errorf("fetch %s: %w", path, err)
}
