package view

import (
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
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
	// Version is the resourceVersion of the change. What a list showed as deleted has the list's.
	Version  uint64
	Received time.Time
	// Seq numbers the changes of a View without gaps, from 1.
	Seq uint64
	// Listed marks a difference between a list and what was cached before: what happened in between is not known.
	Listed bool
}

// Name is the place of an object within its kind.
type Name = kubeapi.Name

// NameOf is the place of o.
func NameOf(o *object.Object) Name { return Name{Namespace: o.Key.Namespace, Name: o.Key.Name} }
