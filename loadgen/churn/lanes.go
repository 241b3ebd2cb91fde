package churn

import (
	"context"
	"sync"
)

// lanes runs functions: those of one lane one after the other, in their order, different lanes beside each other. What
// waits is bounded by the plan: the operations that are due and unanswered.
type lanes struct {
	slots chan struct{} // requests under way, at most

	mu      sync.Mutex // guards waiting
	waiting map[int64][]func()
	running sync.WaitGroup
}

func newLanes(inFlight int) *lanes {
	return &lanes{slots: make(chan struct{}, inFlight), waiting: map[int64][]func(){}}
}

func (l *lanes) submit(lane int64, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.waiting[lane]
	if busy {
		l.waiting[lane] = append(queue, f)
		return
	}
	l.waiting[lane] = nil
	l.running.Go(func() { l.run(lane, f) })
}

func (l *lanes) run(lane int64, f func()) {
	for f != nil {
		f()
		l.mu.Lock()
		queue := l.waiting[lane]
		if len(queue) == 0 {
			delete(l.waiting, lane)
			f = nil
		} else {
			f, l.waiting[lane] = queue[0], queue[1:]
		}
		l.mu.Unlock()
	}
}

func (l *lanes) acquire(ctx context.Context) bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *lanes) release() { <-l.slots }

func (l *lanes) wait() { l.running.Wait() }
