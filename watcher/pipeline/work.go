package pipeline

// keepIdle is how many workers of a queue wait when there is nothing to take. Further
// ones end and are started again: that costs less than a microsecond, and thirty workers
// of each kind that had a burst once would hold some megabytes.
const keepIdle = 2

// work is one worker of one queue: take, send, settle, until the pipeline stops or there
// is nothing to take and enough others wait for that to change. Nobody waits for a
// retired kind.
func (l *lane) work(q *partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.stopped || q.started > q.workers { // the end, or one too many since a Resize
			q.started--
			return
		}
		s, probe := l.take(q, l.p.now())
		if s == nil && (l.retired || q.idle >= keepIdle) {
			q.started--
			return
		}
		if s == nil {
			q.idle++
			q.wake.Wait()
			q.idle--
			continue
		}
		l.mu.Unlock()
		err := l.p.sender.Send(l.p.sending, s.ev)
		now := l.p.now()
		l.mu.Lock()
		if r := l.finish(s, probe, err, now); r != nil {
			l.mu.Unlock()
			l.p.act(r)
			l.mu.Lock()
		}
	}
}

func (l *lane) tick(now int64) {
	l.clock.at = 0
	for len(l.blocked) > 0 && l.blocked[0].at <= now {
		ent := l.blocked.pop()
		ent.state = resting
		l.resume(ent, now)
	}
	if len(l.blocked) > 0 {
		l.clock.alarm(l.blocked[0].at)
	}
	if l.p.config.QueueFull == Drop {
		for _, q := range l.parts {
			l.discardOverdue(q, now)
			if q.over.head != nil {
				l.clock.alarm(after(q.over.head.entered, l.p.config.QueueFullTimeout))
			}
		}
	}
	if l.gate.shut && !l.gate.probing {
		l.offerProbe(now)
	}
}

// offerProbe lets one worker look, of a different queue each time, so that a key that
// always fails cannot be the probe forever.
func (l *lane) offerProbe(now int64) {
	for range l.parts {
		l.turn = (l.turn + 1) % len(l.parts)
		q := l.parts[l.turn]
		if !q.hasReady() || q.idle == 0 && q.started >= q.workers {
			continue // nothing to send, or no free worker: one that finishes looks by itself
		}
		if l.gate.until > now {
			l.clock.alarm(l.gate.until)
		} else {
			l.wakeWorker(q)
		}
		return
	}
}
