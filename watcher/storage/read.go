package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// Record is one object in storage.
type Record struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"resourceName"`
	Data      json.RawMessage `json:"data"`
}

// Get reads one record, of that uid if it is not empty; found is false where there is
// none. In the cluster scope storage also finds a namespaced record of that name
// (contract §1.5): see its Namespace.
func (c *Client) Get(ctx context.Context, k object.Key, uid string) (rec Record, found bool, err error) {
	env, err := c.read(ctx, buildGet(HandlerLabel(k), k.Kind, onlyUID(objectPath(c.cfg.ClusterID, k), uid)))
	if err != nil {
		return rec, false, fmt.Errorf("read %s: %w", k, err)
	}
	if env.Code == bcsapi.CodeNotExist {
		return rec, false, nil
	}
	err = data(env, "read "+k.String(), &rec)
	return rec, err == nil, err
}

// data decodes what a successful answer carries; what names the call in errors.
func data(env bcsapi.Envelope, what string, into any) error {
	if !env.Result {
		return &TransientError{Err: fmt.Errorf("%s: code %d: %s", what, env.Code, env.Message)}
	}
	if err := json.Unmarshal(env.Data, into); err != nil {
		return &TransientError{Err: fmt.Errorf("%s: %w", what, err)}
	}
	return nil
}

// List reads one page of a kind in a namespace, or in the cluster scope with an
// empty namespace. Fields are projected paths such as "resourceName"; none means
// whole records. Storage does not sort, so pages may overlap while it changes. The
// timeout bounds silence, not the whole page; TooLarge reports whether a smaller
// page may succeed.
func (c *Client) List(ctx context.Context, kind, namespace string, fields string, limit, offset int) ([]Record, error) {
	handler := handlerNamespaceLs
	if namespace == "" {
		handler = handlerClusterLs
	}
	r := buildGet(handler, kind, listTarget(c.cfg.ClusterID, kind, namespace, fields, limit, offset))
	r.page = limit > 1
	env, err := c.read(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	var recs []Record
	err = data(env, "list "+kind, &recs)
	return recs, err
}

// TooLarge reports whether a page failed by its size: too much to read, or too slow to
// come. One of which nothing came may have failed for any reason.
func TooLarge(err error) bool { return errors.Is(err, ErrTooLong) || errors.Is(err, ErrTooSlow) }

func listTarget(cluster, kind, namespace, fields string, limit, offset int) string {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}
	if fields != "" {
		q.Set("field", fields)
	}
	return escapePath(bcsapi.ListPath(cluster, namespace, kind)) + "?" + q.Encode()
}

// Check asks for one record, to distinguish a bcs-storage from anything else that
// listens at the address.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.List(ctx, "Namespace", "", "resourceName", 1, 0)
	return err
}

func probeRequest(cluster string) *request {
	return buildGet(handlerClusterLs, "Namespace", listTarget(cluster, "Namespace", "", "resourceName", 1, 0))
}

// read does a GET and decodes the envelope. Reading changes nothing, so its
// errors are transient or permanent, never unknown.
func (c *Client) read(ctx context.Context, r *request) (bcsapi.Envelope, error) {
	a, err := c.do(ctx, r)
	var unknown *UnknownOutcomeError
	if errors.As(err, &unknown) {
		err = &TransientError{Err: unknown.Err}
	}
	if err != nil {
		return bcsapi.Envelope{}, err
	}
	env, err := a.envelope()
	if err != nil {
		return env, &NotStorageError{Status: a.status, Err: err}
	}
	if a.status != 200 {
		return env, &TransientError{Err: fmt.Errorf("HTTP %d: %s", a.status, excerpt(a.body))}
	}
	return env, nil
}

// NotStorageError means that something else than a bcs-storage answers, for
// instance a proxy's HTML page.
type NotStorageError struct {
	Status int
	Err    error
}

func (e *NotStorageError) Error() string { return fmt.Sprintf("HTTP %d, %v", e.Status, e.Err) }
func (e *NotStorageError) Unwrap() error { return e.Err }
