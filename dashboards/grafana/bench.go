package grafana

import (
	"github.com/watchbench/watchbench/dashboards/prometheus"
	"github.com/watchbench/watchbench/internal/metric"
)

// benchRows follow a run from the apiserver to the mock.
func benchRows() []Row {
	const cluster = "cluster_id"
	rate1 := func(m, name string, matchers ...string) Query {
		return Query{sum(cluster, rate(m, matchers...)), "{{cluster_id}} " + name}
	}
	return []Row{
		{"Throughput", []Panel{
			{Title: "Changes per second", Unit: perSec, Text: "What came, what storage acknowledged, and what a later change replaced.", Queries: []Query{
				rate1(metric.EventsReceived, "received"), rate1(metric.EventsSent, "sent"), rate1(metric.EventsCoalesced, "coalesced")}},
			{Title: "Lost", Unit: number, Stat: true, Bad: 1, Text: "Changes dropped in the time shown. A run that claims none must show 0.", Queries: one(sum(cluster, inRange(metric.EventsDropped)), cluster)},
			{Title: "Requests at the mock", Unit: perSec, Text: "By what became of them.", Queries: rated("effect", metric.MockRequests)},
		}},
		{"Delay", []Panel{
			{Title: "Freshness", Unit: seconds, Text: "From the receipt of a change to its acknowledgement.", Queries: quantiles(metric.Freshness)},
			{Title: "Oldest change that waits", Unit: seconds, Text: "It grows as long as the watcher falls behind.", Queries: one(top(cluster, of(metric.OldestUnsent)), cluster)},
			{Title: "Latency of storage", Unit: seconds, Text: "As the watcher sees it, and as the mock does; the difference is network, connections and waiting for a processor.", Queries: []Query{
				{mean(cluster, metric.StorageLatency), "{{cluster_id}} watcher"}, {mean(cluster, metric.MockLatency), "{{cluster_id}} mock"}}},
		}},
		{"Bottleneck", []Panel{
			{Title: "Fullest queue", Unit: share, Bad: prometheus.QueueFullRatio, Text: "Depth divided by capacity of the fullest queue.", Queries: one(top(cluster, per(of(metric.QueueDepth), of(metric.QueueCapacity))), cluster)},
			{Title: "Requests in flight", Unit: number, Text: "Where the watcher's is at its bound, it is the bottleneck; where requests wait at the mock, its capacity is.", Queries: []Query{
				{sum(cluster, of(metric.InFlight)), "{{cluster_id}} watcher"}, {sum(cluster, of(metric.MockInFlight)), "{{cluster_id}} mock"}, {sum(cluster, of(metric.MockQueued)), "{{cluster_id}} waiting at the mock"}}},
			{Title: "CPU per change sent", Unit: seconds, Text: "CPU time of the watcher divided by the changes that storage acknowledged.",
				Queries: one(per(sum(cluster, rate(metric.ProcessCPU, `job="`+prometheus.WatcherJob+`"`)), sum(cluster, rate(metric.EventsSent))), cluster)},
			{Title: "Faults fired", Unit: number, Text: "Requests that a fault hit.", Queries: one(sum("cluster_id, fault", increase(metric.MockFaults)), "cluster_id, fault")},
		}},
		{"Processes", resources()},
	}
}

func storageRows() []Row {
	return []Row{
		{"Requests", []Panel{
			{Title: "Requests by method and kind", Unit: perSec, Text: "Answered or dropped.", Queries: rated("method, kind", metric.MockRequests)},
			{Title: "Requests by effect", Unit: perSec, Text: "What became of them.", Queries: rated("effect", metric.MockRequests)},
			{Title: "Latency", Unit: seconds, Text: "From the last byte of a request to its answer.", Queries: quantiles(metric.MockLatency)},
			{Title: "In service", Unit: number, Text: "At the capacity's inflight it is the bound.", Queries: summed("instance", metric.MockInFlight)},
			{Title: "Waiting", Unit: number, Bad: 1, Text: "Requests that wait because the capacity is reached.", Queries: summed("instance", metric.MockQueued)},
			{Title: "Faults fired", Unit: number, Text: "Requests that a fault hit, by its name.", Queries: one(sum("cluster_id, fault", increase(metric.MockFaults)), "cluster_id, fault")},
			{Title: "Live records", Unit: number, Text: "Objects in storage.", Queries: summed("instance", metric.MockObjects)},
		}},
		{"Process", resources()},
	}
}
