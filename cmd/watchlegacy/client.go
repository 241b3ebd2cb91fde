package main

import (
	"bytes"
	"context"
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
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// The original's numbers (contract §1.4).
const (
	attempts     = 4 // requests within one PUT or DELETE
	attemptPause = time.Second
)

// client sends requests as the original does, each over a connection of its own.
type client struct {
	cluster   string
	endpoints []string
	http      http.Client
	metrics   *storage.Metrics
	in, out   atomic.Int64 // bytes
}

func newClient(cfg config.Config, r prometheus.Registerer) (c *client, err error) {
	c = &client{cluster: cfg.Default.ClusterID, endpoints: cfg.BCS.CustomStorageEndpoints}
	life := time.Duration(cfg.BCS.StorageTimeout) // of a connection
	c.http.Transport = &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: life}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			c.metrics.Opened.Inc()
			return &countedConn{conn, c}, conn.SetDeadline(time.Now().Add(life))
		}}
	c.metrics, err = storage.NewMetrics(r, c.cluster, c.in.Load, c.out.Load)
	return c, err
}

// send PUTs an object, or DELETEs the key where that is nil; tries are the HTTP requests that it took.
func (c *client) send(ctx context.Context, k object.Key, o *object.Object) (tries int, err error) {
	method, path, body := http.MethodPut, bcsapi.ObjectPath(c.cluster, k.Namespace, k.Kind, k.Name), []byte(nil)
	switch {
	case o == nil:
		method = http.MethodDelete
	case k.Kind == bcsapi.KindEvent:
		path = bcsapi.EventsPath()
		if body, err = storage.EventRecord(c.cluster, o.Raw); err != nil {
			return 0, err
		}
	default:
		body = fmt.Appendf(nil, `{"data":%s}`, o.Raw)
	}
	start := time.Now()
	defer func() { c.metrics.Observe(storage.HandlerLabel(k), k.Kind, method, err == nil, time.Since(start)) }()
	// One endpoint after the other, until one gives an answer that is JSON, whatever it says.
	for _, i := range rand.Perm(len(c.endpoints)) {
		var n int
		var env bcsapi.Envelope
		n, env, err = c.ask(ctx, method, c.endpoints[i]+path, body)
		tries += n
		switch {
		case err == nil && env.Result:
			return tries, nil
		case err == nil:
			return tries, fmt.Errorf("%s %s: storage refused: code %d: %s", method, k, env.Code, env.Message)
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
			err = json.Unmarshal(answer, &env)
			return tries, env, err
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
