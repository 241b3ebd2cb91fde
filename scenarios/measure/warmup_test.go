package measure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
)

// watcherMetrics are those of a watcher that has handled so many events.
func watcherMetrics(events float64) string {
	var b strings.Builder
	counter := func(name, labels string, v float64) {
		fmt.Fprintf(&b, "# TYPE %s counter\n%s%s %v\n", name, name, labels, v)
	}
	for _, name := range []string{metric.EventsReceived, metric.EventsSent} {
		counter(name, `{kind="Pod"}`, events)
	}
	for _, name := range []string{metric.EventsCoalesced, metric.EventsRetried, metric.EventsFiltered, metric.EventsDropped} {
		counter(name, `{kind="Pod"}`, events/10)
	}
	counter(metric.WriterFull, "", events/100)
	for _, name := range []string{metric.QueueHandled, metric.QueueDepthTime, metric.QueueWaitSeconds} {
		counter(name, `{queue="Pod_0"}`, events)
	}
	return b.String()
}

// TestWarmupIsInNoFigure: a cell that was warmed up before its counters were read has the same figures as one that was
// not.
func TestWarmupIsInNoFigure(t *testing.T) {
	const warm = 40
	figures := func(warmed bool) result.Cell {
		e := backlog(0)
		start := 0.0
		if warmed {
			start = warm
			for i := range warm {
				name, ms := fmt.Sprint("warm-", i), -9000+100*float64(i)
				o := op(oplog.TypeCreate, name, "w", uint64(1000+i), ms, ms, ms+5)
				o.Phase = oplog.PhaseWarmup
				e.ops = append([]oplog.Record{o}, e.ops...)
				e.entries = append(e.entries, put(name, "w", uint64(1000+i), ms+5, ms+95))
			}
		}
		return e.scraped(t, watcherMetrics(start), watcherMetrics(start+100))
	}
	cold, warmed := figures(false), figures(true)
	if cold.Events == nil || cold.Events.Received != 100 || cold.Watcher.CPUMicrosPerEvent == nil || cold.Storage.Requests != 100 || cold.Writer.FullSeconds == nil {
		t.Fatalf("the cell lacks the figures that are compared: %+v", cold)
	}
	if d := cmp.Diff(cold, warmed); d != "" {
		t.Errorf("the warm-up counts (-without +with):\n%s", d)
	}
}
