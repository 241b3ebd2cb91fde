package leader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// lease is the part of coordination.k8s.io/v1 Lease that matters; what else an
// object has is kept as it is.
type lease struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       spec           `json:"spec"`
}

type spec struct {
	HolderIdentity       string `json:"holderIdentity"`
	LeaseDurationSeconds int    `json:"leaseDurationSeconds"`
	AcquireTime          string `json:"acquireTime,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
	LeaseTransitions     int    `json:"leaseTransitions"`
}

// microTime is Kubernetes' format for times with microseconds.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

var (
	errNotFound = errors.New("no such lease")
	errConflict = errors.New("somebody else wrote the lease")
)

const maxAnswer = 1 << 20

// leases speaks to the apiserver.
type leases struct {
	client    *http.Client
	base      string // apiserver URL
	namespace string
	name      string
}

func (l leases) collection() string {
	return l.base + "/apis/coordination.k8s.io/v1/namespaces/" + l.namespace + "/leases"
}

func (l leases) get(ctx context.Context) (*lease, error) {
	return l.do(ctx, http.MethodGet, l.collection()+"/"+l.name, nil)
}

func (l leases) create(ctx context.Context, s spec) (*lease, error) {
	return l.do(ctx, http.MethodPost, l.collection(), &lease{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
		Metadata: map[string]any{"name": l.name, "namespace": l.namespace}, Spec: s,
	})
}

// update succeeds only if nobody wrote since le was read.
func (l leases) update(ctx context.Context, le *lease) (*lease, error) {
	return l.do(ctx, http.MethodPut, l.collection()+"/"+l.name, le)
}

func (l leases) do(ctx context.Context, method, url string, body *lease) (*lease, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return nil, errNotFound
	case resp.StatusCode == http.StatusConflict:
		return nil, errConflict
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("%s %s: HTTP %d: %.200s", method, l.name, resp.StatusCode, b)
	}
	out := &lease{}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, l.name, err)
	}
	return out, nil
}

func now() string { return time.Now().UTC().Format(microTime) }
