package robustness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// readQueues reads the queues of notifications again and again for a time. What goes wrong
// at the receivers is the business of readers.webhookFaults.
const readQueues = "read-queues"

const (
	// queueReadingEvery spaces the readings.
	queueReadingEvery = 100 * time.Millisecond
	// defaultQueue is the watcher's own bound, where readers.webhookQueue names none.
	defaultQueue = 4096
	// mostReply is what a receiver can send of an answer of which the watcher reads 64 KiB:
	// the kernels of both sides keep some of the rest.
	mostReply = 512 << 10
	// receiverLate is from when on a receiver without faults is told too late, by the 99th
	// percentile.
	receiverLate = time.Second
)

func notifications() faults.Family {
	return faults.Family{Rules: receiverRules, Failpoints: []faults.Failpoint{
		{Name: readQueues, Takes: []string{"for"}, Inject: lookAtQueues},
	}}
}

// queueReadings are the most that waited, by subscription.
type queueReadings struct {
	Readings int              `json:"readings"`
	Most     map[string]int64 `json:"most,omitempty"`
}

func lookAtQueues(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	seen := queueReadings{Most: map[string]int64{}}
	for end := time.Now().Add(e.For.Std()); time.Now().Before(end); {
		s, err := c.Watcher().Scrape(ctx)
		if err != nil {
			return faults.Done{}, c.Watcher().Lost(ctx, err)
		}
		queued := s.By(metric.NotifyQueued, "subscription")
		for name, n := range queued {
			seen.Most[name] = max(seen.Most[name], int64(n))
		}
		if len(queued) > 0 {
			seen.Readings++
		}
		if err := lifecycle.Pause(ctx, queueReadingEvery); err != nil {
			return faults.Done{}, err
		}
	}
	return faults.Done{Seen: seen}, nil
}

// receiverName is the subscription of a receiver, from 1.
func receiverName(n int) string { return fmt.Sprintf("receiver-%d", n) }

// receiverRules: what waits for a receiver is bounded and gives way for it alone, answers are read to
// a bound, and nobody waits for others. That each receiver without faults is told of
// everything, in order, is R3 of the readers, which is repeated here.
func receiverRules(c *matrix.Case) ([]matrix.Rule, error) {
	r := &c.Cell.Scenario.Readers
	all, err := history.Deeds[queueReadings](c.Deeds, readQueues)
	if err != nil || r.Webhooks == 0 {
		return nil, err
	}
	n := notified{spec: r, specs: r.FaultSpecs(), after: c.After, most: map[string]int64{}}
	for _, x := range all {
		n.readings += x.Readings
		for name, queued := range x.Most {
			n.most[name] = max(n.most[name], queued)
		}
	}
	return []matrix.Rule{{Facts: n.facts, Vacuous: n.vacuous}}, nil
}

// notified is what is known of the receivers of a cell.
type notified struct {
	spec     *spec.Readers
	specs    []readers.Fault
	after    history.Scrape
	readings int
	most     map[string]int64
}

// limit is how much may wait for one receiver.
func (n *notified) limit() int64 {
	if n.spec.WebhookQueue > 0 {
		return int64(n.spec.WebhookQueue)
	}
	return defaultQueue
}

func (n *notified) facts(seen matrix.Seen) []result.Fact {
	var w *result.Webhooks
	var r3 result.Check
	if seen.Figures != nil && seen.Figures.Readers != nil {
		w, r3 = seen.Figures.Readers.Webhooks, seen.Figures.Checks["R3"]
	}
	facts := append([]result.Fact{n.queued(), n.dropped()}, told(w, r3)...)
	if slices.ContainsFunc(n.specs, func(s readers.Fault) bool { return s.Effect == readers.Huge }) {
		facts = append(facts, n.reply(w))
	}
	const late = "delivery p99 to receivers without faults"
	if w == nil || w.LagMs == nil {
		return append(facts, matrix.Missing("I", late, "s", "the record of the receivers does not tell"))
	}
	return append(facts, matrix.Within("I", late, "s", w.LagMs.P99/1e3, receiverLate.Seconds()))
}

func (n *notified) queued() result.Fact {
	const name = "events queued for one receiver"
	if n.readings == 0 {
		return matrix.Missing("B", name, "events", "nobody read the queues: the scenario needs the event "+readQueues)
	}
	longest := int64(0)
	for i := range n.spec.Webhooks {
		queued, known := n.most[receiverName(i+1)]
		if !known {
			return matrix.Missing("B", name, "events", "the watcher's metrics do not tell of "+receiverName(i+1))
		}
		longest = max(longest, queued)
	}
	return matrix.Within("B", name, "events", float64(longest), float64(n.limit()))
}

// dropped: what a full queue costs, only its own receiver pays.
func (n *notified) dropped() result.Fact {
	const name = "events dropped for receivers without faults"
	lost := n.after.By(metric.NotifyDropped, "subscription")
	total, first := int64(0), ""
	for i := range n.spec.Webhooks {
		who := receiverName(i + 1)
		dropped, known := lost[who]
		switch {
		case !known:
			return matrix.Missing("L", name, "", "the watcher's metrics do not tell of "+who)
		case dropped > 0 && readers.Healthy(n.specs, i+1):
			total, first = total+int64(dropped), who
		}
	}
	return matrix.None("L", name, total, first)
}

// told: each receiver without faults is told of everything, and nobody of anything in another
// order.
func told(w *result.Webhooks, r3 result.Check) []result.Fact {
	const missed, wrong = "changes that receivers without faults were not told of", "deliveries that were wrong or out of order"
	if w == nil || r3.Verdict != result.Pass && r3.Verdict != result.Fail {
		return []result.Fact{matrix.Missing("L", missed, "", "R3 was not judged"), matrix.Missing("O", wrong, "", "R3 was not judged")}
	}
	return []result.Fact{matrix.None("L", missed, w.Missed, r3.Counterexample), matrix.None("O", wrong, r3.Violations-w.Missed, r3.Counterexample)}
}

func (n *notified) reply(w *result.Webhooks) result.Fact {
	const name = "most of an answer that a receiver could send"
	if w == nil || w.AnswerBytes == 0 {
		return matrix.Missing("B", name, "KiB", "no receiver could send any")
	}
	return matrix.Within("B", name, "KiB", float64(w.AnswerBytes)/1024, mostReply/1024)
}

// vacuous: a bound that nothing reached proves nothing.
func (n *notified) vacuous(matrix.Seen) []string {
	for i := range n.spec.Webhooks {
		if !readers.Healthy(n.specs, i+1) && n.most[receiverName(i+1)] >= n.limit()/2 {
			return nil
		}
	}
	return []string{fmt.Sprintf("no receiver was slow enough to have half of %d events wait for it", n.limit())}
}
