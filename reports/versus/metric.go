package versus

import (
	"fmt"
	"path"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

// Lower and Higher say which values of a metric are the better ones; 0 is neither.
const (
	Lower  = -1
	Higher = 1
)

// better are the metrics of which some values are better than others.
var better = map[string]int{
	"events.lost": Lower, "events.reordered": Lower, "events.dropped": Lower, "events.retried": Lower,
	"freshness.p50": Lower, "freshness.p90": Lower, "freshness.p99": Lower, "freshness.max": Lower,
	"bystander.freshness.p50": Lower, "bystander.freshness.p99": Lower,
	"handler.drainSeconds": Lower, "handler.drainAfterLoadSeconds": Lower, "handler.imbalance": Lower, "handler.maxDepth": Lower,
	"writer.fullSeconds": Lower, "writer.maxDepth": Lower,
	"storage.qps": Higher, "storage.efficiency": Higher, "storage.efficiencyBacklog": Higher,
	"storage.requestsPerEvent": Lower, "storage.bytesPerEvent": Lower,
	"watcher.cpuSeconds": Lower, "watcher.cpuMicrosPerRequest": Lower, "watcher.cpuMicrosPerEvent": Lower,
	"watcher.rssPeakMiB": Lower, "watcher.rssHighestMiB": Lower, "watcher.heapMiB": Lower, "watcher.bytesPerObject": Lower,
	"watcher.allocsPerEvent": Lower, "watcher.allocBytesPerEvent": Lower, "watcher.lists": Lower, "watcher.watches": Lower,
	"watcher.firstSyncSeconds": Lower, "watcher.firstSyncCPUSeconds": Lower, "watcher.storedSeconds": Lower, "watcher.storedCPUSeconds": Lower,
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

// Better is the better side of a metric: Lower, Higher, or 0.
func Better(metric string) int { return better[metric] }

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
