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
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// retryEvery is the pause after a request that failed.
const retryEvery = 200 * time.Millisecond

// agentClient talks to one agent. Whatever breaks on the way is asked again until ctx ends; the agent's own refusals
// are errors.
type agentClient struct{ http *http.Client }

func newAgentClient(dial func(context.Context) (net.Conn, error)) *agentClient {
	return &agentClient{&http.Client{Transport: &http.Transport{DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}}
}

func (c *agentClient) close() { c.http.CloseIdleConnections() }

// refusedError is an answer that would be the same again.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

// once sends a request. The answer, whose body is the caller's to close, is of success.
func (c *agentClient) once(ctx context.Context, method, path string, query url.Values, body io.Reader,
	header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://agent"+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, err
	}
	return nil, &refusedError{resp.StatusCode, strings.TrimSpace(string(text))}
}

// retry calls f until it has an outcome.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if _, ok := errors.AsType[*refusedError](err); ok || err == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryEvery):
		}
	}
}

// post sends what has no answer.
func (c *agentClient) post(ctx context.Context, path string, query url.Values, body []byte) error {
	return retry(ctx, func() error {
		resp, err := c.once(ctx, http.MethodPost, path, query, bytes.NewReader(body))
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

func (c *agentClient) start(ctx context.Context, s Start) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return c.post(ctx, "/start", nil, body)
}

func (c *agentClient) signal(ctx context.Context, seq, signal int) error {
	return c.post(ctx, "/signal", url.Values{"seq": {strconv.Itoa(seq)}, "signal": {strconv.Itoa(signal)}}, nil)
}

// feed passes in on to the party's standard input, and its end.
func (c *agentClient) feed(ctx context.Context, in io.Reader) error {
	send := func(at int64, part []byte) error {
		return c.post(ctx, "/stdin", url.Values{"offset": {strconv.FormatInt(at, 10)}}, part)
	}
	for buf, at := make([]byte, 32<<10), int64(0); ; {
		n, readErr := in.Read(buf)
		if n > 0 {
			if err := send(at, buf[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
		if readErr != nil {
			return send(at, nil)
		}
	}
}

// output copies all of an output of the party to w. That w takes no more does not end it.
func (c *agentClient) output(ctx context.Context, name string, w io.Writer) error {
	sink := &counting{w: w}
	over := false
	for !over {
		err := retry(ctx, func() error {
			resp, err := c.once(ctx, http.MethodGet, "/output/"+name, url.Values{"offset": {strconv.FormatInt(sink.n, 10)}}, nil)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			over = resp.StatusCode == http.StatusNoContent
			_, err = io.Copy(sink, resp.Body)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
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

// exit waits for the party's end.
func (c *agentClient) exit(ctx context.Context) (end End, err error) {
	for ended := false; !ended && err == nil; {
		err = retry(ctx, func() error { ended, err = c.ask(ctx, "/exit", &end); return err })
	}
	return end, err
}

// ask decodes an answer; there may be none yet.
func (c *agentClient) ask(ctx context.Context, path string, into any) (ok bool, err error) {
	resp, err := c.once(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return false, nil
	}
	return true, json.NewDecoder(resp.Body).Decode(into)
}

// upload puts a local file under the same path.
func (c *agentClient) upload(ctx context.Context, path string) error {
	return retry(ctx, func() error {
		f, err := os.Open(path)
		if err != nil {
			return &refusedError{text: err.Error()}
		}
		defer f.Close()
		resp, err := c.once(ctx, http.MethodPut, "/files", url.Values{"path": {path}}, f)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// fetch gets a file from there to a path here. One that is not there is none here either.
func (c *agentClient) fetch(ctx context.Context, there, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".part")
	if err != nil {
		return fmt.Errorf("fetch %s: %w", path, err)
	}
	sink := &counting{w: f}
	err = retry(ctx, func() error {
		resp, err := c.once(ctx, http.MethodGet, "/files", url.Values{"path": {there}}, nil,
			"Range", fmt.Sprintf("bytes=%d-", sink.n))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err = io.Copy(sink, resp.Body); sink.err != nil {
			return &refusedError{text: sink.err.Error()}
		}
		return err
	})
	refused, _ := errors.AsType[*refusedError](err)
	if refused != nil && refused.status == http.StatusRequestedRangeNotSatisfiable { // all of it was there before
		err = nil
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	if refused != nil && refused.status == http.StatusNotFound {
		return nil
	}
	return err
}
