package search

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/trace"
	"github.com/watchbench/watchbench/scenarios/faults"
)

// recording is a trace of 2,000 new objects of a kind in 4 s.
func recording(t *testing.T, kind, resource string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.zst")
	w, err := trace.Create(path, trace.Header{Started: time.Now(), Resources: []trace.Resource{{Version: "v1",
		Name: resource, Kind: kind, Namespaced: true}}})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Append(trace.Frame{Type: trace.Synced, ResourceVersion: "1"})
	for i := range 2000 {
		err = errors.Join(err, w.Append(trace.Frame{
			Type: trace.Added, At: time.Duration(i) * 2 * time.Millisecond,
			Object: fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":%q,"metadata":{"namespace":"a","name":"p%d","uid":"u%d","resourceVersion":"%d"}}`, kind,
				i, i, i+2),
		}))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTrace: the events of a recording are the load, at its pace and at another. 500 requests
// a second of 20 ms are 10 at once: fewer fall behind, and half as many take twice the 4 s.
func TestTrace(t *testing.T) {
	data, sets, err := Question{Trace: recording(t, podKind, "pods"), Storage: "20ms"}.Source()
	if err != nil {
		t.Fatal(err)
	}
	f, err := faults.Format.Parse("tune", data, sets...)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, nil, burst, "drainAfterLoad=500ms")
	o.Scenario, o.Strategies, o.Simulate = f, []string{keyed}, Virtual()
	o.Queues = Range{1, 40}
	for queues, want := range map[int]float64{5: 8, 40: 4} {
		if got := drain(t, o, Setting{Strategy: keyed, Queues: queues, WriterLen: leastWriter, HandlerLen: LengthRange.High}, 1); got < want*0.98 || got > want*1.15 {
			t.Errorf("%d queues drain in %.2f s, want about %g s", queues, got, want)
		}
	}
	got := run(t, o, inVirtualTime{Virtual()})
	if c := got.At(got.Best); !got.Met || c.Queues < 9 || c.Queues > 13 || c.Cells[0].Figures.Events != 2000 {
		t.Errorf("met %t with %s: %s", got.Met, c.Name(), got.Sentence)
	}
	if !strings.HasPrefix(got.Sentence, "For a recording with 2,000 changes of Pods in ") {
		t.Error(got.Sentence)
	}
	for _, c := range got.Changes {
		if c.If == "the rate doubles" && (c.Setting == nil || c.Setting.Queues < 17) {
			t.Errorf("at twice the speed: %s", c.Answer)
		}
	}
}

// TestTraceRefused: a file that is no recording, and one without Pods.
func TestTraceRefused(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{filepath.Join(t.TempDir(), "none"), "none"}, {"trace_test.go",
			"trace_test.go"}, {recording(t, "ConfigMap", "configmaps"), "has no Pods"},
	} {
		if _, _, err := (Question{Trace: c.path, Storage: "20ms"}).Source(); !badinput.Is(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}
