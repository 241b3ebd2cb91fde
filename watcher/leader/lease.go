package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

// leases calls the apiserver about the Lease that cfg names, and those of its group.
type leases struct {
	cfg    Config
	client *http.Client
	base   string // apiserver URL
	group  string // value of groupLabel; "": no label
}

// groupLabel marks the Leases of a Group with its name.
const groupLabel = "k8s-watch-group"

func (l leases) collection() string {
	return l.base + "/apis/coordination.k8s.io/v1/namespaces/" + l.cfg.Namespace + "/leases"
}

func (l leases) get(ctx context.Context) (*lease, error) {
	return l.do(ctx, http.MethodGet, l.collection()+"/"+l.cfg.Name, nil)
}

func (l leases) create(ctx context.Context, s spec) (*lease, error) {
	metadata := map[string]any{"name": l.cfg.Name, "namespace": l.cfg.Namespace}
	if l.group != "" {
		metadata["labels"] = map[string]string{groupLabel: l.group}
	}
	return l.do(ctx, http.MethodPost, l.collection(), &lease{
		APIVersion: apiVersion, Kind: kindLease, Metadata: metadata, Spec: s,
	})
}

// list returns the Leases of the group.
func (l leases) list(ctx context.Context) ([]*lease, error) {
	var all struct {
		Kind  string   `json:"kind"`
		Items []*lease `json:"items"`
	}
	url := l.collection() + "?labelSelector=" + groupLabel + "%3D" + l.group
	if err := l.ask(ctx, http.MethodGet, url, nil, &all); err != nil {
		return nil, err
	}
	if all.Kind != kindLease+"List" {
		return nil, fmt.Errorf("list Leases: the answer is a %q, want a LeaseList", all.Kind)
	}
	for _, le := range all.Items {
		le.APIVersion, le.Kind = apiVersion, kindLease // a list has them once
	}
	return all.Items, nil
}

const apiVersion, kindLease = "coordination.k8s.io/v1", "Lease"

// update succeeds only if nobody wrote since le was read.
func (l leases) update(ctx context.Context, le *lease) (*lease, error) {
	return l.do(ctx, http.MethodPut, l.collection()+"/"+l.cfg.Name, le)
}

// claim takes or renews the Lease, given as last read, nil if there was none. It returns nil if somebody has written it
// since.
func (l leases) claim(ctx context.Context, le *lease) (*lease, error) {
	now := timestamp()
	mine := spec{HolderIdentity: l.cfg.Identity, LeaseDurationSeconds: wholeSeconds(l.cfg.LeaseDuration),
		AcquireTime: now, RenewTime: now}
	var err error
	if le == nil {
		le, err = l.create(ctx, mine)
	} else {
		if mine.LeaseTransitions = le.Spec.LeaseTransitions + 1; le.Spec.HolderIdentity == mine.HolderIdentity {
			mine.LeaseTransitions, mine.AcquireTime = le.Spec.LeaseTransitions, le.Spec.AcquireTime
		}
		next := *le
		next.Spec = mine
		le, err = l.update(ctx, &next)
	}
	if errors.Is(err, errConflict) || errors.Is(err, errNotFound) {
		return nil, nil
	}
	return le, err
}

// release lets the next holder begin at once, or when what was sent last has been applied.
func (l leases) release(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.RetryPeriod)
	defer cancel()
	le, err := l.get(ctx)
	if err == nil && le.Spec.HolderIdentity == l.cfg.Identity {
		le.Spec.HolderIdentity, le.Spec.LeaseDurationSeconds, le.Spec.RenewTime = "", 1, timestamp()
		if l.cfg.Settling != nil {
			if d := l.cfg.Settling(); d > 0 {
				le.Spec.HolderIdentity, le.Spec.LeaseDurationSeconds = l.cfg.Identity, wholeSeconds(d)
			}
		}
		_, err = l.update(ctx, le)
	}
	if err != nil {
		log.Warn("lease not released", "error", err)
	}
}

func (l leases) do(ctx context.Context, method, url string, body *lease) (*lease, error) {
	out := &lease{}
	if err := l.ask(ctx, method, url, body, out); err != nil {
		return nil, err
	}
	if out.Kind != kindLease { // a gateway's answer, as an empty Lease, would let every replica lead
		return nil, fmt.Errorf("%s %s: the answer is a %q, want a Lease", method, l.cfg.Name, out.Kind)
	}
	return out, nil
}

func (l leases) ask(ctx context.Context, method, url string, body *lease, out any) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.RequestTimeout)
	defer cancel()
	r := call.Request{Method: method, URL: url, Limit: maxAnswer}
	if body != nil {
		var err error
		if r.Body, err = json.Marshal(body); err != nil {
			return err
		}
	}
	status, b, err := call.Do(ctx, l.client, r)
	if err != nil {
		return err
	}
	switch {
	case status == http.StatusNotFound && method != http.MethodPost: // there, the namespace is missing
		return errNotFound
	case status == http.StatusConflict:
		return errConflict
	case status/100 != 2:
		return fmt.Errorf("%s %s: HTTP %d: %.200s", method, l.cfg.Name, status, b)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, l.cfg.Name, err)
	}
	return nil
}

func timestamp() string { return time.Now().UTC().Format(microTime) }
