package replay

import (
	"iter"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Types of events, as in a watch.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
)

// Event is one change of one object.
type Event struct {
	At              time.Duration // since the first
	Type            string
	Resource        string // apisim.Resource.Key
	Namespace, Name string
	UID             string // empty: the server's
	// Object is the state after the event as JSON; the server sets resourceVersion. A deletion needs none.
	Object []byte
	// Op has the members of the op log that are known before the event. With an Intended time, that is when the event
	// is to happen.
	Op oplog.Record
}

// Source yields the events to play. Objects are valid until the next event is asked for.
type Source interface {
	// Resources are served, whether or not they have objects.
	Resources() []apisim.Resource
	// Initial is the state before the first event.
	Initial() iter.Seq2[Event, error]
	Events() iter.Seq2[Event, error]
}

// Warmer is a Source with events for a warm-up.
type Warmer interface {
	Warmup() iter.Seq2[Event, error]
}

// Stamper is a Source that writes into its objects when they are meant to happen.
type Stamper interface {
	// Stamp gives the Unix nanoseconds of events by their At.
	Stamp(intended func(at time.Duration) int64)
}

// Counter is a Source that knows how many events it has.
type Counter interface{ Planned() int64 }
