package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Alertmanager posts to every instance, as Alertmanager's clustering wants it;
// one that accepts is enough.
type Alertmanager struct {
	Endpoints []string // scheme://host:port
	ClusterID string
	Client    *http.Client
	// Resolve is how long an alert stays active without being repeated.
	Resolve time.Duration
	// Authorization is asked for the header of that name for each alert; nil: none.
	Authorization func() (string, error)
}

type amAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// Name implements Target.
func (m *Alertmanager) Name() string { return "alertmanager" }

// Post implements Target.
func (m *Alertmanager) Post(ctx context.Context, a Alert) error {
	body, err := json.Marshal([]amAlert{{
		Labels: map[string]string{
			"alertname": "PodWarningEvent", "severity": "warning", "cluster_id": m.ClusterID,
			"namespace": a.Namespace, "pod": a.Pod, "reason": a.Reason,
		},
		Annotations: map[string]string{"summary": a.text(), "owner_uid": a.OwnerUID},
		StartsAt:    a.At, EndsAt: time.Now().Add(m.Resolve),
	}})
	if err != nil {
		return err
	}
	header := map[string]string{}
	if m.Authorization != nil {
		if header["Authorization"], err = m.Authorization(); err != nil {
			return fmt.Errorf("authorization for Alertmanager: %w", err)
		}
	}
	var failures []error
	for _, e := range m.Endpoints {
		status, reply, err := post(ctx, m.Client, e+"/api/v2/alerts", header, body)
		switch {
		case err != nil:
			failures = append(failures, err)
		case status/100 != 2:
			failures = append(failures, fmt.Errorf("%s answered HTTP %d: %.200q", e, status, reply))
		}
	}
	if len(failures) < len(m.Endpoints) {
		return nil
	}
	return errors.Join(failures...)
}

var _ Target = (*Alertmanager)(nil)
