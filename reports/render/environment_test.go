package render

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestEnvironmentForDoubters: what the record has of where and how it was measured is shown,
// and what it has not is named.
func TestEnvironmentForDoubters(t *testing.T) {
	res := fixture(t)
	res.Environment.Programs = map[string]string{"k8s-watch": "sha256:0123456789abcdef"}
	res.Cells[0].Watcher.Name, res.Cells[0].Watcher.Version = "mine", "v2"
	res.Cells[1].Storage.SeenMeanMs = new(91.25)
	res.Run.Skipped = []result.Skip{{ID: "1m-objects", Why: "no room"}}
	res.Run.Resumed = []result.Resumption{{Environment: result.Environment{CPUModel: "Another", Kernel: "7.0"}, Cells: []result.Rerun{{ID: "light-keyed-r1", Why: "late"}}}}
	var b strings.Builder
	tab := arrange(res)
	for _, f := range append(tab.Environment(), tab.Provenance()...) {
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	for _, want := range []string{
		"Storage latency: asked lognormal(mean=87ms,p99=110ms); served, means of the valid cells: 87.4 to 91.2 ms\n",
		"Watcher: mine v2\n", "Programs: k8s-watch sha256:0123456789ab\n", "Not recorded: frequency governor, ",
		"Skipped: 1m-objects: no room\n", "for 1 cell: light-keyed-r1 (late)\n", "Resumed elsewhere: ", "Another, 0 CPUs",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	empty := &table{res: &result.Results{}, Run: &result.Run{}}
	for _, f := range empty.Environment() {
		if (f.Name == "Storage latency" || f.Name == "Watcher") && f.Value != unknown {
			t.Errorf("%s: %s", f.Name, f.Value)
		}
	}
}
