package pipeline

import (
	"context"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// Spare blocks until a kind has little more to send than its requests in flight, so that a
// caller that hands over a backlog one by one keeps storage busy and a change that the watch
// delivers meanwhile waits for next to nothing of it. Where the watch alone delivers more than
// storage takes, it returns at most once for each backlogTurn events sent; under Drop, which
// would discard what is handed over then, it waits. The error is ctx's, or ErrClosed.
func (p *Pipeline) Spare(ctx context.Context, kind string) error {
	l := p.lane(kind)
	for {
		l.mu.Lock()
		l.fed = true
		spare := l.spare()
		if spare {
			l.handed = l.sent
			if l.lent++; l.over() < 0 {
				l.lent = 0
			}
		}
		l.mu.Unlock()
		if spare {
			lifecycle.Signal(l.room) // one token may mean much room, and the caller may not use it
			return nil
		}
		select {
		case <-l.room:
		case <-p.closing.Done():
			return ErrClosed
		case <-ctx.Done():
			lifecycle.Signal(l.room) // it may have been meant for another
			return context.Cause(ctx)
		}
	}
}

// spreading is how many events for each of several queues keep nearly all of them busy,
// since keys do not spread evenly.
const spreading = 3

// backlogTurn is how many events an overloaded kind sends between two turns of a backlog.
const backlogTurn = 4

// spare reports room for one more event of a backlog, or that it is its turn. It gets turns only
// while the kind would be too crowded even without those it has had: below saturation, none.
func (l *lane) spare() bool {
	over := l.over()
	return over < 0 || over >= l.lent && l.sent-l.handed >= backlogTurn && l.p.config.QueueFull != Drop
}

// over is by how many events a kind is too crowded for one of a backlog, negative where there is room.
// What a backoff or a fence holds back takes none.
func (l *lane) over() int {
	limit := len(l.parts) * l.shape.workers
	switch {
	case l.share != nil:
		limit = l.share.limit
	case len(l.parts) > 1:
		limit *= spreading
	}
	return l.queued - len(l.blocked) - limit - limit/8
}

// Trace notes from now on, until end is called, which objects of a kind something is on
// its way for. What storage answers meanwhile about another object is how storage was
// left, and nothing is to come.
func (p *Pipeline) Trace(kind string) (touched func(object.Key) bool, end func()) {
	l := p.lane(kind)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traces++
	if l.settled == nil {
		l.settled = map[name]struct{}{}
	}
	touched = func(k object.Key) bool {
		l.mu.Lock()
		_, settled := l.settled[name{k.Namespace, k.Name}]
		l.mu.Unlock()
		return settled || p.Pending(k)
	}
	return touched, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.traces--; l.traces == 0 {
			l.settled = nil
		}
	}
}
