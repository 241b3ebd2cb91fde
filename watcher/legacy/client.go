package legacy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// ClientConfig says where storage is.
type ClientConfig struct {
	ClusterID string
	Endpoints []string // scheme://host:port
	// Timeout bounds connecting, and then the life of the connection.
	Timeout time.Duration
}

// ClientSettings are passed by code.
type ClientSettings struct {
	TLS      func() (*tls.Config, error) // asked per request; nil: the system's roots
	Registry prometheus.Registerer       // nil: no metrics
	Token    func() (string, error)      // asked per request; nil: none is sent
	// Dial replaces the network, for tests; nil is TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests as the original does (contract §1.2, §1.4). It is safe for
// concurrent use, and keeps nothing between two requests.
type Client struct {
	config  ClientConfig
	tls     func() (*tls.Config, error)
	token   func() (string, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	metrics *storage.Metrics
	in, out atomic.Int64 // bytes
}

var _ Storage = (*Client)(nil)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = storage.DefaultMaxResponse

// NewClient checks the configuration and opens nothing.
func NewClient(c ClientConfig, s ClientSettings) (*Client, error) {
	switch {
	case c.ClusterID == "":
		return nil, errors.New("no cluster id: it is part of every storage URL")
	case len(c.Endpoints) == 0:
		return nil, errors.New("no storage endpoint: name at least one http://host:port")
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("storage timeout %s: want a positive duration", c.Timeout)
	}
	cl := &Client{config: c, tls: s.TLS, token: s.Token, dial: s.Dial}
	cl.config.Endpoints = nil
	for _, e := range c.Endpoints {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return nil, fmt.Errorf("storage endpoint %q: want http://host:port or https://host:port", e)
		}
		cl.config.Endpoints = append(cl.config.Endpoints, strings.TrimSuffix(e, "/"))
	}
	if cl.dial == nil {
		cl.dial = (&net.Dialer{}).DialContext
	}
	var err error
	cl.metrics, err = storage.NewMetrics(s.Registry, c.ClusterID, cl.in.Load, cl.out.Load)
	return cl, err
}

// Put implements Storage.
func (c *Client) Put(ctx context.Context, o *object.Object) (tries int, err error) {
	raw, err := sorted(o.JSON())
	if err != nil {
		return 0, fmt.Errorf("render %s: %w", o.Key, err)
	}
	if o.Key.Kind == bcsapi.KindEvent {
		body, err := storage.EventRecord(c.config.ClusterID, raw)
		if err != nil {
			return 0, err
		}
		return c.call(ctx, http.MethodPut, o.Key, bcsapi.EventsPath(), body)
	}
	return c.call(ctx, http.MethodPut, o.Key, c.path(o.Key), fmt.Appendf(nil, `{"data":%s}`, raw))
}

// Delete implements Storage.
func (c *Client) Delete(ctx context.Context, k object.Key) (tries int, err error) {
	return c.call(ctx, http.MethodDelete, k, c.path(k), nil)
}

func (c *Client) path(k object.Key) string {
	return bcsapi.ObjectPath(c.config.ClusterID, k.Namespace, k.Kind, k.Name)
}

// sorted is raw with the keys of each object in order, as the original renders its maps.
func sorted(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// call is one storage call: the endpoints in random order, until one gives an answer
// that is JSON, whatever it says.
func (c *Client) call(ctx context.Context, method string, k object.Key, path string, body []byte) (tries int, err error) {
	start := time.Now()
	defer func() { c.metrics.Observe(storage.HandlerLabel(k), k.Kind, method, err == nil, time.Since(start)) }()
	for _, i := range rand.Perm(len(c.config.Endpoints)) {
		var n int
		var env bcsapi.Envelope
		n, env, err = c.ask(ctx, method, c.config.Endpoints[i]+path, body)
		tries += n
		switch {
		case err == nil && env.Result:
			return tries, nil
		case err == nil:
			return tries, fmt.Errorf("%s %s: storage says no: code %d: %s", method, k, env.Code, env.Message)
		case ctx.Err() != nil:
			return tries, err
		}
	}
	return tries, fmt.Errorf("%s %s: no endpoint answered: %w", method, k, err)
}

// ask sends to one endpoint, up to four times while the status is 400 or 500.
func (c *Client) ask(ctx context.Context, method, target string, body []byte) (tries int, env bcsapi.Envelope, err error) {
	for {
		status, answer, err := c.request(ctx, method, target, body)
		tries++
		if err != nil {
			return tries, env, err
		}
		if tries == attempts || status != http.StatusBadRequest && status != http.StatusInternalServerError {
			if err := json.Unmarshal(answer, &env); err != nil {
				return tries, env, fmt.Errorf("HTTP %d, the answer is no JSON: %w", status, err)
			}
			return tries, env, nil
		}
		if err := lifecycle.Pause(ctx, attemptPause); err != nil {
			return tries, env, err
		}
	}
}

// request opens a connection, sends one request over it and reads the answer.
func (c *Client) request(ctx context.Context, method, target string, body []byte) (status int, answer []byte, err error) {
	t := &http.Transport{DisableKeepAlives: true, DialContext: c.connect}
	if c.tls != nil && strings.HasPrefix(target, "https:") {
		if t.TLSClientConfig, err = c.tls(); err != nil {
			return 0, nil, fmt.Errorf("TLS configuration: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != nil {
		token, err := c.token()
		if err != nil {
			return 0, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer: %w", err)
	}
	return resp.StatusCode, answer, nil
}

// connect gives a connection that ends Timeout after it was made.
func (c *Client) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.metrics.Opened.Inc()
	if err := conn.SetDeadline(time.Now().Add(c.config.Timeout)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &countedConn{Conn: conn, client: c}, nil
}

// countedConn counts the bytes of a connection.
type countedConn struct {
	net.Conn
	client *Client
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.client.in.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.client.out.Add(int64(n))
	return n, err
}
