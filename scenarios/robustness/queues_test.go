package robustness

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// resize gives the running watcher other queues, and waits until it has them.
const resize = "resize"

const (
	// pauseWindow is how long after a change of queues a pause is looked for.
	pauseWindow = time.Second
	// faultAftermath is how long after a fault a watcher may still wait: its longest
	// backoff, and the fence.
	faultAftermath = 5 * time.Second
)

func queues() faults.Family {
	return faults.Family{Rules: queueRules, Failpoints: []faults.Failpoint{
		{Name: resize, Takes: []string{"podQueueNum", "handlerQueueLen", "writerQueueLen"}, Inject: changeQueues},
		{Name: "reload", Inject: func(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
			_, err := c.Watcher().Reconfigure(ctx, func(*spec.Watcher) {}) // must disturb nothing
			return faults.Done{}, err
		}},
	}}
}

func changeQueues(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	w := c.Watcher()
	asked, err := w.Reconfigure(ctx, func(to *spec.Watcher) {
		if e.PodQueueNum > 0 {
			to.PodQueueNum = e.PodQueueNum
		}
		if e.HandlerQueueLen > 0 {
			to.HandlerQueueLen = e.HandlerQueueLen
		}
		if e.WriterQueueLen > 0 {
			to.WriterQueueLen = e.WriterQueueLen
		}
	})
	if err != nil {
		return faults.Done{}, err
	}
	to := w.Spec()
	c.Mark(history.Mark{Time: asked.UnixNano(), What: history.MarkResized, Note: fmt.Sprintf(
		"podQueueNum %d, handlerQueueLen %d, writerQueueLen %d, after %s",
		to.PodQueueNum, to.HandlerQueueLen, to.WriterQueueLen, time.Since(asked).Round(time.Millisecond))})
	return faults.Done{}, nil
}

// queueRules: how long nothing was sent around a change of queues although changes waited,
// against twice what a request takes. From a fault of storage to the end of the backoff
// after it there is nothing to tell from it.
func queueRules(c *matrix.Case) ([]matrix.Rule, error) {
	var times []int64
	resized := false
	for _, m := range c.Marks {
		resized = resized || m.What == history.MarkResized
		if m.What == history.MarkResized && !storageFaulty(c, m.Time, m.Time+int64(pauseWindow)) {
			times = append(times, m.Time)
		}
	}
	if !resized {
		return nil, nil
	}
	const name = "longest pause around a change of queues"
	p := matrix.NewPauses(podKind)
	return []matrix.Rule{{First: true, Operation: p.Operation, Request: p.Request, Facts: func(seen matrix.Seen) []result.Fact {
		longest, limit, slowest, n := int64(0), int64(0), int64(0), 0
		for _, at := range times {
			to := at + int64(pauseWindow)
			latency, most := p.InFlight(at-int64(pauseWindow), to)
			if latency == 0 {
				continue
			}
			n++
			if pause := p.Longest(seen.Changes, at, to); n == 1 || pause > longest {
				longest, limit, slowest = pause, 2*latency, most
			}
		}
		if n == 0 {
			return []result.Fact{matrix.Missing("T", name, "s", "no request was acknowledged around one, or storage was down")}
		}
		f := matrix.Within("T", name, "s", float64(longest)/1e9, float64(limit)/1e9)
		// A machine that stands still shows in the slowest request too.
		f.Detail = fmt.Sprintf("%d changes, a request takes %s, the slowest %s", n,
			time.Duration(limit/2).Round(time.Millisecond), time.Duration(slowest).Round(time.Millisecond))
		return []result.Fact{f}
	}}}, nil
}

// storageFaulty reports whether a fault of storage, or what it left behind, was in force
// at some time between two.
func storageFaulty(c *matrix.Case, from, to int64) bool {
	for _, s := range c.Cell.Scenario.Storage.FaultSpecs() {
		begin := c.Cell.FaultsSet + int64(s.From)
		if s.For == 0 || begin < to && from < begin+int64(s.For+faultAftermath) {
			return true
		}
	}
	return false
}
