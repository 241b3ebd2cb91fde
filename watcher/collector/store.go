package collector

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/view"
)

// Sink takes events. Enqueue may block. From the call on the event is in the Sink's account, also if it is refused.
type Sink interface {
	Enqueue(ctx context.Context, e pipeline.Event) error
}

// Discard is the Sink of a collector whose cache is only read.
var Discard Sink = nowhere{}

type nowhere struct{}

func (nowhere) Enqueue(context.Context, pipeline.Event) error { return nil }

// name is a key within one kind.
type name struct{ namespace, name string }

func nameOf(k object.Key) name { return name{k.Namespace, k.Name} }

// store holds the latest version of each object of one kind, and makes events of what the reflector reports. Only the
// reflector's goroutine changes it; any may read.
type store struct {
	contents
	history // guarded by order

	resource Resource
	kind     string // of keys
	filter   filter
	sink     Sink
	take     func(kind string) bool // Settings.First
	metrics  *kindMetrics
	logger   *slog.Logger
	ctx      context.Context // of the run, for Enqueue: the reflector passes none
	// view learns of each change; nil: nobody reads. It is another one after a move.
	view atomic.Pointer[view.View]

	synced   chan struct{} // closed after the first Replace
	syncOnce sync.Once

	// order is held from a change of the store to its event's hand-over, so that a
	// repair, which comes from another goroutine, keeps its place among the events.
	order turns

	// listed is when the current attempt's list was complete, the zero time before; changed
	// is whether its watch brought a change afterwards.
	listed  time.Time // guarded by order
	changed bool      // guarded by order

	life  *life  // of the source
	doubt func() // schedules a check of the apiserver's version

	// renew is set until the first list of another version of the API: what is cached
	// counts as changed, whatever its resourceVersion.
	renew atomic.Bool

	// unread are the objects that exist and cannot be decoded, by as much of their names as can
	// be; named are those that the log has named.
	unread, named map[name]bool // guarded by order
	skipped       atomic.Int64  // in all
}

// begin is called before the kind is listed and watched.
func (s *store) begin() {
	s.order.Lock()
	defer s.order.Unlock()
	s.listed, s.changed = time.Time{}, false
}

// attempt says what became of the list and watch that began at start.
func (s *store) attempt(start time.Time) attempt {
	s.order.Lock()
	defer s.order.Unlock()
	a := attempt{lasted: time.Since(start)}
	if !s.listed.IsZero() {
		a.list, a.events = s.listed.Sub(start), s.changed
	}
	return a
}

var (
	_ cache.ReflectorStore         = (*store)(nil)
	_ cache.ResourceVersionUpdater = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

// seen returns the latest version that the watch delivered; 0 where versions cannot be compared.
func (s *store) seen() uint64 {
	s.order.Lock()
	defer s.order.Unlock()
	if s.unordered {
		return 0
	}
	return s.latest
}

// known returns the cached object of which a new item may be a copy, or nil.
func (s *store) known(n name) *object.Object {
	if s.renew.Load() || s.restored.Load() {
		return nil
	}
	return s.peek(n)
}

// isSynced reports whether the first list is complete.
func (s *store) isSynced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
}

// Add takes an ADDED event.
func (s *store) Add(obj any) error { return s.put(obj) }

// Update takes a MODIFIED event.
func (s *store) Update(obj any) error { return s.put(obj) }

func (s *store) put(obj any) error {
	s.order.Lock()
	defer s.order.Unlock()
	it, ok := obj.(*item)
	if !ok {
		return fmt.Errorf("store %s: put of a %T", s.kind, obj)
	}
	s.metrics.received.Inc()
	s.changed = true
	n := nameOf(it.obj.Key)
	if it.bad != nil {
		s.skip(it)
		return nil
	}
	delete(s.unread, n)
	old := s.peek(n)
	reason := outdated(old, it.obj)
	if s.replayed(old, it.obj) && reason == reasonNone {
		reason = ReasonStale
	}
	if reason != reasonNone {
		s.drop(reason)
		return nil
	}
	s.metrics.cacheKeys.Set(float64(s.set(n, it.obj)))
	s.show(old, it.obj, it.obj.ResourceVersion, it.received)
	s.emitPut(old, it, false)
	return nil
}

// outdated compares a watch event with what the store holds of the same object.
func outdated(old, fresh *object.Object) string {
	switch {
	case old == nil || old.UID != fresh.UID:
		return reasonNone
	case unchanged(old, fresh):
		return ReasonUnchanged
	case fresh.ResourceVersion != 0 && fresh.ResourceVersion < old.ResourceVersion:
		return ReasonStale
	}
	return reasonNone
}

