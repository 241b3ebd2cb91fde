package view

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/btree"

	"github.com/watchbench/watchbench/watcher/object"
)

// Default bounds of a window.
const (
	DefaultWindow      = 4096    // changes
	DefaultWindowBytes = 8 << 20 // of the objects' content, as cached
)

// Config bounds a View. Zero values are the defaults.
type Config struct {
	Window      int   // changes that can be followed from the past
	WindowBytes int64 // bytes of object versions that the window keeps alive
}

var (
	// ErrExpired is returned for a version that is older than the window, or by a cursor that
	// fell behind it. The reader lists again.
	ErrExpired = errors.New("the version is too old: the window of changes begins later")
	// ErrEnded is returned by cursors of a kind that is not collected any more.
	ErrEnded = errors.New("the kind is no longer collected")
	// ErrNotSynced is returned while the kind's first list is not complete.
	ErrNotSynced = errors.New("the kind is not synced yet")
)

// settle is how long readers may wait for a change that was made: so many changes wake them up once.
const settle = 2 * time.Millisecond

// degree of the tree: some 64 pointers a node.
const degree = 32

type tree = btree.BTreeG[*object.Object]

func byName(a, b *object.Object) bool { return NameOf(a).Compare(NameOf(b)) < 0 }

// View is the readable state of one kind. Its zero value is not ready; see New.
type View struct {
	window int
	bytes  int64

	mu      sync.Mutex
	objects *tree          // guarded by mu
	size    int64          // guarded by mu; bytes of the objects' content
	version uint64         // guarded by mu; up to which the history is in
	taken   uint64         // guarded by mu; up to which there was one that an older list ended
	ring    ring           // guarded by mu
	synced  chan struct{}  // closed once the first list is in
	ended   bool           // guarded by mu
	changed time.Time      // guarded by mu; when the last change was received
	snap    *Snapshot      // guarded by mu; of this state, nil until somebody asks
	wake    chan struct{}  // guarded by mu; closed to wake readers up; nil while none waits
	waking  bool           // guarded by mu; a call of settled is on its way
	indexes []*Index       // guarded by mu; those that are kept up to date
	keyed   map[any]*Index // guarded by mu; by IndexBy
}

// New makes an empty View that is not synced.
func New(c Config) *View {
	return &View{window: cmp.Or(c.Window, DefaultWindow), bytes: cmp.Or(c.WindowBytes, DefaultWindowBytes),
		objects: btree.NewG(degree, byName), synced: make(chan struct{})}
}

// Changed takes the change of an object from old to now, either of which may be nil, at a version.
func (v *View) Changed(old, now *object.Object, version uint64, received time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.apply(Change{Old: old, Object: now, Version: version, Received: received})
	v.version = max(v.version, version)
	v.stir()
}

// Difference is one of a list to what was cached before; one of the two may be nil.
type Difference struct{ Old, Now *object.Object }

// Replaced takes what a complete list of that version changed. The first one syncs the view.
func (v *View) Replaced(all []Difference, version uint64, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	first := !v.IsSynced()
	for _, d := range all {
		if first && d.Now != nil { // nobody follows yet
			v.objects.ReplaceOrInsert(d.Now)
			v.size += int64(d.Now.Size())
			continue
		}
		c := Change{Old: d.Old, Object: d.Now, Version: version, Received: at, Listed: true}
		if d.Now != nil {
			c.Version = d.Now.ResourceVersion
		}
		v.apply(c)
	}
	if first || len(all) > 0 || version < v.version {
		v.ring.reset(version)
	}
	if !first && version < v.version {
		v.taken = max(v.taken, v.version)
	}
	v.version, v.snap = version, nil
	if first {
		close(v.synced)
	}
	v.stir()
}

// Advance takes a version up to which nothing changed.
func (v *View) Advance(version uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version > v.version {
		v.version, v.snap = version, nil
	}
	v.stir()
}

// End says that the kind is not collected any more: cursors end.
func (v *View) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.stir()
}

// apply makes one change. Another object under the same name is a deletion and an
// addition: its predecessor was gone by the version before. The caller holds mu.
func (v *View) apply(c Change) {
	v.snap = nil
	if c.Old != nil && c.Object != nil && c.Old.UID != c.Object.UID {
		gone := c
		gone.Object, gone.Version = nil, c.Version-min(c.Version, 1)
		v.apply(gone)
		c.Old = nil
	}
	switch {
	case c.Old == nil && c.Object == nil:
		return
	case c.Object == nil:
		c.Type, c.Object = Deleted, c.Old
		v.objects.Delete(c.Old)
	case c.Old == nil:
		c.Type = Added
		v.objects.ReplaceOrInsert(c.Object)
	default:
		c.Type = Modified
		v.objects.ReplaceOrInsert(c.Object)
	}
	if c.Type != Deleted {
		v.size += int64(c.Object.Size())
	}
	if c.Old != nil {
		v.size -= int64(c.Old.Size())
	}
	v.changed = c.Received
	v.ring.push(c, v.window, v.bytes)
}

// stir has waiting readers and the indexes look at the changes soon, from another goroutine. The caller holds mu.
func (v *View) stir() {
	if v.waking || v.wake == nil && len(v.indexes) == 0 {
		return
	}
	v.waking = true
	time.AfterFunc(settle, v.settled)
}

func (v *View) settled() {
	v.mu.Lock()
	v.waking = false
	wake, indexes := v.wake, v.indexes
	v.wake = nil
	v.mu.Unlock()
	if wake != nil {
		close(wake)
	}
	for _, i := range indexes {
		i.refresh()
	}
}

// Synced is closed once the first list is in.
func (v *View) Synced() <-chan struct{} { return v.synced }

// IsSynced reports whether the first list is in.
func (v *View) IsSynced() bool {
	select {
	case <-v.synced:
		return true
	default:
		return false
	}
}

// WaitFor blocks until the history up to a version is in, the kind ends (ErrEnded), or ctx does.
func (v *View) WaitFor(ctx context.Context, version uint64) error {
	for {
		v.mu.Lock()
		there, ended, wake := v.version >= version, v.ended, v.waker()
		v.mu.Unlock()
		switch {
		case there:
			return nil
		case ended:
			return ErrEnded
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waker is closed soon after the next change. The caller holds mu.
func (v *View) waker() <-chan struct{} {
	if v.wake == nil {
		v.wake = make(chan struct{})
	}
	return v.wake
}

// Stats describes a View.
type Stats struct {
	Objects int
	Bytes   int64     // of the objects' content, as cached
	Version uint64    // up to which the history is in
	Changed time.Time // when the last change was received, zero before the first
}

// Stats returns the numbers of now.
func (v *View) Stats() Stats {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Stats{v.objects.Len(), v.size, v.version, v.changed}
}
