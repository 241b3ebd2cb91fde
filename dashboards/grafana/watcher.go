package grafana

import (
	"fmt"

	"github.com/watchbench/watchbench/dashboards/prometheus"
	"github.com/watchbench/watchbench/internal/metric"
)

func watcherRows() []Row {
	return []Row{first(), events(), queues(), sides(), synchronizer(), process(), originalQueues(), originalStorage()}
}

// first is what to look at first.
func first() Row {
	const kind, cluster = "cluster_id, kind", "cluster_id"
	return Row{"Is storage up to date?", []Panel{
		{Title: "Lag", Unit: seconds, Bad: prometheus.LagSeconds, Text: "Age of the oldest change that storage lacks, given up or not; while a watch fails, at least how long it has been silent.",
			Queries: one(top(kind, of(metric.Lag)), kind)},
		{Title: "Time to send what waits", Unit: seconds, Bad: prometheus.BacklogSeconds, Text: "Changes that wait, divided by those sent a second. A gap: nothing is sent.",
			Queries: one(per(sum(cluster, of(metric.EventsQueued)), sum(cluster, rate(metric.EventsSent))), cluster)},
		{Title: "Freshness", Unit: seconds, Text: "From the receipt of a change to its acknowledgement by storage.", Queries: quantiles(metric.Freshness)},
		{Title: "Storage endpoints up", Unit: yesNo, Stat: true, Bad: 1, BadBelow: true, Text: "No is an endpoint that no replica reaches: it does not answer as storage does.",
			Queries: one(fmt.Sprintf("max by (cluster_id, endpoint) (%s)", of(metric.StorageUp)), "cluster_id, endpoint")},
		{Title: "Silence of watches", Unit: seconds, Bad: prometheus.SilentSeconds, Text: "Since the apiserver was last heard of the kind. Up to 55 s on a quiet kind is normal.",
			Queries: one(top(kind, of(metric.WatchSilent)), kind)},
		{Title: "Parked objects", Unit: number, Bad: 1, Text: "Objects that storage refuses while it takes others.", Queries: summed("kind", metric.EventsParked)},
		{Title: "Synced kinds", Unit: yesNo, Stat: true, Bad: 1, BadBelow: true, Text: "No is a kind that has not been listed yet.",
			Queries: one(fmt.Sprintf("min by (cluster_id, kind) (%s)", of(metric.Synced)), kind)},
		{Title: "Leading", Unit: number, Text: "1 on the replica that works, 0 on the others. Without leader election there is no series.", Queries: summed("instance", metric.Leading)},
		{Title: "Lost changes", Unit: number, Bad: 1, Text: "Dropped by a full queue or a drain that took too long, and Kubernetes Events beyond their bounds.", Queries: []Query{
			{sum(kind, increase(metric.EventsDropped)), "{{cluster_id}} {{kind}} dropped"},
			{sum(kind+", reason", increase(metric.EventsShed)), "{{cluster_id}} {{kind}} {{reason}}"},
		}},
	}}
}

func events() Row {
	return Row{"Changes: received = sent + coalesced + filtered + parked + queued + dropped", []Panel{
		{Title: "Received", Unit: perSec, Text: "Changes from the apiserver.", Queries: rated("kind", metric.EventsReceived)},
		{Title: "Sent", Unit: perSec, Text: "Changes acknowledged by storage.", Queries: rated("kind", metric.EventsSent)},
		{Title: "Coalesced", Unit: perSec, Text: "Changes that a later one of the same object replaced before they were sent.", Queries: rated("kind", metric.EventsCoalesced)},
		{Title: "Filtered", Unit: perSec, Text: "Changes that are not for storage, by reason.", Queries: rated("kind, reason", metric.EventsFiltered)},
		{Title: "Retried", Unit: perSec, Text: "Requests after the first for the same change.", Queries: rated("kind", metric.EventsRetried)},
		{Title: "Queued", Unit: number, Text: "Changes that are accepted and not settled; below, the same under bcs-k8s-watch's name.", Queries: append(summed("kind", metric.EventsQueued),
			Query{sum("cluster_id, watcher", of(metric.WatcherQueue)), "{{cluster_id}} {{watcher}} (eventQueue)"})},
	}}
}

func queues() Row {
	const queue = "cluster_id, queue"
	return Row{"Queues", []Panel{
		{Title: "Use of capacity", Unit: share, Bad: prometheus.QueueFullRatio, Text: "Depth divided by capacity. One queue that is fuller than the others has a busy object.",
			Queries: one(top(queue, per(of(metric.QueueDepth), of(metric.QueueCapacity))), queue)},
		{Title: "Mean depth", Unit: number, Text: "Integral of the depth, so that what came and went between two scrapes counts.", Queries: rated("queue", metric.QueueDepthTime)},
		{Title: "Mean wait", Unit: seconds, Text: "Time in the queue of the changes that left it.", Queries: one(per(sum(queue, rate(metric.QueueWaitSeconds)), sum(queue, rate(metric.QueueHandled))), queue)},
		{Title: "Handled", Unit: perSec, Text: "Changes that left the queue towards storage.", Queries: rated("queue", metric.QueueHandled)},
		{Title: "Wait for a worker", Unit: seconds, Text: "Percentiles of the time from receipt to a worker. bcs-k8s-watch has this metric and never fills it.", Queries: quantiles(metric.QueueLatency)},
		{Title: "Writer queue full", Unit: share, Bad: 0.01, Text: "Share of the time that all queues together were full.", Queries: one(sum("cluster_id", rate(metric.WriterFull)), "cluster_id")},
		{Title: "Oldest change that waits", Unit: seconds, Bad: prometheus.LagSeconds, Text: "Age of the oldest change that is still to be sent; lag counts those given up, too.",
			Queries: one(top("cluster_id, kind", of(metric.OldestUnsent)), "cluster_id, kind")},
	}}
}

