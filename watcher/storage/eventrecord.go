package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
)

// k8sEvent is what the Event record takes from a core/v1 Event.
type k8sEvent struct {
	Metadata struct {
		CreationTimestamp time.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	InvolvedObject struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"involvedObject"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Source  struct {
		Component string `json:"component"`
	} `json:"source"`
	FirstTimestamp *time.Time `json:"firstTimestamp"`
	LastTimestamp  *time.Time `json:"lastTimestamp"`
	EventTime      *time.Time `json:"eventTime"`
}

// EventRecord renders the body of E11 for one Event (mapping: contract §1.6).
func EventRecord(cluster string, raw []byte) ([]byte, error) {
	var ev k8sEvent
	if err := json.Unmarshal(raw, &ev); err != nil {
		return nil, fmt.Errorf("read Event: %w", err)
	}
	rec := bcsapi.EventRecord{
		ClusterID: cluster,
		Component: ev.Source.Component,
		Data:      raw,
		Describe:  ev.Message,
		Env:       bcsapi.EventEnv,
		EventTime: ev.when().Unix(),
		ExtraInfo: bcsapi.EventExtraInfo{
			Kind:      ev.InvolvedObject.Kind,
			Name:      ev.InvolvedObject.Name,
			Namespace: ev.InvolvedObject.Namespace,
		},
		Kind:  ev.InvolvedObject.Kind,
		Level: ev.Type,
		Type:  ev.Reason,
	}
	var b bytes.Buffer
	b.Grow(len(raw) + 512)
	if err := json.NewEncoder(&b).Encode(rec); err != nil {
		return nil, fmt.Errorf("render Event record: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (e *k8sEvent) when() time.Time {
	for _, t := range []*time.Time{e.LastTimestamp, e.FirstTimestamp, e.EventTime} {
		if t != nil && !t.IsZero() {
			return *t
		}
	}
	return e.Metadata.CreationTimestamp
}
