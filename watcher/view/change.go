package view

import (
	"strings"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// Type is the kind of a change.
type Type uint8

// The types, by the names of watch events.
const (
	Added Type = iota + 1
	Modified
	Deleted
)

func (t Type) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	}
	return "UNKNOWN"
}

// Change is one change of one object.
type Change struct {
	Type Type
	// Object is the state after the change; of Deleted the last one that was cached,
	// whose own version and content are older than Version.
	Object *object.Object
	Old    *object.Object // the state before; nil of Added
	// Version is the resourceVersion of the change. What a list showed as deleted has the
	// list's.
	Version  uint64
	Received time.Time
	// Seq numbers the changes of a View without gaps, from 1.
	Seq uint64
	// Listed marks a difference between a list and what was cached before: what happened in
	// between is not known.
	Listed bool
}

// Name is the place of an object within its kind.
type Name struct{ Namespace, Name string }

// NameOf is the place of o.
func NameOf(o *object.Object) Name { return Name{o.Key.Namespace, o.Key.Name} }

// Compare orders as the apiserver lists: by the key in etcd, namespace/name.
func (n Name) Compare(other Name) int {
	if n.Namespace == other.Namespace {
		return strings.Compare(n.Name, other.Name)
	}
	a, b := n.Namespace, other.Namespace
	switch short := min(len(a), len(b)); {
	case a[:short] != b[:short]:
		return strings.Compare(a, b)
	case len(a) < len(b): // the slash behind a meets a character of b
		return int('/') - int(b[short])
	default:
		return int(a[short]) - int('/')
	}
}

func (n Name) less(other Name) bool { return n.Compare(other) < 0 }
