package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/scenarios/check"
)

// Objects beside the load: the load's own ones are not to be touched, because its
// op log is the record of them.

func (c *cellRun) extraNamespace(i int) string {
	return fmt.Sprintf("watchbench-%s-extra-%d", c.r.cellRunID(c.id), i)
}

func extraPod(i int) string { return fmt.Sprintf("beside-%d", i) }

// recreated is a name that got a new object.
type recreated struct{ namespace, name, uid string }

// createExtra makes the namespaces and pods of the scenario's section extra.
func (c *cellRun) createExtra(ctx context.Context) error {
	run := c.r.cellRunID(c.id)
	for n := range c.s.Extra.Namespaces {
		ns := c.extraNamespace(n)
		body := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": ns, "labels": map[string]string{runLabel: run, "pod-security.kubernetes.io/enforce": "privileged"}}}
		if _, err := c.api.send(ctx, http.MethodPost, "/api/v1/namespaces", body); err != nil {
			return err
		}
		c.extra = append(c.extra, ns)
		for i := range c.s.Extra.Pods {
			if _, err := c.api.createPod(ctx, ns, extraPod(i), run, 0); err != nil {
				return err
			}
		}
	}
	return c.plant(ctx)
}

// Fields that hold canaries, by kind, as masks.
var canaryMasks = []check.Mask{
	{Kind: "Secret", Path: []string{"data"}},
	{Kind: "ConfigMap", Path: []string{"data"}},
	{Kind: "Pod", Path: []string{"metadata", "annotations", "watchbench.dev-token"}},
	{Kind: "Pod", Path: []string{"spec", "hostAliases"}},
}

// plant puts canaries into fields that are masked.
func (c *cellRun) plant(ctx context.Context) error {
	if !c.s.Extra.Canaries {
		return nil
	}
	word := func(where string) string {
		w := fmt.Sprintf("canary-%s-%s-%d", where, c.r.cellRunID(c.id), c.seed()*2654435761%1e9)
		c.canaries = append(c.canaries, w)
		return w
	}
	run, ns := c.r.cellRunID(c.id), c.extraNamespace(0)
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "labels": map[string]string{runLabel: run}}
	}
	pod := podBody("with-canary", run, 0)
	pm := pod["metadata"].(map[string]any)
	pm["annotations"] = map[string]string{"watchbench.dev-token": word("annotation")}
	pod["spec"].(map[string]any)["hostAliases"] = []any{map[string]any{"ip": "192.0.2.1", "hostnames": []string{word("spec")}}}
	for _, o := range []struct {
		path string
		body map[string]any
	}{
		{"secrets", map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta("with-canary"), "stringData": map[string]string{"password": word("secret")}}},
		{"configmaps", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("with-canary"), "data": map[string]string{"password": word("configmap")}}},
		{"pods", pod},
	} {
		if _, err := c.api.send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/"+o.path, o.body); err != nil {
			return err
		}
	}
	return nil
}

func (c *cellRun) deleteExtraNamespace(ctx context.Context) error {
	ns := c.extra[len(c.extra)-1]
	if err := owned.DeleteNamespace(ctx, c.api.rest, ns, c.r.cellRunID(c.id)); err != nil {
		return fmt.Errorf("delete the namespace %s: %w", ns, err)
	}
	c.extra = c.extra[:len(c.extra)-1]
	return nil
}

// extraLimit bounds the removal of what was created beside the load.
const extraLimit = time.Minute

// removeExtra deletes what createExtra made, also after a cancellation.
func (c *cellRun) removeExtra(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), extraLimit)
	defer cancel()
	var errs []error
	if c.customs != nil {
		errs = append(errs, c.customs.remove(ctx))
	}
	for len(c.extra) > 0 {
		if err := c.deleteExtraNamespace(ctx); err != nil {
			errs = append(errs, err)
			c.extra = c.extra[:len(c.extra)-1]
		}
	}
	if c.s.Watcher.LeaderElection && c.api != nil {
		_, err := c.api.send(ctx, http.MethodDelete, "/apis/coordination.k8s.io/v1/namespaces/"+leaseNamespace+"/leases/"+c.lease(), nil)
		var status *statusError
		notThere := errors.As(err, &status) && status.code == http.StatusNotFound
		if err != nil && !notThere {
			errs = append(errs, err)
		}
	}
	if c.account != nil {
		errs = append(errs, c.account.remove(ctx))
	}
	return errors.Join(errs...)
}

// leaseNamespace is there in every cluster.
const leaseNamespace = "default"

// lease is the name of the cell's Lease.
func (c *cellRun) lease() string { return "watchbench-" + c.r.cellRunID(c.id) }

// podBody is a pod that no scheduler takes.
func podBody(name, run string, size int) map[string]any {
	container := map[string]any{"name": "app", "image": "registry.example/app:1", "imagePullPolicy": "IfNotPresent"}
	const frame = 900 // bytes of a pod without padding, about
	if size > frame {
		container["env"] = []any{map[string]any{"name": "PADDING", "value": strings.Repeat("x", size-frame)}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "labels": map[string]string{runLabel: run}},
		"spec": map[string]any{
			"schedulerName": "watchbench.dev-runner", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
			"enableServiceLinks": false, "containers": []any{container},
		},
	}
}

func (a *apiserver) createPod(ctx context.Context, ns, name, run string, size int) (uid string, err error) {
	data, err := a.send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/pods", podBody(name, run, size))
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

func (a *apiserver) deletePod(ctx context.Context, ns, name string) error {
	_, err := a.send(ctx, http.MethodDelete, "/api/v1/namespaces/"+ns+"/pods/"+name+"?gracePeriodSeconds=0", nil)
	return err
}

func (a *apiserver) pod(ctx context.Context, ns, name string) ([]byte, error) {
	return a.send(ctx, http.MethodGet, "/api/v1/namespaces/"+ns+"/pods/"+name, nil)
}

// statusError is an answer of the apiserver that is no success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// maxObject bounds one object that is read.
const maxObject = 4 << 20

func (a *apiserver) send(ctx context.Context, method, path string, body any) ([]byte, error) {
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
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, in)
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
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxObject))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, &statusError{resp.StatusCode, fmt.Sprintf("%s %s: the apiserver answers %s: %.300s", method, path, resp.Status, data)}
	}
	return data, nil
}
