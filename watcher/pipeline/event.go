package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// Action is the effect of an event on storage.
type Action uint8

// The two actions. Storage has an upsert, so additions and updates are one.
const (
	Put Action = iota + 1
	Delete
)

// Event is one change of one object on its way to storage. It references the
// cached object and never copies it.
type Event struct {
	Action Action
	// Older says that a lower ResourceVersion than before is right: the cluster was put back
	// to an earlier state.
	Older           bool
	Key             object.Key
	UID             string
	ResourceVersion uint64
	Object          *object.Object // nil for Delete
	Received        time.Time      // when the watch delivered it
}

func (e *Event) check() error {
	if e.Key.Kind == "" || e.Key.Name == "" || e.Action != Put && e.Action != Delete {
		return fmt.Errorf("pipeline: event of %q with action %d: want a kind, a name and Put or Delete", e.Key, e.Action)
	}
	return nil
}

// EarlyError is a Sender's answer for an event that it has not sent yet, because something
// is to come first. The event is offered again after that time, with what has changed of its
// object meanwhile; it does not count as a failure, and delays no other key.
type EarlyError struct{ After time.Duration }

func (e *EarlyError) Error() string { return "not sent before " + e.After.String() + " have passed" }

// Sender delivers one event to storage and blocks until the outcome is known. Its
// errors carry their policy by type; see the errors of package storage.
type Sender interface {
	Send(ctx context.Context, e Event) error
}