func sides() Row {
	return Row{"Apiserver and storage", []Panel{
		{Title: "Watches started", Unit: number, Text: "One per kind and minute is normal on quiet kinds.", Queries: one(sum("cluster_id, kind", increase(metric.Watches)), "cluster_id, kind")},
		{Title: "Lists and lists anew", Unit: number, Text: "One list per kind and start is normal; each further one costs the apiserver a whole list.", Queries: []Query{
			{sum("cluster_id, kind", increase(metric.Lists)), "{{cluster_id}} {{kind}} lists"}, {sum("cluster_id, kind", increase(metric.Relists)), "{{cluster_id}} {{kind}} anew"}}},
		{Title: "Cached objects", Unit: number, Text: "Objects of the cluster, by kind; memory grows with them.", Queries: summed("watcher", metric.CacheKeys)},
		{Title: "Requests in flight", Unit: number, Text: "Being answered by storage. At bcs.maxInFlight it is the bound.", Queries: summed("instance", metric.InFlight)},
		{Title: "Connections opened", Unit: perSec, Text: "To storage. They should last; bcs-k8s-watch opens one per request.", Queries: rated("instance", metric.StorageConns)},
		{Title: "Network", Unit: byteSec, Text: "Bytes on the sockets, by peer and direction.", Queries: rated("peer, direction", metric.NetBytes)},
	}}
}

func synchronizer() Row {
	return Row{"Comparison with storage", []Panel{
		{Title: "Repairs", Unit: number, Text: "Records that differed from the cluster. Steady growth is another writer.", Queries: one(sum("cluster_id, kind", increase(metric.SyncRepairs)), "cluster_id, kind")},
		{Title: "Comparisons", Unit: number, Text: "By result; one success per period is normal.", Queries: one(sum("cluster_id, result", increase(metric.SyncRuns)), "cluster_id, result")},
		{Title: "Repairs that wait", Unit: number, Text: "Records that seem to differ and are not looked at yet.", Queries: summed("kind", metric.SyncWaiting)},
		{Title: "Since the last comparison", Unit: seconds, Bad: 1800, Text: "Older than a few periods: comparisons fail.",
			Queries: one(fmt.Sprintf("time() - max by (cluster_id) (%s > 0)", of(metric.SyncLast)), "cluster_id")},
	}}
}

func process() Row {
	return Row{"Process", append(resources(),
		Panel{Title: "Reloads", Unit: number, Stat: true, Text: "Of the configuration, by result.", Queries: one(sum("instance, result", inRange(metric.ConfigReloads)), "instance, result")},
		Panel{Title: "Alerts delivered", Unit: number, Stat: true, Text: "Warnings about owned Pods, by result.", Queries: one(sum("cluster_id, target, result", inRange(metric.Alerts)), "cluster_id, target, result")},
		Panel{Title: "Writes refused", Unit: number, Stat: true, Bad: 1, Text: "Kept back because this replica led no more; the next leader sends them.", Queries: one(sum("instance", inRange(metric.WritesRefused)), "instance")},
		Panel{Title: "Kinds of one name", Unit: number, Bad: 1, Text: "Kinds of two API groups that share a name; the second is stored as Kind.group.", Queries: summed("instance", metric.KindCollisions)},
	)}
}

// resources are of any process.
func resources() []Panel {
	const who = "job, instance"
	return []Panel{
		{Title: "Up", Unit: yesNo, Stat: true, Bad: 1, BadBelow: true, Text: "Whether the last scrape succeeded.", Queries: one(top(who, of(metric.TargetUp)), who)},
		{Title: "Processors", Unit: cores, Text: "Processors in use.", Queries: one(sum(who, rate(metric.ProcessCPU)), who)},
		{Title: "Memory", Unit: byteN, Text: "Resident memory, and the part of it that Go's heap uses.", Queries: []Query{
			{top(who, of(metric.ProcessMemory)), legend(who) + " resident"}, {top(who, of(metric.GoHeap)), legend(who) + " heap"}}},
		{Title: "Goroutines", Unit: number, Text: "They follow kinds and requests in flight; steady growth is a leak.", Queries: one(top(who, of(metric.GoGoroutines)), who)},
		{Title: "Age of the process", Unit: seconds, Text: "A fall to 0 is a restart.", Queries: one("time() - "+top(who, of(metric.ProcessStart)), who)},
	}
}
