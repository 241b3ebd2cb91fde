package legacy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/certfile"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// The original's numbers (contract §1.4).
const (
	attempts     = 4 // requests within one PUT or DELETE
	attemptPause = time.Second
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// client sends requests as the original does, each over a connection of its own.
type client struct {
	cluster   string
	endpoints []string
	life      time.Duration // of a connection, and of the attempt to open it
	dial      dialFunc
	http      http.Client
	tls       *tls.Config // nil: the system's roots
	metrics   *storage.Metrics
	in, out   atomic.Int64 // bytes
}

func newClient(c config.Config, dial dialFunc, r prometheus.Registerer) (*client, error) {
	cl := &client{
		cluster: c.Default.ClusterID, endpoints: c.BCS.CustomStorageEndpoints, dial: dial,
		life: time.Duration(c.BCS.StorageTimeout),
	}
	if cl.dial == nil {
		cl.dial = (&net.Dialer{}).DialContext
	}
	if file := c.BCS.TLS.CAFile; file != "" {
		pool, err := certfile.Pool(file)
		if err != nil {
			return nil, err
		}
		cl.tls = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	cl.http.Transport = &http.Transport{DisableKeepAlives: true, DialContext: cl.connect, TLSClientConfig: cl.tls}
	var err error
	cl.metrics, err = storage.NewMetrics(r, cl.cluster, cl.in.Load, cl.out.Load)
	return cl, err
}

// send PUTs an object, or DELETEs the key where that is nil; tries are the HTTP requests that it took.
func (c *client) send(ctx context.Context, k object.Key, o *object.Object) (tries int, err error) {
	path := bcsapi.ObjectPath(c.cluster, k.Namespace, k.Kind, k.Name)
	switch {
	case o == nil:
		return c.call(ctx, http.MethodDelete, k, path, nil)
	case k.Kind == bcsapi.KindEvent:
		body, err := storage.EventRecord(c.cluster, o.Raw)
		if err != nil {
			return 0, err
		}
		return c.call(ctx, http.MethodPut, k, bcsapi.EventsPath(), body)
	}
	return c.call(ctx, http.MethodPut, k, path, fmt.Appendf(nil, `{"data":%s}`, o.Raw))
}

// call is one storage call: the endpoints in random order, until one gives an answer that is JSON,
// whatever it says.
func (c *client) call(ctx context.Context, method string, k object.Key, path string, body []byte) (tries int,
	err error) {
	start := time.Now()
	defer func() { c.metrics.Observe(storage.HandlerLabel(k), k.Kind, method, err == nil, time.Since(start)) }()
	for _, i := range rand.Perm(len(c.endpoints)) {
		var n int
		var env bcsapi.Envelope
		n, env, err = c.ask(ctx, method, c.endpoints[i]+path, body)
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
func (c *client) ask(ctx context.Context, method, target string, body []byte) (tries int, env bcsapi.Envelope,
	err error) {
	for {
		status, answer, err := c.request(ctx, method, target, body)
		tries++
		if err != nil {
			return tries, env, err
		}
		if tries == attempts || status != http.StatusBadRequest && status != http.StatusInternalServerError {
			if err := json.Unmarshal(answer, &env); err != nil {
				return tries, env, fmt.Errorf("HTTP %d, the answer is not JSON: %w", status, err)
			}
			return tries, env, nil
		}
		if err := lifecycle.Pause(ctx, attemptPause); err != nil {
			return tries, env, err
		}
	}
}

func (c *client) request(ctx context.Context, method, target string, body []byte) (status int, answer []byte,
	err error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, storage.DefaultMaxResponse))
	return resp.StatusCode, answer, err
}

// connect gives a connection that ends a fixed time after it was made.
func (c *client) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.life)
	defer cancel()
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.metrics.Opened.Inc()
	if err := conn.SetDeadline(time.Now().Add(c.life)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &countedConn{Conn: conn, client: c}, nil
}

// countedConn counts the bytes of a connection.
type countedConn struct {
	net.Conn
	client *client
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
