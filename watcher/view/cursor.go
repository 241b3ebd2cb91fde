package view

import (
	"context"
	"math"
	"slices"
)

// Cursor follows the changes of a View. It has no goroutine and needs no closing; it is for one reader.
type Cursor struct {
	v       *View
	seq     uint64 // of the last change that was delivered
	version uint64 // of the changes up to past, those up to it are passed over
	past    uint64 // Seq
	all     bool
}

// Follow returns a cursor behind a version, from which it yields every later change.
// ErrExpired says that the version is older than the window, or of a history that an older
// list has ended. One from the future yields what is newer than it.
func (v *View) Follow(version uint64) (*Cursor, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case !v.IsSynced():
		return nil, ErrNotSynced
	case version < v.ring.floor, v.version < version && version <= v.taken:
		return nil, ErrExpired
	}
	past := v.ring.last
	if version > v.version {
		past = math.MaxUint64
	}
	return &Cursor{v: v, seq: max(v.ring.start, v.ring.oldest()-1), version: version, past: past}, nil
}

// FollowFrom returns a cursor behind a snapshot of the view.
func (v *View) FollowFrom(s *Snapshot) *Cursor {
	return &Cursor{v: v, seq: s.seq}
}

// FollowAll is FollowFrom for a reader that keeps up with objects, not with versions:
// after a list it gets the differences, marked Listed, where other cursors expire.
func (v *View) FollowAll(s *Snapshot) *Cursor {
	return &Cursor{v: v, seq: s.seq, all: true}
}

// Next waits for changes and returns those that there are, up to cap(buf), which must not be 0, in buf, and the
// version up to which the reader then knows everything. It returns ErrExpired, ErrEnded or the cause of ctx's end.
func (c *Cursor) Next(ctx context.Context, buf []Change) ([]Change, uint64, error) {
	for {
		changes, version, err := c.Poll(buf)
		if err != nil || len(changes) > 0 {
			return changes, version, err
		}
		if err := c.Wait(ctx); err != nil {
			return nil, version, err
		}
	}
}

// Poll is Next without the wait: where there is nothing it returns no changes.
func (c *Cursor) Poll(buf []Change) ([]Change, uint64, error) {
	v := c.v
	v.mu.Lock()
	defer v.mu.Unlock()
	for c.seq < v.ring.last {
		if c.seq+1 < v.ring.oldest() || !c.all && c.seq < v.ring.start {
			return nil, 0, ErrExpired
		}
		buf = v.ring.after(c.seq, buf[:0])
		c.seq = buf[len(buf)-1].Seq
		if !c.all {
			buf = slices.DeleteFunc(buf, func(ch Change) bool { return ch.Seq <= c.past && ch.Version <= c.version })
		}
		switch {
		case len(buf) == 0:
			continue
		case c.seq < v.ring.last:
			known := buf[len(buf)-1].Version
			if v.ring.at(int(c.seq+1-v.ring.oldest())).Version == known { // one transaction has several
				known--
			}
			return buf, known, nil
		}
		return buf, v.version, nil
	}
	if !c.all && c.seq < v.ring.start {
		return nil, 0, ErrExpired
	}
	if v.ended {
		return nil, v.version, ErrEnded
	}
	return nil, v.version, nil
}

// Wait blocks until there may be something new since the last Poll, or ctx ends.
func (c *Cursor) Wait(ctx context.Context) error {
	c.v.mu.Lock()
	if c.seq < c.v.ring.last || c.v.ended {
		c.v.mu.Unlock()
		return nil
	}
	wake := c.v.waker()
	c.v.mu.Unlock()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
