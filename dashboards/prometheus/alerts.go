package prometheus

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/metric"
)

// Alerts are the alert rules, with $window, $long and $age in their expressions.
func Alerts() []Alert {
	return []Alert{
		{
			Name: FallingBehind, Severity: Warning, For: 1,
			Expr:    fmt.Sprintf("%s > %d and %s > %d", RecordBacklog, BacklogSeconds, RecordQueued, BacklogEvents),
			Summary: "what waits for storage takes {{ $value | humanizeDuration }} to send",
			Means:   "Storage takes fewer changes than the cluster makes.",
			Do:      "Compare the latency of storage with what is usual; if storage can stand more, raise bcs.maxInFlight or bcs.podQueueNum.",
			Link:    reference + metric.EventsQueued,
		},
		{
			Name: ChangeTooOld, Severity: Critical, For: 1,
			Expr:    fmt.Sprintf("%s > %d", RecordLag, LagSeconds),
			Summary: "storage lacks a change of {{ $labels.kind }} that is {{ $value | humanizeDuration }} old",
			Means:   "Consumers of storage see old data of this kind.",
			Do:      "Open /readyz of the watcher: it names a storage endpoint that is down or a watch that is lost; else look for parked objects.",
			Link:    "watcher.md#readiness-and-lag",
		},
		{
			Name: DeadWatch, Severity: Critical, For: 0.2,
			Expr:    fmt.Sprintf("max by (%s, instance, kind) (%s) > %d", by, metric.WatchSilent, SilentSeconds),
			Summary: "the apiserver has not been heard of {{ $labels.kind }} for {{ $value | humanizeDuration }}",
			Means:   "Changes of this kind may be missed until the watch is back.",
			Do:      "Search the log for \"watch is lost\": the apiserver does not answer, or a right is missing.",
			Link:    "watcher.md#what-the-log-says",
		},
		{
			Name: Dropping, Severity: Critical,
			Expr:    fmt.Sprintf("sum by (%s, kind) (increase(%s[$window])) > 0", by, metric.EventsDropped),
			Summary: "{{ $value | humanize }} changes of {{ $labels.kind }} were dropped",
			Means:   "Changes were discarded; storage lacks them until the next comparison.",
			Do:      "Set bcs.queueFull to coalesce if it is drop; else see in the log which drain was too short.",
			Link:    reference + metric.EventsDropped,
		},
		{
			Name: Parked, Severity: Warning, For: 1,
			Expr:    fmt.Sprintf("sum by (%s, kind) (%s) > 0", by, metric.EventsParked),
			Summary: "storage refuses {{ $value }} objects of {{ $labels.kind }}",
			Means:   "Storage refuses these objects while it takes others; their rows are old.",
			Do:      "Read the answer of storage in the log: too large, or not to its liking.",
			Link:    "watcher.md#when-storage-does-not-take-a-write",
		},
		{
			Name: Relisting, Severity: Warning,
			Expr:    fmt.Sprintf("sum by (%s, instance, kind) (increase(%s[$long])) > %d", by, metric.Relists, ManyRelists),
			Summary: "{{ $labels.kind }} was listed anew {{ $value | humanize }} times",
			Means:   "Watches break in a way that costs a whole list each time.",
			Do:      "See whether the apiserver restarts, and what closes connections between it and the watcher.",
			Link:    reference + metric.Relists,
		},
		{
			Name: QueueNearFull, Severity: Warning, For: 1,
			Expr:    fmt.Sprintf("%s > %g", RecordQueueUse, QueueFullRatio),
			Summary: "queue {{ $labels.queue }} is {{ $value | humanizePercentage }} full",
			Means:   "A full queue coalesces, blocks or drops, as bcs.queueFull says.",
			Do:      "Look at the latency of storage; a queue that is full alone has a busy object or a slow kind.",
			Link:    "watcher.md#changing-queues-at-run-time",
		},
		{
			Name: Repairing, Severity: Warning,
			// Not while a process is young: a start repairs what changed meanwhile.
			Expr: fmt.Sprintf("sum by (%[1]s, kind) (increase(%[2]s[$window]) and on (%[1]s, instance) (time() - %[3]s > $age)) > 0",
				by, metric.SyncRepairs, metric.ProcessStart),
			For:     1,
			Summary: "{{ $value | humanize }} records of {{ $labels.kind }} were repaired",
			Means:   "Rows in storage changed behind the watcher's back.",
			Do:      "Find the other writer: a second watcher of this cluster id, or a job that cleans up.",
			Link:    "watcher.md#what-a-comparison-with-storage-does",
		},
		{
			Name: LeaderFlapping, Severity: Warning,
			Expr:    fmt.Sprintf("sum by (%s) (changes(%s[$long])) > %d", by, metric.Leading, ManyHandovers),
			Summary: "leadership changed {{ $value | humanize }} times",
			Means:   "Each change of the leader lists the cluster anew and delays writes.",
			Do:      "See why leaders end: crashes, too little CPU, or an apiserver too slow to renew the Lease.",
			Link:    "watcher.md#several-replicas",
		},
		{
			Name: NoLeader, Severity: Critical, For: 0.2,
			Expr:    fmt.Sprintf("sum by (%s) (%s) == 0", by, metric.Leading),
			Summary: "no replica leads",
			Means:   "Nobody writes to storage, and no replica measures how old it gets.",
			Do:      "Read in the log what is wrong with the Lease: a right is missing, or the apiserver does not answer.",
			Link:    "watcher.md#several-replicas",
		},
		{
			Name: MemoryGrowth, Severity: Warning, For: 1,
			// Not while a process is young and fills its cache.
			Expr: fmt.Sprintf("max by (%[1]s, instance) (%[2]s - min_over_time(%[2]s[$long])) > %[4]d\n"+
				"  and max by (%[1]s, instance) (%[2]s / min_over_time(%[2]s[$long])) > %[3]g\n"+
				"  and max by (%[1]s, instance) (time() - %[5]s) > $age\n"+
				"  and max by (%[1]s, instance) (%[6]s)", by, metric.ProcessMemory, GrowthRatio, int64(GrowthBytes), metric.ProcessStart, metric.EventsQueued),
			Summary: "memory grew by {{ $value | humanize1024 }}B within $long",
			Means:   "The cluster has more objects, more waits for storage, or something leaks.",
			Do:      "Compare " + metric.CacheKeys + " and " + metric.EventsQueued + "; if neither grew, take a heap profile.",
			Link:    "watcher.md#processors-and-memory",
		},
		{
			Name: StorageDown, Severity: Critical, For: 0.2,
			// Replicas that do not lead do not ask storage: without a leader that is its own alert.
			Expr:    fmt.Sprintf("max by (%[1]s) (%[2]s) == 0 unless sum by (%[1]s) (%[3]s) == 0", by, metric.StorageUp, metric.Leading),
			Summary: "no storage endpoint answers",
			Means:   "Nothing is written; changes wait in the watcher.",
			Do:      "Ask storage for its health from the watcher's network.",
			Link:    reference + metric.StorageUp,
		},
		{
			Name: WatcherDown, Severity: Critical, For: 0.2,
			Expr:    fmt.Sprintf("%s{job=%q} == 0", metric.TargetUp, WatcherJob),
			Summary: "k8s-watch on {{ $labels.instance }} does not answer",
			Means:   "The process is gone or stuck: storage gets old.",
			Do:      "See how it ended: the exit code and the last lines of its log.",
			Link:    "watcher.md#exit-codes",
		},
	}
}
