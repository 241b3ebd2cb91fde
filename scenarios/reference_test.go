package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/reference"
	"github.com/watchbench/watchbench/scenarios/faults"
)

// TestReferenceSettings: the scenario reference has each published row once for each watcher,
// with its threads, pace and queues.
func TestReferenceSettings(t *testing.T) {
	file, src, err := Read(reference.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	f, err := faults.Format.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range f.Cells() {
		var watcher, load string
		for _, p := range c.Params {
			switch p.Name {
			case "watcher":
				watcher = p.Value
			case "load":
				load = p.Value
			}
		}
		row := reference.Find(load)
		if row == nil {
			t.Fatalf("%s is no published row", load)
		}
		seen[load]++
		s, want := c.Scenario, reference.Settings[row.Setup]
		pause := time.Duration(float64(row.Threads) / row.QPS * float64(time.Second)) // of a thread, between two writes
		if s.Load.Threads != row.Threads || s.Load.Duration.Std().Seconds() != row.Seconds || s.Load.ThinkTime.Std() != pause.Round(time.Millisecond)-5*time.Millisecond {
			t.Errorf("%s: %d threads, %s, pause %s; published are %d, %v s, %s", c.ID, s.Load.Threads, s.Load.Duration, s.Load.ThinkTime, row.Threads, row.Seconds, pause)
		}
		legacy := strings.HasPrefix(watcher, "legacy-")
		if legacy != (s.Watcher.Profile == "legacy") || strings.TrimPrefix(watcher, "legacy-") != row.Setup || s.Watcher.PodQueueNum != want.Queues {
			t.Errorf("%s: %+v", c.ID, s.Watcher)
		}
		handler, writer := want.Handler, want.Writer
		if legacy && row.Setup == reference.Before {
			handler = want.Room()
		}
		if s.Watcher.HandlerQueueLen != handler || !legacy && (s.Watcher.WriterQueueLen != writer || s.Watcher.QueueFull != "block") {
			t.Errorf("%s: %+v", c.ID, s.Watcher)
		}
	}
	for _, row := range reference.Rows() {
		if seen[row.Name()] != 2 { // k8s-watch, and what stands for the original
			t.Errorf("%s is run %d times", row.Name(), seen[row.Name()])
		}
	}
}
