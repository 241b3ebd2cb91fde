package object

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is what the watcher reads of a Kubernetes Event.
type Event struct {
	Metadata struct {
		CreationTimestamp time.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	InvolvedObject struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"involvedObject"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Source  struct {
		Component string `json:"component"`
	} `json:"source"`
	FirstTimestamp *time.Time `json:"firstTimestamp"`
	LastTimestamp  *time.Time `json:"lastTimestamp"`
	EventTime      *time.Time `json:"eventTime"`
}

// ParseEvent decodes the JSON of an Event.
func ParseEvent(raw []byte) (e Event, err error) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fmt.Errorf("read Event: %w", err)
	}
	return e, nil
}

// When returns the first of these times that is set, else that of the creation.
func (e *Event) When(times ...*time.Time) time.Time {
	for _, t := range times {
		if t != nil && !t.IsZero() {
			return *t
		}
	}
	return e.Metadata.CreationTimestamp
}
