package synchronizer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// Problem says how a record differs from its object.
type Problem string

// All of them.
const (
	Missing  Problem = "missing in storage"
	Leftover Problem = "not in the cluster"
	Older    Problem = "older version"
	Altered  Problem = "contents differ"
)

// Difference is a record that differs.
type Difference struct {
	Kind      string  `json:"kind"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	Problem   Problem `json:"problem"`
}

// Audited is the result of an audit.
type Audited struct {
	Kinds       int               `json:"kinds"`   // that were compared
	Objects     int               `json:"objects"` // that storage should hold of them
	Differences []Difference      `json:"differences"`
	Unread      map[string]string `json:"unread,omitempty"` // why a kind, or group, could not be compared
}

// quiet is the Pipeline of an audit: a second look tells what was on its way.
type quiet struct{ Pipeline }

func (quiet) Pending(object.Key) bool { return false }

func (quiet) Refused(object.Key) bool { return false }

func (quiet) Spare(context.Context, string) error { return nil }

func (quiet) Trace(string) (touched func(object.Key) bool, end func()) {
	return func(object.Key) bool { return false }, func() {}
}

// Audit compares every synced kind once, all records whole, and repairs nothing. A difference
// counts if it is there after wait again, of the same record. Set needs no Pipeline.
func Audit(ctx context.Context, cfg Config, set Settings, wait time.Duration) (Audited, error) {
	set.Pipeline = quiet{}
	s, err := New(cfg, set)
	if err != nil {
		return Audited{}, err
	}
	out := Audited{Differences: []Difference{}, Unread: map[string]string{}}
	var mu sync.Mutex // guards out.Differences
	s.differs = func(x suspect) {
		mu.Lock()
		defer mu.Unlock()
		out.Differences = append(out.Differences, Difference{x.Kind, x.Namespace, x.Name, x.problem()})
	}
	kinds, err := s.gone(ctx)
	if err != nil {
		out.Unread[StateKind] = err.Error()
	}
	before := map[string][]suspect{}
	for _, kind := range append(kinds, set.Cache.SyncedKinds()...) {
		if !compared(kind) {
			continue
		}
		c := s.suspects(ctx, kind, true, false)
		if c.err != nil {
			out.Unread[kind] = c.err.Error()
			continue
		}
		out.Kinds++
		out.Objects += len(set.Cache.ExpectedKeys(kind))
		if len(c.suspects) > 0 {
			before[kind] = c.suspects
		}
	}
	if len(before) > 0 && lifecycle.Pause(ctx, wait) != nil {
		return out, context.Cause(ctx)
	}
	for _, kind := range slices.Sorted(maps.Keys(before)) {
		if err := s.lookAgain(ctx, kind, before[kind]); err != nil {
			out.Kinds--
			out.Unread[kind] = err.Error()
		}
	}
	return out, ctx.Err()
}

// gone are the kinds of the record that nobody collects any more.
func (s *Synchronizer) gone(ctx context.Context) (kinds []string, err error) {
	if s.cfg.Name == "" || !s.set.Complete() {
		return nil, nil
	}
	was, _, err := s.register.remembered(ctx)
	for _, kind := range append(was.Kinds, was.Leaving...) {
		if s.set.Cache.Collected(kind) {
			continue
		}
		if claimed, err := s.register.claimed(ctx, kind); err != nil {
			return kinds, err
		} else if !claimed {
			kinds = append(kinds, kind)
		}
	}
	return kinds, err
}

// lookAgain looks a second time at what differed.
func (s *Synchronizer) lookAgain(ctx context.Context, kind string, before []suspect) error {
	was := make(map[object.Key]suspect, len(before))
	for _, x := range before {
		was[x.Key] = x
	}
	c := s.suspects(ctx, kind, true, false)
	if c.err != nil {
		return c.err
	}
	var f findings
	s.settleAll(ctx, kind, slices.DeleteFunc(c.suspects, func(x suspect) bool {
		y, is := was[x.Key]
		return !is || !y.same(x)
	}), &f)
	return f.err
}

// same reports whether two looks showed the same record, or both none for the same object.
func (x *suspect) same(y suspect) bool {
	return x.version == y.version && x.leftover == y.leftover && x.missing == y.missing &&
		(!x.missing || x.expected.uid == y.expected.uid)
}

func (x *suspect) problem() Problem {
	switch {
	case x.missing:
		return Missing
	case x.leftover:
		return Leftover
	case x.version != 0 && x.version < x.expected.version:
		return Older
	}
	return Altered
}
