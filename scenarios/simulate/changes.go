package simulate

import (
	"fmt"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	watcherstorage "github.com/watchbench/watchbench/watcher/storage"
)

// changes are the arrivals that storage lacks, with those between them. A change has arrived
// when storage acknowledged it or a later one of the same name, as in package measure.
type changes struct {
	list   []change // from number first on
	first  uint64
	latest map[object.Key]uint64 // of the names that lack any
}

// change is one arrival.
type change struct {
	intended  int64  // nanoseconds since the start of the load
	former    uint64 // the change before it of the same name that was lacking too; 0: none
	followed  bool   // there is a later one of the same name
	uncounted bool
	arrived   bool
}

func newChanges() changes { return changes{first: 1, latest: map[object.Key]uint64{}} }

// add returns the number of the change, from 1.
func (c *changes) add(key object.Key, a *Arrival) uint64 {
	number, former := c.first+uint64(len(c.list)), c.latest[key]
	if former > 0 {
		c.list[former-c.first].followed = true
	}
	c.list = append(c.list, change{intended: int64(a.At - a.Lag), former: former, uncounted: a.Uncounted})
	c.latest[key] = number
	return number
}

// arrived notes that storage has the state of an event, calls yield for each change that it
// lacked, and reports whether there was any.
func (c *changes) arrived(e *pipeline.Event, yield func(*change)) (found bool) {
	for n := e.ResourceVersion; n >= c.first; {
		x := &c.list[n-c.first]
		if x.arrived {
			break
		}
		if !x.followed { // the name lacks nothing
			delete(c.latest, e.Key)
		}
		x.arrived, found = true, true
		yield(x)
		n = x.former
	}
	n := 0
	for n < len(c.list) && c.list[n].arrived {
		n++
	}
	c.list, c.first = c.list[n:], c.first+uint64(n)
	return found
}

// fullError is the watcher's error for the mock's answer while its queue is full.
func fullError(err error) error {
	return &watcherstorage.ThrottledError{RetryAfter: time.Second, Err: err}
}

// timeoutError is the watcher's error for a missing answer.
func timeoutError(after time.Duration) error {
	return &watcherstorage.UnknownOutcomeError{Err: fmt.Errorf("no answer within %s", after)}
}
