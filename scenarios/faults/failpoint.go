package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Failpoint is one thing that can be done to a running cell.
type Failpoint struct {
	Name     string   // as scenarios spell it
	Takes    []string // fields of an event, beside at and what
	Anywhere bool     // on a simulated apiserver, too
	// Available refuses an event at its place in a timeline, and notes what it changes; nil refuses none.
	Available func(*spec.Timeline, spec.Event) error
	// Inject does it to a running cell. An error ends the cell.
	Inject func(context.Context, Cell, spec.Event) (Done, error)
}

func (f Failpoint) kind() spec.EventKind {
	return spec.EventKind{Name: f.Name, Takes: f.Takes, Available: func(t *spec.Timeline, e spec.Event) error {
		err := t.Need(f.Anywhere || !t.Simulated(), e.What+" on a simulated apiserver", "use another cluster.provider")
		if err != nil || f.Available == nil {
			return err
		}
		return f.Available(t, e)
	}}
}

// Done reports what a failpoint did.
type Done struct {
	Keys int64 // objects, rows or definitions that it concerned
	// Seen is kept in deeds.ndjson as JSON, when the cell has ended, for the rules of the same family; may be nil.
	Seen any
}

// Cell is the view that failpoints have of a running cell.
type Cell interface {
	Scenario() *spec.Scenario
	// Run labels all that the cell makes in the cluster: at most 32 characters.
	Run() string
	Seed() uint64
	Dir() string // of the record
	Setup() *Setup

	API() *party.APIServer
	Storage() *party.Storage
	Proxy() *party.Proxy     // nil without watch faults
	Watcher() *party.Watcher // the one whose counters are read
	// Others are the watchers beside that one: replicas, or a second one.
	Others() []*party.Watcher
	SetWatchers(main *party.Watcher, others []*party.Watcher)
	// Launch starts a watcher without waiting for its first lists; queues replaces podQueueNum if it is not 0.
	Launch(ctx context.Context, queues int) (*party.Watcher, error)
	// Begin starts the watcher that is judged and waits for its first lists.
	Begin(ctx context.Context, queues int) error
	// Spawn starts the watcher that is judged and waits for nothing.
	Spawn(ctx context.Context) error
	// Refuses starts a watcher without storage and returns how it ended, killed after a while.
	Refuses(context.Context, *party.Serving) (history.Refusal, error)
	// Holder is the replica that holds the Lease of a shard now, nil if none does.
	Holder(shard int) *party.Watcher
	// Divided waits until the replicas that run hold all shards among them, in equal parts, and have listed them.
	Divided(ctx context.Context) error
	// RestartAPIServer kills kube-apiserver, starts it again and waits until it is ready.
	RestartAPIServer(ctx context.Context) error
	// Backup copies what the apiserver holds; Restore puts it back and waits until it is ready.
	Backup(ctx context.Context) error
	Restore(ctx context.Context) error
	// Resumed has the figures of the watcher's counters begin now, after it took another's place.
	Resumed(ctx context.Context) error

	Rules() check.Rules
	// CatchUp waits until storage has the apiserver's present state, while the load goes on.
	CatchUp(ctx context.Context, since time.Time) (CatchUp, error)

	Mark(history.Mark) // its time is now unless it is set
	Note(text string)  // on the line of progress
	AddCanary(secret string)
}

// CatchUp reports how long storage took to hold what the apiserver had.
type CatchUp struct {
	Seconds float64 `json:"seconds"`
	// Behind is an object that storage still lacked at the limit; empty if it caught up.
	Behind string `json:"behind,omitempty"`
}

// Fact states how long it took, at most limit seconds.
func (c *CatchUp) Fact(name string, limit float64) result.Fact {
	if c.Behind != "" {
		return matrix.Missing("T", name, "s", fmt.Sprintf("storage had not caught up within %s: %s", CatchUpLimit, c.Behind))
	}
	return matrix.Within("T", name, "s", c.Seconds, limit)
}

// CatchUpLimit bounds the wait for storage to catch up.
const CatchUpLimit = 30 * time.Second

// Setup holds the families' changes to how the parties are started.
type Setup struct {
	TLS        *party.TLS // of storage
	CAFile     string     // with which the watcher verifies storage
	OwnRights  bool       // the watcher has credentials of its own, which the proxy passes on
	Kubeconfig string     // of the watcher; empty is the proxy's or the cluster's
	// Serving has the watcher's resource watcher run; nil: only where there are readers.
	Serving *party.Serving
	Customs []string // group/versions of custom resources to follow
	Listed  []string // group/versions that discovery is to find
	// CustomKinds are kinds to be judged beside those that the scenario names.
	CustomKinds []string
}

// Family is the failpoints of one cell that share what they know of it. Any of its functions may be nil.
type Family struct {
	Failpoints []Failpoint
	// Arrange changes how the parties are started, before any is.
	Arrange func(Cell) error
	// Prepare makes objects in the cluster before the watcher starts.
	Prepare func(context.Context, Cell) error
	// State reads what the apiserver holds beside the objects of the load.
	State func(context.Context, Cell) ([]history.StateRecord, error)
	// Finish looks at the parties once more after the drain.
	Finish func(context.Context, Cell) error
	// Remove deletes what would be left, at the end of every cell, also of a failed one.
	Remove func(context.Context, Cell) error
	Rules  Ruler
}

// Ruler makes rules of what the failpoints saw.
type Ruler = func(*matrix.Case) ([]matrix.Rule, error)

// needsWatcher refuses an event at a time when no watcher runs.
func needsWatcher(t *spec.Timeline, e spec.Event) error {
	return t.Need(t.Runs, e.What+" when no watcher runs", "start one first")
}

// needsPods refuses an event on the cell's own pods where it has none.
func needsPods(t *spec.Timeline, e spec.Event) error {
	return t.Need(t.Extra.Pods > 0, e.What+" without objects of its own", "set extra.pods")
}
