package versus

import (
	"fmt"
	"path"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

// lower and higher say which values of a metric are the better ones; 0 is neither.
const (
	lower  = -1
	higher = 1
)

// better are the metrics of which some values are better than others.
var better = map[string]int{
	"events.lost": lower, "events.reordered": lower, "events.dropped": lower, "events.retried": lower,
	"freshness.p50": lower, "freshness.p90": lower, "freshness.p99": lower, "freshness.max": lower,
	"bystander.freshness.p50": lower, "bystander.freshness.p99": lower,
	"handler.drainSeconds": lower, "handler.drainAfterLoadSeconds": lower, "handler.imbalance": lower, "handler.maxDepth": lower,
	"handler.gapSeconds": lower,
	"writer.fullSeconds": lower, "writer.maxDepth": lower,
	"storage.qps": higher, "storage.efficiency": higher, "storage.efficiencyBacklog": higher,
	"storage.requestsPerEvent": lower, "storage.bytesPerEvent": lower,
	"watcher.cpuSeconds": lower, "watcher.cpuMicrosPerRequest": lower, "watcher.cpuMicrosPerEvent": lower,
	"watcher.rssPeakMiB": lower, "watcher.rssHighestMiB": lower, "watcher.heapMiB": lower, "watcher.bytesPerObject": lower,
	"watcher.allocsPerEvent": lower, "watcher.allocBytesPerEvent": lower, "watcher.lists": lower, "watcher.watches": lower,
	"watcher.firstSyncSeconds": lower, "watcher.firstSyncCPUSeconds": lower, "watcher.storedSeconds": lower, "watcher.storedCPUSeconds": lower,
}

// context are the metrics without a better side that are compared all the same: they tell
// whether both sides had the same load, storage and work.
var context = map[string]bool{
	"load.qps": true, "storage.latencyMeanSeenMs": true, "storage.connectionsOpened": true, "watcher.cpuCores": true, "watcher.netKiBps": true,
}

// byPlan are the metrics that the plan decides in an open loop: none is better there.
var byPlan = map[string]bool{
	"handler.drainSeconds": true, "storage.qps": true, "storage.efficiency": true, "storage.efficiencyBacklog": true,
}

// perRequest are the metrics that mean something else where requests were saved: a watcher
// that sends half of them, at half the rate, is none the worse.
var perRequest = map[string]bool{
	"storage.qps": true, "storage.efficiency": true, "storage.efficiencyBacklog": true, "watcher.cpuMicrosPerRequest": true,
}

// perLoad are the metrics that grow with what was written: a run whose closed loop wrote less
// is none the better for less of them.
var perLoad = map[string]bool{
	"freshness.p50": true, "freshness.p90": true, "freshness.p99": true, "freshness.max": true,
	"bystander.freshness.p50": true, "bystander.freshness.p99": true,
	"handler.drainSeconds": true, "handler.drainAfterLoadSeconds": true, "handler.maxDepth": true, "writer.fullSeconds": true, "writer.maxDepth": true,
	"events.dropped": true, "events.retried": true,
	"watcher.cpuSeconds": true, "watcher.rssPeakMiB": true, "watcher.rssHighestMiB": true, "watcher.heapMiB": true,
}

// ofCorrectness are the metrics that count what went wrong.
var ofCorrectness = map[string]bool{"events.lost": true, "events.reordered": true}

// Metrics finds the metrics that patterns name, in the order of results.json: a name, such
// as freshness.p99, or one with * for any part of it, such as watcher.*. Without patterns
// they are those that have a better side, and a few that tell whether the work was the same.
func Metrics(patterns ...string) ([]result.Metric, error) {
	wanted := map[string]bool{}
	for _, p := range patterns {
		found := false
		for _, m := range result.Metrics() {
			ok, err := path.Match(p, m.Name)
			if err != nil {
				return nil, badinput.New("write a metric's name, or * for any part of one, such as watcher.*", "metric %q: %v", p, err)
			}
			found = found || ok
			wanted[m.Name] = wanted[m.Name] || ok
		}
		if !found {
			_, err := result.MetricByName(p)
			if err == nil {
				err = fmt.Errorf("unknown metric")
			}
			if strings.Contains(p, "*") {
				err = fmt.Errorf("no metric has such a name; for instance, watcher.* and freshness.p99 do")
			}
			return nil, &badinput.Error{What: fmt.Sprintf("metric %q", p), Err: err}
		}
	}
	var all []result.Metric
	for _, m := range result.Metrics() {
		if wanted[m.Name] || len(patterns) == 0 && (better[m.Name] != 0 || context[m.Name]) {
			all = append(all, m)
		}
	}
	return all, nil
}
