package storage

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// EventRecord renders the body of E11 for one Event (mapping: contract §1.6).
func EventRecord(cluster string, raw []byte) ([]byte, error) {
	ev, err := object.ParseEvent(raw)
	if err != nil {
		return nil, err
	}
	rec := bcsapi.EventRecord{
		ClusterID: cluster,
		Component: ev.Source.Component,
		Data:      raw,
		Describe:  ev.Message,
		Env:       bcsapi.EventEnv,
		EventTime: ev.When(ev.LastTimestamp, ev.FirstTimestamp, ev.EventTime).Unix(),
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
