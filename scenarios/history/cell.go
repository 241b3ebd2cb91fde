package history

import (
	"github.com/watchbench/watchbench/scenarios/spec"
)

// CellSchema names the format of cell.json.
const CellSchema = "watchbench/cell/v1"

// Cell is cell.json: what was run, and what only the runner could see. Times are Unix nanoseconds, 0 where something
// did not happen.
type Cell struct {
	Schema     string            `json:"schema"`
	ID         string            `json:"id"`
	Repetition int               `json:"repetition"`
	Resumed    int               `json:"resumed,omitempty"` // the resumption that ran it, from 1
	Params     map[string]string `json:"params,omitempty"`
	Scenario   spec.Scenario     `json:"scenario"`
	Seed       uint64            `json:"seed"` // of this repetition
	CPUs       int               `json:"cpus"`

	Watcher WatcherRun `json:"watcher"`

	// Kinds are those that the watcher was to copy, custom resources apart.
	Kinds        []string `json:"kinds,omitempty"`
	Planned      int64    `json:"planned,omitempty"` // writes of the plan; 0 where time alone ends the load
	LoadStarted  int64    `json:"loadStarted,omitempty"`
	LoadFinished int64    `json:"loadFinished,omitempty"`
	// FaultsSet is when the faults of storage and watch came into force.
	FaultsSet int64 `json:"faultsSet,omitempty"`
	// Generators are the several that divided the load, in the order of their shards; empty with one.
	Generators []GeneratorRun `json:"generators,omitempty"`
	// DrainEnd is when the drain was seen to be complete, or was cut.
	DrainEnd int64 `json:"drainEnd,omitempty"`
	Cut      bool  `json:"cut,omitempty"`
	// ScrapeStarted and ScrapeFinished enclose the reading of after.prom.
	ScrapeStarted  int64 `json:"scrapeStarted,omitempty"`
	ScrapeFinished int64 `json:"scrapeFinished,omitempty"`
	// MachineBusy is the busy share of all CPUs from the load to the end of the drain; nil where it cannot be read.
	MachineBusy *float64 `json:"machineBusy,omitempty"`
	// StorageFaults is how often each fault of storage fired, by the mock's counters at the end of the drain.
	StorageFaults map[string]int64 `json:"storageFaults,omitempty"`
	// Fired lists the faults of storage as they were healed, WatchFired those of the watch.
	Fired      []Firing `json:"fired,omitempty"`
	WatchFired []Firing `json:"watchFired,omitempty"`
	// LedgerBytes is the size of the ledger's file, which has no end mark.
	LedgerBytes int64 `json:"ledgerBytes,omitempty"`
	// Refusal is how a watcher ended that must not talk to storage; nil in other cells.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Pods are the parties' where the run was in a cluster.
	Pods []Pod `json:"pods,omitempty"`
	// Lost says which Pod the cluster ended, and how: nothing else of the cell is recorded.
	Lost string `json:"lost,omitempty"`
}

// WatcherRun is the watcher as it was started. After a restart, Started and Ready are those of the process that was
// there at the end.
type WatcherRun struct {
	Command []string `json:"command,omitempty"`
	Version string   `json:"version,omitempty"`
	// Own says that it is k8s-watch, which has /readyz and metrics of its own.
	Own      bool  `json:"own"`
	Started  int64 `json:"started,omitempty"`
	Ready    int64 `json:"ready,omitempty"`
	Restarts int   `json:"restarts,omitempty"`
	// Joined says that a second watcher worked beside the first for a while, or that shards went from one replica to
	// another: no account is of all requests.
	Joined bool `json:"joined,omitempty"`
	// FirstSync and FirstSyncCPU, in seconds, are of the first process, from its start until it was ready.
	FirstSync    *float64 `json:"firstSync,omitempty"`
	FirstSyncCPU *float64 `json:"firstSyncCPU,omitempty"`
	// AskCPU is the CPU time, in seconds, that reading its metrics took just before the load.
	AskCPU *float64 `json:"askCPU,omitempty"`
	// Stored is when storage was seen to hold what existed before the load, and the watcher idle; StoredCPU is its CPU
	// time until then, in seconds. 0 where nothing existed.
	Stored    int64    `json:"stored,omitempty"`
	StoredCPU *float64 `json:"storedCPU,omitempty"`
	// Lists and Watches are the requests that a simulated API server had from it until the end of the drain; nil with
	// another API server.
	Lists    *int64 `json:"lists,omitempty"`
	Watches  *int64 `json:"watches,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"` // nil in a cut cell, whose watcher is killed
	// Exits are the ends of all processes, in the order of their starts.
	Exits []Exit `json:"exits,omitempty"`
}

// GeneratorRun is one of several generators, with what churn.Stats says. Times are Unix nanoseconds.
type GeneratorRun struct {
	At      int64  `json:"at"`                // when it was told to begin
	Started int64  `json:"started,omitempty"` // when it began
	Planned int64  `json:"planned,omitempty"` // writes of its shard; 0 where time alone ends the load
	Done    int64  `json:"done"`              // of them acknowledged
	Failure string `json:"failure,omitempty"` // how it ended too early, or its op log
}

// Exit is how a watcher process ended. One that was neither terminated nor killed ended by itself; one that was both
// did not end after SIGTERM.
type Exit struct {
	Process    string `json:"process"`
	Terminated bool   `json:"terminated,omitempty"` // by SIGTERM
	Killed     bool   `json:"killed,omitempty"`     // by SIGKILL
	ExitCode   int    `json:"exitCode"`             // -1 after a signal
	// Panics is how many its log has, FirstPanic the first one's line.
	Panics     int    `json:"panics,omitempty"`
	FirstPanic string `json:"firstPanic,omitempty"`
}

// Firing is a fault that was in force, as mock and proxy count it.
type Firing struct {
	Name  string `json:"name"`
	Fired int64  `json:"fired"`
	Keys  int64  `json:"keys"` // objects it hit
}

// Refusal is the end of a watcher that was given a storage it must not trust.
type Refusal struct {
	Ended    bool    `json:"ended"`
	ExitCode int     `json:"exitCode"`
	LastLine string  `json:"lastLine"` // of its log
	Seconds  float64 `json:"seconds"`  // from its start
}
