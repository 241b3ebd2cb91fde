package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Strategy names how the events of a kind are queued and how many are sent at once.
type Strategy string

// The strategies. What each of them is made of is the table in strategy.go.
const (
	Single      Strategy = "single"
	Unordered   Strategy = "unordered"
	Dedup       Strategy = "dedup"
	Partitioned Strategy = "partitioned"
	Keyed       Strategy = "keyed"
	Adaptive    Strategy = "adaptive"
)

// Strategies lists every strategy, in the order reports show them.
func Strategies() []Strategy {
	return []Strategy{Single, Unordered, Dedup, Partitioned, Keyed, Adaptive}
}

// QueueFull names what happens to an event that finds its queue at capacity.
type QueueFull string

const (
	// Coalesce merges the event into the one of the same key that already waits,
	// and admits the event of a key that does not wait. Memory is bounded by the
	// number of live keys and no final state is lost.
	Coalesce QueueFull = "coalesce"
	// Block makes Enqueue wait once the Writer is at capacity too, so that the
	// pressure reaches the watch connection of that kind.
	Block QueueFull = "block"
	// Drop discards an event that found no room for QueueFullTimeout.
	Drop QueueFull = "drop"
)

// QueueFulls lists every policy.
func QueueFulls() []QueueFull { return []QueueFull{Coalesce, Block, Drop} }

// Backoff bounds the growing, jittered delay between two tries of one key.
type Backoff struct {
	Min time.Duration // delay after the first failure
	Max time.Duration // delay after many

	jitter *rand.Rand // nil: the process's own
}

// Config holds the user's settings. Default returns a complete one.
type Config struct {
	Strategy Strategy
	// PodQueueNum is N of the strategies: queues for Pods (partitioned; four times
	// as many for Events) or requests in flight per kind (unordered, dedup, keyed).
	// 0 means 1, with the queue named after the kind, as in the original. For
	// Adaptive it is the most requests in flight per kind; 0 means MaxInFlight.
	PodQueueNum int
	// MaxInFlight bounds the requests in flight of all kinds together under Adaptive.
	// Beyond it each kind may still have one.
	MaxInFlight int
	// WriterQueueLen bounds the events, of all kinds together, that wait for room
	// in their handler queue.
	WriterQueueLen int
	// HandlerQueueLen bounds each handler queue.
	HandlerQueueLen int
	QueueFull       QueueFull
	// QueueFullTimeout is how long Drop lets an event wait for room.
	QueueFullTimeout time.Duration
	// AllowUnordered must be set for Unordered, which breaks the order per object.
	AllowUnordered bool

	// ParkAfter is the number of tries after which a key that fails while other
	// keys of its kind succeed is parked until its next change.
	ParkAfter int
	Backoff   Backoff
	// MaxThrottle caps the pause a storage may ask for.
	MaxThrottle time.Duration
	// FenceDelay is how long a key waits after a request without an answer, before
	// its state is written again. It must exceed the time a storage may need to
	// apply a request that its client has given up.
	FenceDelay time.Duration
	// Events bounds what waits of Events, whose deletions are not sent.
	Events Bound
	// DrainTimeout is how long Run goes on sending after its context ended.
	DrainTimeout time.Duration
}

// Default is the configuration of a watcher whose file says nothing about queues.
func Default() Config {
	return Config{
		Strategy:         Adaptive,
		MaxInFlight:      512,    // what the storage client keeps connections for
		WriterQueueLen:   102400, // the published "after" set-up
		HandlerQueueLen:  102400, // the original since 2022
		QueueFull:        Coalesce,
		QueueFullTimeout: time.Second, // the original's
		ParkAfter:        8,
		Backoff:          Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second},
		MaxThrottle:      time.Minute,
		FenceDelay:       5 * time.Second, // the original's request deadline
		Events:           Bound{Count: 20_000, Bytes: 32 << 20},
		DrainTimeout:     10 * time.Second,
	}
}

// DefaultQueues is PodQueueNum for the strategies that have a number of queues or workers,
// where nobody names one: the original's Helm value.
const DefaultQueues = 30

// Limits that keep a typing error from taking the machine.
const (
	MaxPodQueueNum = 4096
	MaxQueueLen    = 1 << 24
)

// FieldError is a wrong setting, by the name that it has in the section bcs of the configuration file.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Validate returns the first wrong setting as a *FieldError.
func (c Config) Validate() error {
	switch {
	case !slices.Contains(Strategies(), c.Strategy):
		return wrong("strategy", "unknown strategy %q, want one of %s", c.Strategy, Names(Strategies()))
	case c.Strategy == Unordered && !c.AllowUnordered:
		return wrong("strategy", "\"unordered\" breaks the order per object; set bcs.allowUnordered to true to have it all "+
			"the same")
	case !slices.Contains(QueueFulls(), c.QueueFull):
		return wrong("queueFull", "unknown policy %q, want one of %s", c.QueueFull, Names(QueueFulls()))
	}
	for _, f := range []struct {
		name     string
		got      int
		min, max int
	}{
		{"podQueueNum", c.PodQueueNum, 0, MaxPodQueueNum},
		{"maxInFlight", c.MaxInFlight, 1, MaxPodQueueNum},
		{"writerQueueLen", c.WriterQueueLen, 1, MaxQueueLen},
		{"handlerQueueLen", c.HandlerQueueLen, 1, MaxQueueLen},
		{"parkAfter", c.ParkAfter, 1, 1 << 20},
		{"eventQueueLen", c.Events.Count, 1, MaxQueueLen},
		{"eventQueueBytes", int(c.Events.Bytes), 1, math.MaxInt},
	} {
		if f.got < f.min || f.got > f.max {
			return wrong(f.name, "%d: want %d to %d", f.got, f.min, f.max)
		}
	}
	for _, f := range []struct {
		name     string
		got, min time.Duration
	}{
		{"queueFullTimeout", c.QueueFullTimeout, time.Millisecond},
		{"backoff.min", c.Backoff.Min, time.Millisecond},
		{"backoff.max", c.Backoff.Max, c.Backoff.Min},
		{"maxThrottle", c.MaxThrottle, time.Millisecond},
		{"fenceDelay", c.FenceDelay, 0},
		{"drainTimeout", c.DrainTimeout, 0},
	} {
		if f.got < f.min {
			return wrong(f.name, "%s: want a duration of at least %s", f.got, f.min)
		}
	}
	return nil
}

// Names joins values for a message.
func Names[S ~string](values []S) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
