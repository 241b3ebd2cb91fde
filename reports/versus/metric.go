package versus

import (
	"fmt"
	"path"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

// Values of trait.better.
const (
	lower  = -1
	higher = 1
)

// trait is what a comparison knows of a metric.
type trait struct {
	better     int  // which values are the better ones; 0 for neither
	fault      bool // it counts what went wrong
	byPlan     bool // the plan decides it in an open loop, so that none is better there
	perRequest bool // it means something else where requests were saved
	perLoad    bool // it grows with what a closed loop wrote: less of it is none the better then
}

// traits are the metrics that are compared by default: those with a better side, and a few that tell whether both
// sides had the same load, storage and work.
var traits = func() map[string]trait {
	all := map[string]trait{}
	for _, of := range []struct {
		section, names string
		trait
	}{
		{"events", "lost reordered", trait{better: lower, fault: true}},
		{"events", "dropped retried", trait{better: lower, perLoad: true}},
		{"freshness", "p50 p90 p99 max", trait{better: lower, perLoad: true}},
		{"bystander.freshness", "p50 p99", trait{better: lower, perLoad: true}},
		{"writer", "fullSeconds maxDepth", trait{better: lower, perLoad: true}},
		{"handler", "imbalance gapSeconds", trait{better: lower}},
		{"handler", "drainAfterLoadSeconds maxDepth", trait{better: lower, perLoad: true}},
		{"handler", "drainSeconds", trait{better: lower, perLoad: true, byPlan: true}},
		{"storage", "qps efficiency efficiencyBacklog", trait{better: higher, perRequest: true, byPlan: true}},
		{"storage", "requestsPerEvent bytesPerEvent", trait{better: lower}},
		{"storage", "latencyMeanSeenMs connectionsOpened", trait{}},
		{"watcher", "cpuMicrosPerRequest", trait{better: lower, perRequest: true}},
		{"watcher", "cpuSeconds rssPeakMiB rssHighestMiB heapMiB", trait{better: lower, perLoad: true}},
		{"watcher", "cpuMicrosPerEvent bytesPerObject lists watches", trait{better: lower}},
		{"watcher", "allocsPerEvent allocBytesPerEvent firstSyncSeconds", trait{better: lower}},
		{"watcher", "firstSyncCPUSeconds storedSeconds storedCPUSeconds", trait{better: lower}},
		{"watcher", "cpuCores netKiBps", trait{}},
		{"load", "qps", trait{}},
	} {
		for _, name := range strings.Fields(of.names) {
			all[of.section+"."+name] = of.trait
		}
	}
	return all
}()

// Metrics finds the metrics that patterns name, in the order of results.json: a name, such as freshness.p99, or one
// with * for any part of it, such as watcher.*. Without patterns they are those of traits.
func Metrics(patterns ...string) (all []result.Metric, err error) {
	wanted := map[string]bool{}
	for _, p := range patterns {
		found := false
		for _, m := range result.Metrics() {
			ok, err := path.Match(p, m.Name)
			if err != nil {
				return nil, badinput.New("write a metric's name, or * for any part of one, such as watcher.*", "metric %q: %v", p, err)
			}
			found, wanted[m.Name] = found || ok, wanted[m.Name] || ok
		}
		if found {
			continue
		}
		if _, err = result.MetricByName(p); strings.Contains(p, "*") {
			err = fmt.Errorf("no such metric; watcher.* and freshness.p99 are examples")
		}
		return nil, &badinput.Error{What: fmt.Sprintf("metric %q", p), Err: err}
	}
	for _, m := range result.Metrics() {
		if _, byDefault := traits[m.Name]; wanted[m.Name] || len(patterns) == 0 && byDefault {
			all = append(all, m)
		}
	}
	return all, nil
}
