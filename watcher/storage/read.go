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

// Record is what storage holds of one object.
type Record struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"resourceName"`
	Data      json.RawMessage `json:"data"`
}

// Get reads one record; found is false where there is none.
func (c *Client) Get(ctx context.Context, k object.Key) (rec Record, found bool, err error) {
	env, err := c.read(ctx, HandlerLabel(k), k.Kind, objectPath(c.cfg.ClusterID, k))
	if err != nil {
		return rec, false, fmt.Errorf("read %s: %w", k, err)
	}
	if env.Code == bcsapi.CodeNotExist {
		return rec, false, nil
	}
	if !env.Result {
		return rec, false, &TransientError{Err: fmt.Errorf("read %s: code %d: %s", k, env.Code, env.Message)}
	}
	if err := json.Unmarshal(env.Data, &rec); err != nil {
		return rec, false, &TransientError{Err: fmt.Errorf("read %s: %w", k, err)}
	}
	return rec, true, nil
}

// List reads one page of a kind in a namespace, or in the cluster scope with an
// empty namespace. Fields are projected paths such as "resourceName"; none means
// whole records. Storage does not sort, so pages may overlap while it changes.
func (c *Client) List(ctx context.Context, kind, namespace string, fields string, limit, offset int) ([]Record, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}
	if fields != "" {
		q.Set("field", fields)
	}
	handler := handlerNamespaceLs
	if namespace == "" {
		handler = handlerClusterLs
	}
	target := escapePath(bcsapi.ListPath(c.cfg.ClusterID, namespace, kind)) + "?" + q.Encode()
	env, err := c.read(ctx, handler, kind, target)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	if !env.Result {
		return nil, &TransientError{Err: fmt.Errorf("list %s: code %d: %s", kind, env.Code, env.Message)}
	}
	var recs []Record
	if err := json.Unmarshal(env.Data, &recs); err != nil {
		return nil, &TransientError{Err: fmt.Errorf("list %s: %w", kind, err)}
	}
	return recs, nil
}

// Check asks for one record, to tell a bcs-storage from anything else that
// listens at the address.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.List(ctx, "Namespace", "", "resourceName", 1, 0)
	return err
}

// read does a GET and decodes the envelope. Reading changes nothing, so its
// errors are transient or permanent, never unknown.
func (c *Client) read(ctx context.Context, handler, kind, target string) (bcsapi.Envelope, error) {
	a, err := c.do(ctx, buildGet(handler, kind, target))
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

// NotStorageError means that something answers that is no bcs-storage, for
// instance a proxy's HTML page.
type NotStorageError struct {
	Status int
	Err    error
}

func (e *NotStorageError) Error() string { return fmt.Sprintf("HTTP %d, %v", e.Status, e.Err) }
func (e *NotStorageError) Unwrap() error { return e.Err }
