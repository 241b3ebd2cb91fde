package bcsapi

import "encoding/json"

// EventRecord is the body of E11. It is not wrapped in {"data": …}; Data is one
// of its keys and holds the whole Kubernetes Event.
type EventRecord struct {
	ClusterID string          `json:"clusterId"`
	Component string          `json:"component"` // source.component
	Data      json.RawMessage `json:"data"`
	Describe  string          `json:"describe"`  // message
	Env       string          `json:"env"`       // always EventEnv
	EventTime int64           `json:"eventTime"` // unix seconds: first non-zero of last, first, eventTime, creation
	ExtraInfo EventExtraInfo  `json:"extraInfo"`
	ID        string          `json:"id"`    // always empty
	Kind      string          `json:"kind"`  // involvedObject.kind
	Level     string          `json:"level"` // type
	Type      string          `json:"type"`  // reason
}

// EventEnv is the value of EventRecord.Env.
const EventEnv = "k8s"

// EventExtraInfo names the involved object; Namespace is empty for a cluster-scoped one.
type EventExtraInfo struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}
