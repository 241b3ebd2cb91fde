package robustness

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// resize gives the running watcher other queues, and waits until it has them.
const resize = "resize"

func queues() faults.Family {
	return faults.Family{Failpoints: []faults.Failpoint{
		{Name: resize, Takes: []string{"podQueueNum", "handlerQueueLen", "writerQueueLen"}, Inject: changeQueues},
		{Name: "reload", Inject: func(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
			_, err := reconfigure(ctx, c.Watcher(), func(*spec.Watcher) {}) // must disturb nothing
			return faults.Done{}, err
		}},
	}}
}

func changeQueues(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	w := c.Watcher()
	asked, err := reconfigure(ctx, w, func(to *spec.Watcher) {
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

// reloadLimit bounds the wait for a watcher to have read its configuration again.
const reloadLimit = 5 * time.Second

// reconfigure has the watcher read a changed configuration, and returns when it reports that, and when it was asked.
func reconfigure(ctx context.Context, w *party.Watcher, change func(*spec.Watcher)) (asked time.Time, err error) {
	if err := w.Configure(change); err != nil {
		return asked, err
	}
	before, err := w.Scrape(ctx)
	if err != nil {
		return asked, w.Lost(ctx, err)
	}
	asked = time.Now()
	w.Signal(syscall.SIGHUP)
	var after history.Scrape
	grown := func(result string) bool {
		a, b := after.Sum(metric.ConfigReloads, "result", result), before.Sum(metric.ConfigReloads, "result", result)
		return a != nil && (b == nil || *a > *b)
	}
	err = w.Await(ctx, "the watcher's reload of its configuration", 10*time.Millisecond, reloadLimit,
		func(ctx context.Context) bool {
			s, err := w.Scrape(ctx)
			after = s
			return err == nil && (grown(metric.ReloadOK) || grown(metric.ReloadFailed))
		})
	if err == nil && grown(metric.ReloadFailed) {
		err = fmt.Errorf("the watcher refused its new configuration (log: %s)", w.Log)
	}
	return asked, err
}
