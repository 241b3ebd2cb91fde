package matrix

import (
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestStalledByTheCell: what the cell's own processes do is no evidence, whether or not
// they were sampled to the end.
func TestStalledByTheCell(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*history.Cell)
		do   func(*machine)
	}{
		// A watcher that lists again and again keeps the proxy busy.
		{"a busy proxy", func(c *history.Cell) { c.Scenario.Watch.Faults = []string{"close(1s,2s)"} }, func(m *machine) { m.run(6000, full, 1.4, 0, 20) }},
		{"a busy second watcher", func(c *history.Cell) { c.Watcher.Joined = true }, func(m *machine) { m.run(6000, full, 1.4, 0, 20) }},
		{"a busy replica", func(c *history.Cell) { c.Scenario.Watcher.Replicas = 2 }, func(m *machine) { m.run(6000, full, 1.4, 0, 20) }},
		{"a greedy watcher that is gone at the end", nil, func(m *machine) {
			m.run(6000, func(p string) float64 {
				if p == history.PartyWatcher {
					return 15
				}
				return 1
			}, 0, 0, 20)
			delete(m.used, history.PartyWatcher)
		}},
		// The apiserver was busy with something else first; the load goes on as before.
		{"a watcher hangs after a busy time of the apiserver", nil, func(m *machine) {
			m.run(5000, func(p string) float64 {
				if p == history.PartyAPIServer {
					return 19
				}
				return 1
			}, 0, 0, 0)
			m.sample(1900)
			m.run(2000, func(p string) float64 {
				if p == history.PartyGenerator {
					return 1
				}
				return 0.4
			}, 0, 0, 0)
		}},
	} {
		m := newMachine()
		for done := false; m.now < drainEnds; {
			gone := m.now > 0 && m.used[history.PartyWatcher] == 0
			m.run(250, full, 0, 0, 0.05)
			if gone {
				delete(m.used, history.PartyWatcher)
			}
			m.sample(5)
			if !done && m.now >= 1000 {
				done = true
				tc.do(m)
			}
		}
		c := &Case{Cell: &history.Cell{Scenario: spec.Default(), LoadFinished: loadEnds * 1e6, DrainEnd: drainEnds * 1e6}, Samples: m.samples}
		if tc.edit != nil {
			tc.edit(c.Cell)
		}
		// The runner's own pace is not what this is about.
		for i := range c.Samples[1:] {
			c.Samples[i].Until = c.Samples[i+1].Time
		}
		if got := Stalled(c); got != nil {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}
