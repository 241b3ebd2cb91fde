package runner

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const (
	// reloadLimit bounds the wait for a watcher to have read its configuration again.
	reloadLimit = 5 * time.Second
	// pauseWindow is how long after a change of queues a pause is looked for.
	pauseWindow = time.Second
	// faultAftermath is how long after a fault a watcher may still wait: its longest
	// backoff, and the fence.
	faultAftermath = 5 * time.Second
)

// resize gives the watcher that runs other queues and waits until it says that it has
// them.
func (c *cellRun) resize(ctx context.Context, e spec.Event) error {
	w := c.watcher
	to := &w.setup.spec
	if e.PodQueueNum > 0 {
		to.PodQueueNum = e.PodQueueNum
	}
	if e.HandlerQueueLen > 0 {
		to.HandlerQueueLen = e.HandlerQueueLen
	}
	if e.WriterQueueLen > 0 {
		to.WriterQueueLen = e.WriterQueueLen
	}
	if _, err := w.setup.renderConfig(w.ports[0], w.ports[1]); err != nil {
		return err
	}
	before, err := w.scrape(ctx)
	if err != nil {
		return lost(ctx, w.process, err)
	}
	began := time.Now()
	w.signal(syscall.SIGHUP)
	var after history.Scrape
	grown := func(result string) bool {
		return value(after.Sum(metric.ConfigReloads, "result", result)) > value(before.Sum(metric.ConfigReloads, "result", result))
	}
	err = w.await(ctx, "the watcher's word that it has read its configuration again", 10*time.Millisecond, reloadLimit, func(ctx context.Context) bool {
		s, err := w.scrape(ctx)
		after = s
		return err == nil && (grown(metric.ReloadOK) || grown(metric.ReloadFailed))
	})
	if err != nil {
		return err
	}
	if grown(metric.ReloadFailed) {
		return fmt.Errorf("the watcher refused its new configuration (log: %s)", w.log)
	}
	c.resizes = append(c.resizes, began.UnixNano())
	c.marks = append(c.marks, history.Mark{Time: began.UnixNano(), What: history.MarkResized, Note: fmt.Sprintf(
		"podQueueNum %d, handlerQueueLen %d, writerQueueLen %d, after %s",
		to.PodQueueNum, to.HandlerQueueLen, to.WriterQueueLen, time.Since(began).Round(time.Millisecond))})
	return nil
}

// pauseFacts: how long nothing was sent around a change of queues although changes
// waited, against twice what a request takes. From a fault of storage to the end of the
// backoff after it there is nothing to tell from it.
func (c *cellRun) pauseFacts(within bounded, add func(result.Fact)) {
	longest, limit, slowest, n := int64(0), int64(0), int64(0), 0
	for _, at := range c.resizes {
		to := at + int64(pauseWindow)
		latency, most := measure.InFlight(c.evidence.entries, podKind, at-int64(pauseWindow), to)
		if latency == 0 || c.storageFaulty(at, to) {
			continue
		}
		n++
		if p := measure.Pause(c.evidence.ops, c.evidence.entries, c.evidence.changes, podKind, at, to); n == 1 || p > longest {
			longest, limit, slowest = p, 2*latency, most
		}
	}
	if n == 0 {
		return
	}
	f := within("T", "longest pause around a change of queues", "s", float64(longest)/1e9, float64(limit)/1e9)
	// A machine that stands still shows in the slowest request too.
	f.Detail = fmt.Sprintf("%d changes, a request takes %s, the slowest %s", n,
		time.Duration(limit/2).Round(time.Millisecond), time.Duration(slowest).Round(time.Millisecond))
	add(f)
}

// storageFaulty reports whether a fault of storage, or what it left behind, was in force at
// some time between two.
func (c *cellRun) storageFaulty(from, to int64) bool {
	for _, s := range c.s.Storage.FaultSpecs() {
		begin := c.faultsSet + int64(s.From)
		if s.For == 0 || begin < to && from < begin+int64(s.For+faultAftermath) {
			return true
		}
	}
	return false
}
