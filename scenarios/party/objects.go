package party

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// PodBody is a pod that no scheduler takes.
func PodBody(name, run string, size int) map[string]any {
	container := map[string]any{"name": "app", "image": "registry.example/app:1", "imagePullPolicy": "IfNotPresent"}
	const frame = 900 // bytes of a pod without padding, about
	if size > frame {
		container["env"] = []any{map[string]any{"name": "PADDING", "value": strings.Repeat("x", size-frame)}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "labels": map[string]string{RunLabel: run}},
		"spec": map[string]any{
			"schedulerName": "watchbench.dev-runner", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
			"enableServiceLinks": false, "containers": []any{container},
		},
	}
}

// CreatePod creates a pod of PodBody and returns its uid.
func (a *APIServer) CreatePod(ctx context.Context, ns, name, run string, size int) (uid string, err error) {
	data, err := a.Send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/pods", PodBody(name, run, size))
	if err != nil {
		return "", err
	}
	var o struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return "", fmt.Errorf("read the pod %s/%s: %w", ns, name, err)
	}
	return o.Metadata.UID, nil
}

// DeletePod deletes a pod at once.
func (a *APIServer) DeletePod(ctx context.Context, ns, name string) error {
	_, err := a.Send(ctx, http.MethodDelete, "/api/v1/namespaces/"+ns+"/pods/"+name+"?gracePeriodSeconds=0", nil)
	return err
}

// Pod reads a pod as JSON.
func (a *APIServer) Pod(ctx context.Context, ns, name string) ([]byte, error) {
	return a.Send(ctx, http.MethodGet, "/api/v1/namespaces/"+ns+"/pods/"+name, nil)
}

// StatusError is an answer of the apiserver other than success.
type StatusError struct {
	Code int
	text string
}

func (e *StatusError) Error() string { return e.text }

// maxAnswer bounds one answer that is read: a page of a list of large objects.
const maxAnswer = 256 << 20

// Send sends one request, with body as JSON; an answer other than success is a *StatusError.
func (a *APIServer) Send(ctx context.Context, method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.Base+path, in)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Accept", "application/json")
	switch {
	case body == nil:
	case method == http.MethodPatch:
		req.Header.Set("Content-Type", "application/merge-patch+json")
	default:
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, &StatusError{resp.StatusCode,
			fmt.Sprintf("%s %s: the apiserver answers %s: %.300s", method, path, resp.Status, data)}
	}
	return data, nil
}

// NotFound reports whether the apiserver answered 404.
func NotFound(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}
