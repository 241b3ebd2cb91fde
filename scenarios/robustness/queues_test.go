package robustness

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// resize gives the running watcher other queues, and waits until it has them.
const resize = "resize"

func queues() faults.Family {
	return faults.Family{Failpoints: []faults.Failpoint{
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
