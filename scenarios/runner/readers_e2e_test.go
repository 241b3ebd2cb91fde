package runner

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

const readScenario = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: read}
storage: {latency: 5ms}
load: {model: open, rate: 40, duration: 3s, prefill: 30, bystander: {kind: ConfigMap, rate: 10}}
watcher: {podQueueNum: 6}
matrix:
  readers:
    none: {get: 0}
    watcher: {get: 100, list: 5, watches: 10}
    apiserver: {from: apiserver, get: 100, list: 5, watches: 10}
    told: {webhooks: 3}
limits: {lag: 10s, minOffered: 20%, minPower: 0}
drainTimeout: 30s
`

// TestReaders: who reads gets what the apiserver has, from the watcher as from the apiserver.
func TestReaders(t *testing.T) {
	opts, said := stage(t, readScenario)
	out := finish(t, opts, said)
	cells := map[string]*result.Cell{}
	for i := range out.Results.Cells {
		c := &out.Results.Cells[i]
		if cells[c.Params["readers"]] = c; !onlyLate(*c) {
			t.Errorf("%s: %q", c.ID, c.InvalidReasons)
		}
		for name, check := range c.Checks {
			if check.Verdict == result.Fail {
				t.Errorf("%s: %s: %s", c.ID, name, check.Counterexample)
			}
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, from := range []string{"watcher", "apiserver"} {
		r := cells[from].Readers
		if r.Get.Done < 200 || r.List.Done < 10 || r.Watches.Changes < 80 || r.Watches.Events != r.Watches.Changes*10 || r.Watches.LagMs == nil {
			t.Errorf("%s: %+v, %+v, %+v", from, r.Get, r.List, r.Watches)
		}
	}
	if w := cells["told"].Readers.Webhooks; w.Missed != 0 || w.Delivered < 3*w.Changes {
		t.Errorf("%+v", w)
	}
	if cells["none"].Readers != nil {
		t.Error("figures of readers where nobody read")
	}
	judgedAlike(t, out.Dir)
}
