package view

import (
	"sync"

	"github.com/watchbench/watchbench/watcher/object"
)

// Snapshot is the state of a kind at one version. It is immutable; any number of goroutines may read it.
type Snapshot struct {
	Version uint64
	seq     uint64
	objects *tree
	indexes sync.Map // *Index → *entries
}

// Snapshot returns the present state; ErrNotSynced before the first list.
func (v *View) Snapshot() (*Snapshot, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snapshot()
}

// snapshot is Snapshot; the caller holds mu. Readers of one state share one.
func (v *View) snapshot() (*Snapshot, error) {
	if !v.IsSynced() {
		return nil, ErrNotSynced
	}
	if v.snap == nil {
		v.snap = &Snapshot{Version: v.version, seq: v.ring.last, objects: v.objects.Clone()}
	}
	return v.snap, nil
}

// At returns the state at a version: the present one, the changes since undone. A version that is older than the
// window is ErrExpired; one that is newer than the state returns the present state, whose Version says so.
func (v *View) At(version uint64) (*Snapshot, error) {
	v.mu.Lock()
	now, err := v.snapshot()
	if err != nil || version >= now.Version {
		v.mu.Unlock()
		return now, err
	}
	if version < v.ring.floor {
		v.mu.Unlock()
		return nil, ErrExpired
	}
	var undo []Change // the last one first
	for i := v.ring.count - 1; i >= 0; i-- {
		c := v.ring.at(i)
		if c.Version <= version || c.Seq <= v.ring.start {
			break
		}
		undo = append(undo, c)
	}
	if len(undo) == 0 {
		v.mu.Unlock()
		return now, nil
	}
	old := v.objects.Clone() // not now's: those who read that would see it change hands
	v.mu.Unlock()
	for _, c := range undo {
		if c.Old == nil {
			old.Delete(c.Object)
		} else {
			old.ReplaceOrInsert(c.Old)
		}
	}
	return &Snapshot{Version: version, objects: old, seq: undo[len(undo)-1].Seq - 1}, nil
}

// Len is the number of objects in all namespaces.
func (s *Snapshot) Len() int { return s.objects.Len() }

// Get returns one object.
func (s *Snapshot) Get(n Name) (*object.Object, bool) { return s.objects.Get(pivot(n)) }

// Ascend calls visit with the objects of a namespace, of all where that is empty, in the order of Name.Compare,
// beginning with the first one behind after (the zero Name: the first of all), until visit returns false.
func (s *Snapshot) Ascend(namespace string, after Name, visit func(*object.Object) bool) {
	from := after
	if from == (Name{}) {
		from.Namespace = namespace
	}
	s.objects.AscendGreaterOrEqual(pivot(from), func(o *object.Object) bool {
		if n := NameOf(o); n == after {
			return true
		} else if namespace != "" && n.Namespace != namespace {
			return Name{Namespace: n.Namespace}.Compare(Name{Namespace: namespace}) < 0
		}
		return visit(o)
	})
}

// Count is the number of objects of a namespace behind after, as Ascend visits them.
func (s *Snapshot) Count(namespace string, after Name) (n int) {
	s.Ascend(namespace, after, func(*object.Object) bool { n++; return true })
	return n
}

func pivot(n Name) *object.Object {
	return &object.Object{Key: object.Key{Namespace: n.Namespace, Name: n.Name}}
}