func unchanged(old, fresh *object.Object) bool {
	if old == fresh {
		return true
	}
	if old.UID != fresh.UID || old.ResourceVersion != fresh.ResourceVersion {
		return false
	}
	return fresh.ResourceVersion != 0 || bytes.Equal(old.JSON(), fresh.JSON())
}

// Delete takes a DELETED event.
func (s *store) Delete(obj any) error {
	s.order.Lock()
	defer s.order.Unlock()
	it, ok := obj.(*item)
	if !ok {
		return fmt.Errorf("store %s: delete of a %T", s.kind, obj)
	}
	s.metrics.received.Inc()
	s.changed = true
	gone := it.obj
	n := nameOf(gone.Key)
	old := s.peek(n)
	earlier := old != nil && gone.UID != "" && old.UID != gone.UID && gone.ResourceVersion < old.ResourceVersion
	if s.replayed(old, gone) || earlier { // earlier: the end of another object of that name
		s.drop(ReasonStale)
		return nil
	}
	s.metrics.cacheKeys.Set(float64(s.set(n, nil)))
	delete(s.unread, n)
	uid, version := gone.UID, gone.ResourceVersion
	if old != nil {
		if uid == "" {
			uid = old.UID
		}
		version = max(version, old.ResourceVersion)
	}
	s.show(old, nil, version, it.received)
	s.emitDelete(gone.Key, uid, version, it.received)
	return nil
}

// show passes a change to the view.
func (s *store) show(old, now *object.Object, version uint64, received time.Time) {
	if v := s.view.Load(); v != nil {
		v.Changed(readable(old), readable(now), version, received)
	}
}

// readable is an object as readers see it: one that could not be masked is not there.
func readable(o *object.Object) *object.Object {
	if o == nil || !o.HasContent() {
		return nil
	}
	return o
}

// showList passes the changes of a list to the view. A view that is not synced gets what
// is there, whatever was cached: the kind may have moved.
func (s *store) showList(changes []change, gone []*object.Object, at time.Time) {
	v := s.view.Load()
	if v == nil {
		return
	}
	all := make([]view.Difference, 0, len(gone)+len(changes))
	show := func(old, now *object.Object) {
		if !v.IsSynced() {
			old = nil
		}
		if old, now = readable(old), readable(now); old != nil || now != nil {
			all = append(all, view.Difference{Old: old, Now: now})
		}
	}
	for _, o := range gone {
		show(o, nil)
	}
	for _, c := range changes {
		show(c.old, c.it.obj)
	}
	v.Replaced(all, s.latest, at)
}

// Bookmark takes the version of a bookmark. One below what was seen comes from an apiserver
// that is behind or was restored.
func (s *store) Bookmark(version string) error {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return nil //nolint:nilerr // no number: it cannot be known
	}
	s.order.Lock()
	defer s.order.Unlock()
	if s.latest > v && !s.unordered {
		s.logger.Warn("ignoring a bookmark older than the latest version seen", "version", v, "seen", s.latest)
		s.doubt()
		return nil
	}
	s.latest = max(s.latest, v)
	return nil
}

// UpdateResourceVersion takes a version up to which the watch has brought everything.
func (s *store) UpdateResourceVersion(version string) {
	shown := s.view.Load()
	if shown == nil {
		return
	}
	if v, err := strconv.ParseUint(version, 10, 64); err == nil {
		shown.Advance(v)
	}
}

// change is one difference between a list and the store.
type change struct {
	it  *item
	old *object.Object
}

// Replace takes a complete list. The whole list is in the store before the first
// event is handed over, so that readers need not wait for a Sink that blocks.
func (s *store) Replace(list []any, version string) error {
	s.order.Lock()
	defer s.order.Unlock()
	highest := uint64(0)
	for _, obj := range list {
		it, ok := obj.(*item)
		if !ok {
			return fmt.Errorf("store %s: replace with a %T", s.kind, obj)
		}
		highest = max(highest, it.obj.ResourceVersion)
	}
	seen := s.latest
	believed, err := s.admit(version, highest)
	if err != nil {
		err = fmt.Errorf("list of %s: %w", s.kind, err)
		s.life.refuse(s.ctx, err)
		s.doubt()
		return err
	}
	if believed {
		s.logger.Warn("accepting an older list: no newer one arrived",
			"version", version, "seen", seen, "for", maxBehind)
		s.metrics.differences[DifferenceRestored].Inc()
	}
	s.life.accept()
	s.afresh.Store(false)
	restored := s.restored.Load()
	now := time.Now()
	s.listed, s.changed = now, false
	list = s.takeUnread(list)
	changes, gone := s.merge(list)
	s.showList(changes, gone, now)
	s.renew.Store(false)
	s.metrics.cacheKeys.Set(float64(s.len()))
	s.metrics.synced.Set(1)
	taken := false
	s.syncOnce.Do(func() {
		taken = s.take != nil && s.take(s.kind)
		close(s.synced)
	})
	s.handOver(changes, gone, now, taken)
	if restored { // else the next list is to compare content
		s.restored.Store(false)
	}
	return nil
}

