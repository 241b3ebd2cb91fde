package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Alertmanager posts to one instance. Each instance of a cluster is a Target of its own, as
// Alertmanager's clustering wants every alert sent to all of them.
type Alertmanager struct {
	Endpoint  string // scheme://host:port
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

// Name implements Target. Instances share it: their addresses are in the errors.
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
	status, reply, err := post(ctx, m.Client, m.Endpoint+"/api/v2/alerts", header, body)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%s answered HTTP %d: %.200q", m.Endpoint, status, reply)
	}
	return err
}

var _ Target = (*Alertmanager)(nil)
