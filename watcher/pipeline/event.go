package pipeline

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// Action is what an event does to storage.
type Action uint8

// The two actions. Storage has an upsert, so additions and updates are one.
const (
	Put Action = iota + 1
	Delete
)

// Event is one change of one object on its way to storage. It references the
// cached object and never copies it.
type Event struct {
	Action          Action
	Key             object.Key
	UID             string
	ResourceVersion uint64
	Object          *object.Object // nil for Delete
	Received        time.Time      // when the watch delivered it
}

// Sender delivers one event to storage and blocks until the outcome is known. Its
// errors carry their policy by type; see the errors of package storage.
type Sender interface {
	Send(ctx context.Context, e Event) error
}
