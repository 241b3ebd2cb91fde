package object_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/object"
)

// TestEventOfEventsGroup: one Event, as its two groups serve it, reads the same.
func TestEventOfEventsGroup(t *testing.T) {
	const meta = `"metadata":{"name":"e","namespace":"ns","creationTimestamp":"2026-01-01T00:00:09Z"},"type":"Warning","reason":"Failed"`
	type read struct{ Kind, Namespace, Name, Type, Reason, Message, Component, When string }
	parse := func(raw string) read {
		t.Helper()
		e, err := object.ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		o := e.InvolvedObject
		return read{o.Kind, o.Namespace, o.Name, e.Type, e.Reason, e.Message, e.Source.Component, e.When(e.LastTimestamp, e.FirstTimestamp, e.EventTime).Format(time.RFC3339)}
	}
	core := parse(`{` + meta + `,"involvedObject":{"kind":"Pod","namespace":"ns","name":"p"},"message":"hello","source":{"component":"kubelet"},"firstTimestamp":"2026-01-01T00:00:01Z","lastTimestamp":"2026-01-01T00:00:02Z"}`)
	grouped := parse(`{` + meta + `,"regarding":{"kind":"Pod","namespace":"ns","name":"p"},"note":"hello","deprecatedSource":{"component":"kubelet"},"deprecatedFirstTimestamp":"2026-01-01T00:00:01Z","deprecatedLastTimestamp":"2026-01-01T00:00:02Z"}`)
	want := read{"Pod", "ns", "p", "Warning", "Failed", "hello", "kubelet", "2026-01-01T00:00:02Z"}
	if d := cmp.Diff([]read{want, want}, []read{core, grouped}); d != "" {
		t.Errorf("core and events.k8s.io (-want +got):\n%s", d)
	}
	fresh := parse(`{` + meta + `,"regarding":{"kind":"Pod","namespace":"ns","name":"p"},"note":"hello","reportingController":"kubelet","eventTime":"2026-01-01T00:00:02.000000Z","deprecatedSource":{},"deprecatedFirstTimestamp":null}`)
	if d := cmp.Diff(want, fresh); d != "" {
		t.Errorf("without what is deprecated (-want +got):\n%s", d)
	}
}
