package prometheus

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/metric"
)

// Severities of alerts.
const (
	Critical = "critical" // storage is wrong or will be: look now
	Warning  = "warning"  // look today
)

// Thresholds of the alerts.
const (
	BacklogSeconds = 60        // to send what waits, at the present speed
	BacklogEvents  = 100       // below it a backlog is no backlog
	LagSeconds     = 60        // age of the oldest change that storage lacks
	SilentSeconds  = 120       // of one watch; 55 s are normal
	QueueFullRatio = 0.8       // of a queue's capacity
	ManyRelists    = 3         // of one kind in Long
	ManyHandovers  = 3         // changes of k8swatch_leading in Long
	GrowthRatio    = 1.5       // of the least memory in Long
	GrowthBytes    = 100 << 20 // and at least that much more
)

// Names of the recorded series.
const (
	RecordReceived   = "cluster:" + metric.EventsReceived + ":rate"
	RecordSent       = "cluster:" + metric.EventsSent + ":rate"
	RecordQueued     = "cluster:" + metric.EventsQueued + ":sum"
	RecordBacklog    = "cluster:k8swatch_backlog_seconds:ratio"
	RecordLag        = "cluster_kind:" + metric.Lag + ":max"
	RecordQueueUse   = "cluster_queue:k8swatch_queue_use:ratio"
	RecordFreshness  = "cluster:" + metric.Freshness + ":p99"
	RecordLatency    = "cluster:storage_request_latency_seconds:p99"
	RecordSuccess    = "cluster:storage_request_success:ratio"
	RecordCPUPerSent = "cluster:k8swatch_cpu_seconds_per_event:ratio"
)

// by are the labels that keep clusters apart; more are added to them.
const by = "cluster_id, job"

// Record is a recording rule.
type Record struct {
	Name, Expr, Text string
}

func sum(m, span string) string { return fmt.Sprintf("sum by (%s) (rate(%s[%s]))", by, m, span) }

// Records are the recording rules, with $window and $long in their expressions.
func Records() []Record {
	return []Record{
		{RecordReceived, sum(metric.EventsReceived, "$window"), "Changes a second from the apiserver."},
		{RecordSent, sum(metric.EventsSent, "$window"), "Changes a second that storage took."},
		{RecordQueued, fmt.Sprintf("sum by (%s) (%s)", by, metric.EventsQueued), "Changes that wait for storage."},
		{RecordBacklog, RecordQueued + " / " + RecordSent, "Time to send what waits, at the present speed; +Inf if nothing is sent."},
		{RecordLag, fmt.Sprintf("max by (%s, kind) (%s)", by, metric.Lag), "Age of the oldest change that storage lacks."},
		{RecordQueueUse, fmt.Sprintf("max by (%s, queue) (%s / (%s > 0))", by, metric.QueueDepth, metric.QueueCapacity), "How full each queue is; 1 is full."},
		{RecordFreshness, fmt.Sprintf("histogram_quantile(0.99, sum by (%s, le) (rate(%s_bucket[$window])))", by, metric.Freshness), "99th percentile of the time from a change to its acknowledgement."},
		{RecordLatency, fmt.Sprintf("histogram_quantile(0.99, sum by (%s, le) (rate(%s_bucket[$window])))", by, metric.StorageLatency), "99th percentile of a storage call."},
		{RecordSuccess, fmt.Sprintf("sum by (%s) (rate(%s{status=\"success\"}[$window]))\n  / (%s > 0)", by, metric.StorageRequests, sum(metric.StorageRequests, "$window")), "Share of storage calls that succeeded."},
		{RecordCPUPerSent, fmt.Sprintf("%s\n  / (%s > 0)", sum(metric.ProcessCPU, "$window"), sum(metric.EventsSent, "$window")), "CPU time of the watcher per change sent."},
	}
}

// Alert is an alert rule.
type Alert struct {
	Name, Expr, Severity string
	// For is in shares of Timing.For: 0 is at once.
	For     float64
	Summary string
	Means   string
	Do      string // what to do first
	Link    string // page in docs, with the section
}

// reference is the page with a section for each metric of k8s-watch.
const reference = "k8s-watch-reference.md#"

// docs is where links of runbooks lead.
const docs = "https://github.com/watchbench/watchbench/blob/main/docs/"

// Names of the alerts.
const (
	FallingBehind  = "K8sWatchFallingBehind"
	ChangeTooOld   = "K8sWatchOldestChangeTooOld"
	DeadWatch      = "K8sWatchDeadWatch"
	Dropping       = "K8sWatchDropping"
	Parked         = "K8sWatchParked"
	Relisting      = "K8sWatchRelisting"
	QueueNearFull  = "K8sWatchQueueNearFull"
	Repairing      = "K8sWatchSynchronizerRepairing"
	LeaderFlapping = "K8sWatchLeaderFlapping"
	NoLeader       = "K8sWatchNoLeader"
	MemoryGrowth   = "K8sWatchMemoryGrowth"
	StorageDown    = "K8sWatchStorageDown"
	WatcherDown    = "K8sWatchDown"
)
