package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/watcher/call"
)

// lease is the part of coordination.k8s.io/v1 Lease that matters; what else an object has is kept as it is.
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

// leases calls the apiserver.
type leases struct {
	client    *http.Client
	base      string // apiserver URL
	namespace string
	name      string
	timeout   time.Duration // of one request
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
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	r := call.Request{Method: method, URL: url, Limit: maxAnswer}
	if body != nil {
		var err error
		if r.Body, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	status, b, err := call.Do(ctx, l.client, r)
	if err != nil {
		return nil, err
	}
	switch {
	case status == http.StatusNotFound && method != http.MethodPost: // there, the namespace is missing
		return nil, errNotFound
	case status == http.StatusConflict:
		return nil, errConflict
	case status/100 != 2:
		return nil, fmt.Errorf("%s %s: HTTP %d: %.200s", method, l.name, status, b)
	}
	out := &lease{}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, l.name, err)
	}
	if out.Kind != "Lease" { // a gateway's answer, as an empty Lease, would let every replica lead
		return nil, fmt.Errorf("%s %s: the answer is a %q, want a Lease", method, l.name, out.Kind)
	}
	return out, nil
}

func timestamp() string { return time.Now().UTC().Format(microTime) }
