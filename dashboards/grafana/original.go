package grafana

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/metric"
)

// Matchers of the original's series.
var (
	writerOnly = fmt.Sprintf("handler=%q", metric.WriterQueueHandler)
	notWriter  = fmt.Sprintf("handler!=%q", metric.WriterQueueHandler)
)

const (
	succeeded = `status="success"`
	failed    = `status!="success"`
)

// originalQueues are panels 1 to 3 of bcs-k8s-watch's dashboard.
func originalQueues() Row {
	return Row{"Queues, as bcs-k8s-watch names them", []Panel{
		{Origin: 1, Title: "Queue length by handler", Unit: number, Text: "Changes that wait, by queue. If one grows alone, its objects or its kind are slow.",
			Queries: one(sum("cluster_id, handler", of(metric.HandlerQueue, notWriter)), "cluster_id, handler")},
		{Origin: 2, Title: "Writer queue length", Unit: number, Text: "Changes that wait for room in a handler queue. The original also asks for writer_alarm_queue, which is gone since 2021.",
			Queries: one(sum("cluster_id, handler", of(metric.HandlerQueue, writerOnly)), "cluster_id, handler")},
		{Origin: 3, Title: "Dropped events", Unit: number, Bad: 1, Text: "Changes that a full queue dropped. Mended: the original shows the counter since the start, which falls at a restart, and has no series before the first drop.",
			Queries: one(sum("cluster_id, handler", increase(metric.HandlerDiscards)), "cluster_id, handler")},
	}}
}

// originalStorage are panels 4 to 19. Totals since the start of the process became those of
// the time shown, and means and ratios since the start became those of the moment: after a
// day of running, the original's do not move any more.
func originalStorage() Row {
	r := Row{Title: "Calls of storage, as bcs-k8s-watch names them"}
	const both = "handler, method"
	m, text := metric.StorageRequests, "Mended: the original counts since the start of the process."
	add := func(origin int, title, unit, text string, q ...Query) {
		r.Panels = append(r.Panels, Panel{Origin: origin, Title: title, Unit: unit, Text: text, Queries: q, Stat: unit == number})
	}
	by := func(labels, expr string) Query { return Query{expr, legend(labels)} }
	ratio := func(labels string) string { return per(sum(labels, rate(m, succeeded)), sum(labels, rate(m))) }

	add(4, "Calls in the time shown", number, "All calls of storage. "+text, by("cluster_id", sum("cluster_id", inRange(m))))
	add(5, "Calls per second", perSec, "All calls of storage.", by("cluster_id", sum("cluster_id", rate(m))))
	add(6, "Latency", seconds, "Mean, p90 and p99 of a call, retries within it included. Mended: the original's mean is that since the start of the process.",
		append([]Query{{mean("cluster_id", metric.StorageLatency), "{{cluster_id}} mean"}}, quantiles(metric.StorageLatency)[1:]...)...)
	add(7, "Share of successful calls", share, "1 is good. Mended: the original's is that since the start of the process.", by("cluster_id", ratio("cluster_id")))
	add(8, "Calls by handler", number, "Calls in the time shown, by endpoint of storage. "+text, by("handler", sum("handler", inRange(m))))
	add(9, "Calls by handler and method", number, "Calls in the time shown. "+text, by(both, sum(both, inRange(m))))
	add(10, "Mean latency by handler", seconds, "Mended: the original's is that since the start of the process.", by("handler", mean("handler", metric.StorageLatency)))
	add(11, "Latency by handler and method", seconds, "Mean and p99; the bk-monitor variant of the original has p90 and p99.",
		Query{mean(both, metric.StorageLatency), legend(both) + " mean"}, Query{quantile(0.99, both, metric.StorageLatency), legend(both) + " p99"})
	add(12, "Calls per second by handler", perSec, "By endpoint of storage.", by("handler", sum("handler", rate(m))))
	add(13, "Calls per second by handler and method", perSec, "By endpoint of storage.", by(both, sum(both, rate(m))))
	add(14, "Share of successful calls by handler", share, "1 is good. Mended as the one over all.", by("handler", ratio("handler")))
	add(15, "Share of successful calls by handler and method", share, "1 is good. Mended as the one over all.", by(both, ratio(both)))
	add(16, "Calls by method and status", number, "Calls in the time shown. Mended: the original asks for the status \"susuccess\", so that the first of its series is always empty and the second shows all calls.",
		Query{sum("method", inRange(m, succeeded)), "{{method}} success"}, Query{sum("method", inRange(m, failed)), "{{method}} failure"})
	add(17, "Calls at this moment", perSec, "From the last two scrapes, by handler.", by("handler", sum("handler", fmt.Sprintf("irate(%s[%s])", of(m), span))))
	add(18, "Calls by handler and status", number, "Calls in the time shown. "+text,
		Query{sum("handler", inRange(m, failed)), "{{handler}} failure"}, Query{sum("handler", inRange(m, succeeded)), "{{handler}} success"})
	add(19, "Calls at this moment by method and status", perSec, "From the last two scrapes. Mended: the original asks for the status \"susuccess\".",
		Query{sum("method", fmt.Sprintf("irate(%s[%s])", of(m, succeeded), span)), "{{method}} success"},
		Query{sum("method", fmt.Sprintf("irate(%s[%s])", of(m, failed), span)), "{{method}} failure"})
	for i := range r.Panels {
		if r.Panels[i].Unit == share {
			r.Panels[i].Bad, r.Panels[i].BadBelow = 0.99, true
		}
	}
	return r
}
