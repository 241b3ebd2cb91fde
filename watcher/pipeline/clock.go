package pipeline

import (
	"log/slog"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// timekeeper is a lane's only clock: it releases keys whose backoff or fence has
// ended, discards what waited too long, and offers the probes of a shut gate. Its goroutine
// starts when the first of these is needed, and ends when none is. The lane's mutex guards it.
type timekeeper struct {
	lane    *lane
	at      int64         // when it looks next; 0: when poked
	running bool          // the goroutine is
	poke    chan struct{} // size 1: one token says "at changed"
}

func (c *timekeeper) alarm(at int64) {
	if c.at != 0 && c.at <= at {
		return
	}
	c.at = at
	switch l := c.lane; {
	case c.running:
		lifecycle.Signal(c.poke)
	case l.running && !l.stopped:
		c.start()
	}
}

func (c *timekeeper) begin() {
	if c.at != 0 {
		c.start()
	}
}

func (c *timekeeper) start() {
	c.running = true
	c.lane.p.workers.Go(c.run)
}

func (c *timekeeper) run() {
	l := c.lane
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		if l.stopped {
			l.mu.Unlock()
			return
		}
		now := l.p.now()
		if c.at != 0 && c.at <= now {
			l.tick(now)
		}
		r := l.report(now)
		next := l.sheds.next(l.discards.next(c.at, l.discarded), l.shed)
		if next == 0 && r == nil {
			c.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()

		if r != nil {
			l.p.act(r)
		}
		timer.Reset(time.Duration(next - now))
		select {
		case <-timer.C:
		case <-c.poke:
		}
	}
}

const noticeEvery = 10 * time.Second

// notice is a log line about a counter, written from time to time while that rises.
type notice struct {
	logged uint64 // of the counter
	after  int64  // no line before
}

// take returns by how much the counter rose since the last line, 0 if none is due.
func (n *notice) take(count uint64, now int64) uint64 {
	if count == n.logged || now < n.after {
		return 0
	}
	rose := count - n.logged
	n.logged, n.after = count, after(now, noticeEvery)
	return rose
}

// next is the time of the next line or the given one, whichever is earlier; 0 is never.
func (n *notice) next(at int64, count uint64) int64 {
	if count > n.logged && (at == 0 || n.after < at) {
		return n.after
	}
	return at
}

func (l *lane) report(now int64) *report {
	if n := l.discards.take(l.discarded, now); n > 0 {
		return newReport(slog.LevelWarn, "events dropped", "reason", "queue full", "kind", l.kind, "events", n,
			"queueFullTimeout", l.p.config.QueueFullTimeout)
	}
	if n := l.sheds.take(l.shed, now); n > 0 {
		return newReport(slog.LevelWarn, "events shed: more wait than are kept", "kind", l.kind, "events", n)
	}
	return nil
}
