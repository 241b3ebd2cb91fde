package object

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// Event has the fields of a Kubernetes Event that the watcher reads.
type Event struct {
	Metadata struct {
		CreationTimestamp time.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	InvolvedObject eventObject `json:"involvedObject"`
	Type           string      `json:"type"`
	Reason         string      `json:"reason"`
	Message        string      `json:"message"`
	Source         eventSource `json:"source"`
	FirstTimestamp *time.Time  `json:"firstTimestamp"`
	LastTimestamp  *time.Time  `json:"lastTimestamp"`
	EventTime      *time.Time  `json:"eventTime"`

	// What events.k8s.io calls otherwise.
	Regarding                eventObject `json:"regarding"`
	Note                     string      `json:"note"`
	DeprecatedSource         eventSource `json:"deprecatedSource"`
	ReportingController      string      `json:"reportingController"`
	DeprecatedFirstTimestamp *time.Time  `json:"deprecatedFirstTimestamp"`
	DeprecatedLastTimestamp  *time.Time  `json:"deprecatedLastTimestamp"`
}

type eventObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type eventSource struct {
	Component string `json:"component"`
}

// ParseEvent decodes the JSON of an Event of the core group or of events.k8s.io; the result
// has the core group's fields.
func ParseEvent(raw []byte) (e Event, err error) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fmt.Errorf("read Event: %w", err)
	}
	e.InvolvedObject, e.Message = cmp.Or(e.InvolvedObject, e.Regarding), cmp.Or(e.Message, e.Note)
	e.Source.Component = cmp.Or(e.Source.Component, e.DeprecatedSource.Component, e.ReportingController)
	e.FirstTimestamp = cmp.Or(e.FirstTimestamp, e.DeprecatedFirstTimestamp)
	e.LastTimestamp = cmp.Or(e.LastTimestamp, e.DeprecatedLastTimestamp)
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