// handOver emits the changes that a list showed. After a restore, deletions get at most the
// list's version, so that later events do not look stale.
func (s *store) handOver(changes []change, gone []*object.Object, now time.Time, taken bool) {
	for _, o := range gone {
		s.metrics.received.Inc()
		version := o.ResourceVersion
		if s.restored.Load() {
			version = min(version, s.latest)
		}
		s.emitDelete(o.Key, o.UID, version, now)
	}
	for _, c := range changes {
		s.metrics.received.Inc()
		s.emitPut(c.old, c.it, taken)
	}
}

// merge makes the store equal to a list of items and returns the differences. It needs memory for those and, but for
// the first list, a pointer to each object: pages may show one twice, so that equal numbers say nothing.
func (s *store) merge(list []any) (changes []change, gone []*object.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.unlisted) // all of it is listed, or has changed
	first := len(s.objects) == 0
	if first {
		s.objects = make(map[name]*object.Object, len(list))
		changes = make([]change, 0, len(list))
	}
	for _, obj := range list {
		it := obj.(*item)
		n := nameOf(it.obj.Key)
		old := s.objects[n]
		if old != nil && !s.renew.Load() && unchanged(old, it.obj) &&
			(!s.restored.Load() || bytes.Equal(old.JSON(), it.obj.JSON())) {
			s.metrics.received.Inc()
			s.drop(ReasonUnchanged)
			continue
		}
		s.objects[n] = it.obj
		changes = append(changes, change{it, old})
	}
	if first {
		return changes, nil
	}
	listed := make(map[*object.Object]struct{}, len(list))
	for _, obj := range list {
		listed[s.objects[nameOf(obj.(*item).obj.Key)]] = struct{}{}
	}
	for n, o := range s.objects {
		if _, ok := listed[o]; ok {
			continue
		}
		switch {
		case !covers(s.unread, n):
			gone = append(gone, o)
			s.forget(n)
		case s.restored.Load(): // its version is from the lost history: the next one must count as newer
			kept := *o
			kept.ResourceVersion = 0
			s.objects[n] = &kept
		}
	}
	return changes, gone
}

// Resync does nothing: the cache is not resynced periodically.
func (s *store) Resync() error { return nil }

func (s *store) drop(reason string) { s.metrics.filtered[reason].Inc() }

// emitPut hands an object over unless somebody else has taken that over.
func (s *store) emitPut(old *object.Object, it *item, taken bool) {
	if it.problem != nil {
		s.drop(ReasonUnmaskable)
		s.logger.Error("object not sent: a mask cannot be applied", "object", it.obj.Key.String(), "error", it.problem)
		return
	}
	if reason := s.filter.reason(pipeline.Put, s.resource, it.obj.Key); reason != reasonNone {
		s.drop(reason)
		return
	}
	older := s.restored.Load() || old != nil && (old.ResourceVersion == 0 || it.obj.ResourceVersion < old.ResourceVersion)
	if !older && s.heartbeat(old, it.obj) {
		s.drop(ReasonHeartbeat)
		return
	}
	if taken {
		s.drop(ReasonFirstList)
		return
	}
	s.enqueue(pipeline.Event{
		Action: pipeline.Put, Key: it.obj.Key, UID: it.obj.UID,
		ResourceVersion: it.obj.ResourceVersion, Object: it.obj, Received: it.received,
		Older: older,
	})
}

// heartbeat reports whether fresh differs from old, which need not have been sent, only by what a Node changes to say
// that it is alive.
func (s *store) heartbeat(old, fresh *object.Object) bool {
	return s.resource.Kind == kindNode && s.resource.Group == "" &&
		old != nil && old.HasContent() && old.UID == fresh.UID &&
		object.EqualIgnoring(old.JSON(), fresh.JSON(), object.HeartbeatPaths)
}

func (s *store) emitDelete(key object.Key, uid string, version uint64, received time.Time) {
	if reason := s.filter.reason(pipeline.Delete, s.resource, key); reason != reasonNone {
		s.drop(reason)
		return
	}
	s.enqueue(pipeline.Event{Action: pipeline.Delete, Key: key, UID: uid, ResourceVersion: version, Received: received})
}

// enqueue is called without the lock: the Sink may block, and it may read the store.
func (s *store) enqueue(e pipeline.Event) {
	if err := s.sink.Enqueue(s.ctx, e); err != nil && s.ctx.Err() == nil {
		s.logger.Error("event rejected", "object", e.Key.String(), "resourceVersion", e.ResourceVersion, "error", err)
	}
}
