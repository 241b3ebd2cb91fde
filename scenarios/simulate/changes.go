package simulate

import (
	"fmt"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	watcherstorage "github.com/watchbench/watchbench/watcher/storage"
)

// changes are the arrivals that storage lacks, by name and in their order. A change has arrived when storage
// acknowledged it or a later one of the same name, as in package measure.
type changes struct {
	number uint64 // of the last one
	lacks  map[object.Key][]change
}

// change is one arrival.
type change struct {
	number    uint64
	intended  int64 // nanoseconds since the start of the load
	uncounted bool
}

func newChanges() changes { return changes{lacks: map[object.Key][]change{}} }

// add returns the number of the change, from 1.
func (c *changes) add(key object.Key, a *Arrival) uint64 {
	c.number++
	c.lacks[key] = append(c.lacks[key], change{c.number, int64(a.At - a.Lag), a.Uncounted})
	return c.number
}

// arrived returns the changes that storage lacked and now has, as it has the state of an event.
func (c *changes) arrived(e *pipeline.Event) []change {
	all, n := c.lacks[e.Key], 0
	for n < len(all) && all[n].number <= e.ResourceVersion {
		n++
	}
	if c.lacks[e.Key] = all[n:]; n == len(all) {
		delete(c.lacks, e.Key)
	}
	return all[:n]
}

// fullError is the watcher's error for the mock's answer while its queue is full.
func fullError(err error) error {
	return &watcherstorage.ThrottledError{RetryAfter: time.Second, Err: err}
}

// timeoutError is the watcher's error for a missing answer.
func timeoutError(after time.Duration) error {
	return &watcherstorage.UnknownOutcomeError{Err: fmt.Errorf("no answer within %s", after)}
}
