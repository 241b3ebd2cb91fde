package check

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// History is everything recorded about one cell. The sequences are read front to back, the ledger's up to twice, the
// others once; a nil one was not recorded, and what depends on it is not judged.
type History struct {
	Meta
	Ops    iter.Seq2[oplog.Record, error]
	Ledger iter.Seq2[ledger.Entry, error]
	State  iter.Seq2[history.StateRecord, error]
	// Former has states that storage was sent and holds no more; see history.FileFormer.
	Former  iter.Seq2[history.StateRecord, error]
	Samples []history.Sample
	Marks   []history.Mark
	Leases  []history.Lease
	// Bounds computes what G7 and G8 are judged by, once the logs have been read. Without it Meta's Ceilings and Isolation
	// hold.
	Bounds func(Measured) (*Ceilings, *Isolation)
	// Queue is how many events of one kind a queue of the watcher holds, where its strategy sends every state; below that
	// many it has nothing to merge. 0: it merges by design, or is unknown.
	Queue int64
	// Dir is the folder whose files are searched for canaries (G13); empty when nothing was saved.
	Dir string
}

// Measured are figures of the record for History.Bounds.
type Measured struct {
	Operations int64 // records of the op log
	PeakLive   int   // objects that existed at once, at most, by the op log
	Changes    iter.Seq[history.Change]
}

// Meta is history.json: how the cell ran and what the watcher said of itself. All times are Unix nanoseconds, all
// durations nanoseconds; 0 means unknown.
type Meta struct {
	Cell string `json:"cell,omitempty"`
	// Cluster is the cluster id of the judged requests; empty takes all.
	Cluster   string `json:"cluster,omitempty"`
	Strategy  string `json:"strategy,omitempty"`
	Mode      string `json:"mode,omitempty"`      // ModeFaithful (default) or ModeConditional
	QueueFull string `json:"queueFull,omitempty"` // coalesce, block or drop; empty for an external watcher
	Cut       bool   `json:"cut,omitempty"`       // the drain limit was reached with work left

	Rules Rules `json:"rules"`

	// Counters is the watcher's own account; nil for a watcher that gives none.
	Counters *Counters `json:"counters,omitempty"`

	// WatcherReady is when the watcher had completed its first lists. Versions the apiserver acknowledged before it may
	// never have been received. When it is 0, the prepare phase is treated as before it.
	WatcherReady int64 `json:"watcherReady,omitempty"`
	LoadStarted  int64 `json:"loadStarted,omitempty"`
	LoadFinished int64 `json:"loadFinished,omitempty"`
	// Until ends the judged history: requests received and operations started later (tear-down) are ignored. 0 is the end
	// of the record.
	Until int64 `json:"until,omitempty"`

	StorageTimeout int64 `json:"storageTimeout,omitempty"` // the watcher's, per request
	SyncPeriod     int64 `json:"syncPeriod,omitempty"`     // of the synchronizer (G12); 0: there is none

	// Shards is how many Leases the replicas divide among them: 1 with a leader, 0 without an election.
	Shards int `json:"shards,omitempty"`
	// ShardBy is what of an object decides its shard; empty with one.
	ShardBy kubeapi.By `json:"shardBy,omitempty"`

	// Ceilings (G7) and Isolation (G8) are inputs of the judgement; files of former versions carry them.
	Ceilings  *Ceilings  `json:"ceilings,omitempty"`
	Isolation *Isolation `json:"isolation,omitempty"`
	// Withheld is the number of watch events per kind that a fault kept from the watcher.
	Withheld map[string]int64 `json:"withheld,omitempty"`
	// Canaries are secret values planted in objects that must be masked (G13). history.json is the one file not searched
	// for them.
	Canaries []string `json:"canaries,omitempty"`
}

// Storage modes.
const (
	ModeFaithful    = "faithful"    // unconditional upsert, as the real server
	ModeConditional = "conditional" // uid and resourceVersion preconditions
)

// QueueFullDrop is the overflow policy under which dropped events are lawful.
const QueueFullDrop = "drop"

// Counters is the watcher's account of its events, scraped after the drain (or at the cut). Total is the sum over all
// kinds.
type Counters struct {
	ScrapeStarted  int64                    `json:"scrapeStarted,omitempty"`
	ScrapeFinished int64                    `json:"scrapeFinished,omitempty"`
	Total          result.Events            `json:"total"`
	Kinds          map[string]result.Events `json:"kinds,omitempty"`
	// Relists is the number of LISTs after the first, per kind. A relist may skip versions, which are then never received.
	Relists map[string]int64 `json:"relists,omitempty"`
	// StorageSucceeded and StorageFailed are the calls the watcher counted with status success and failure, per kind; nil
	// when it has no such counter.
	StorageSucceeded map[string]int64 `json:"storageSucceeded,omitempty"`
	StorageFailed    map[string]int64 `json:"storageFailed,omitempty"`
	// FreshnessCount is the number of observations of the freshness histogram.
	FreshnessCount map[string]int64 `json:"freshnessCount,omitempty"`
	// OldestUnsent is the age in seconds of the oldest unsent event.
	OldestUnsent *float64 `json:"oldestUnsentSeconds,omitempty"`
}

// Ceilings bound a watcher's resources (G7). A nil ceiling is not judged.
type Ceilings struct {
	RSSBytes   *float64 `json:"rssBytes,omitempty"`
	Goroutines *float64 `json:"goroutines,omitempty"`
	Sockets    *float64 `json:"sockets,omitempty"`
	// GoroutinesReturn and SocketsReturn are how far above the baseline (the last sample before the load) the last sample
	// may be.
	GoroutinesReturn *float64 `json:"goroutinesReturn,omitempty"`
	SocketsReturn    *float64 `json:"socketsReturn,omitempty"`
	// SlopePercentPerMinute bounds the growth of resident memory, fitted over the last SlopeWindow of the load.
	SlopePercentPerMinute *float64 `json:"slopePercentPerMinute,omitempty"`
	SlopeWindow           int64    `json:"slopeWindow,omitempty"`
}

// Isolation compares the freshness of what should not have been affected to the same in an undisturbed cell (G8).
// Seconds.
type Isolation struct {
	Bystander         *result.Quantiles `json:"bystander,omitempty"`
	BystanderBaseline *result.Quantiles `json:"bystanderBaseline,omitempty"`
	Others            *result.Quantiles `json:"others,omitempty"`
	OthersBaseline    *result.Quantiles `json:"othersBaseline,omitempty"`
}

// isolationFactor is G8's bound on freshness p99 against the baseline.
const isolationFactor = 2.0

// Load opens the history in a cell's folder. history.json and the ledger must be there; without op log, state, marks or
// samples the checks that need them are not judged. The big files are read by Judge, not here.
func Load(dir string) (*History, error) {
	h := &History{Dir: dir}
	if err := history.LoadJSON(dir, history.FileMeta, &h.Meta); err != nil {
		return nil, err
	}
	if err := h.Validate(); err != nil {
		return nil, &history.FormatError{File: filepath.Join(dir, history.FileMeta), Err: err}
	}
	var err error
	if h.Ledger, err = history.Ledger(dir); err != nil {
		return nil, err
	}
	if h.Ledger == nil {
		return nil, &history.FormatError{File: filepath.Join(dir, history.FileLedger),
			Err: errors.New("no ledger in this folder: is it the folder of one cell?")}
	}
	if h.Ops, err = history.Ops(dir); err != nil {
		return nil, err
	}
	if h.State, err = history.State(dir); err != nil {
		return nil, err
	}
	if h.Former, err = history.Former(dir); err != nil {
		return nil, err
	}
	if h.Marks, err = history.LoadLines[history.Mark](dir, history.FileMarks); err != nil {
		return nil, err
	}
	if h.Leases, err = history.LoadLines[history.Lease](dir, history.FileLeases); err != nil {
		return nil, err
	}
	if h.Samples, err = history.LoadLines[history.Sample](dir, history.FileSamples); err != nil {
		return nil, err
	}
	// A reading asked for between two ticks may have been noted before that of a tick.
	slices.SortStableFunc(h.Samples, func(a, b history.Sample) int { return cmp.Compare(a.Time, b.Time) })
	return h, nil
}

// Validate reports what the judge could not work with.
func (m *Meta) Validate() error {
	switch m.Mode {
	case "", ModeFaithful, ModeConditional:
	default:
		return fmt.Errorf("mode %q: want %s or %s", m.Mode, ModeFaithful, ModeConditional)
	}
	switch m.ShardBy {
	case "", kubeapi.ByName, kubeapi.ByNamespace, kubeapi.ByUID:
	default:
		return fmt.Errorf("shardBy %q: want name, namespace or uid", m.ShardBy)
	}
	for i, mask := range m.Rules.Masks {
		if mask.Kind == "" || len(mask.Path) == 0 {
			return fmt.Errorf("rules.masks[%d]: want a kind and a path", i)
		}
	}
	return nil
}

// Rules say what the watcher is meant to copy and in what form, in the words of the original's filter file (contract
// §2.3, §2.4, §7.2).
type Rules struct {
	Kinds            []string `json:"kinds,omitempty"`     // watched kinds; empty: every kind recorded
	Namespace        string   `json:"namespace,omitempty"` // only this namespace; cluster scope is then skipped
	IgnoreNamespaces []string `json:"ignoreNamespaces,omitempty"`
	IgnoreNames      []string `json:"ignoreNames,omitempty"`
	// CustomKinds are kinds of custom resources: name and namespace filters and masks do not apply to them.
	CustomKinds []string `json:"customKinds,omitempty"`

	KeepManagedFields bool   `json:"keepManagedFields,omitempty"`
	Masks             []Mask `json:"masks,omitempty"`
}

// Mask is a field that must not leave the watcher.
type Mask struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"` // empty: all
	Path      []string `json:"path"`
}

func (m *Mask) meant(kind, namespace string) bool {
	return m.Kind == kind && (m.Namespace == "" || m.Namespace == namespace)
}

// Kinds with rules of their own.
const (
	kindEvent         = "Event"
	kindNode          = "Node"
	kindLease         = "Lease"
	kindPod           = "Pod"
	kindSecret        = "Secret"
	kindExportService = "ExportService"
	kindState         = "K8sWatchState"
)

// Kinds a watcher writes that come from no watch (contract §5; the last is k8s-watch's own record of the kinds it
// collects).
var unwatchedKinds = []string{"IPPoolStatic", "IPPoolStaticDetail", kindState}

// Name prefixes of Events in kube-system that are kept and bypass the filters (contract §2.3 rule 2).
var keptSystemEvents = []string{"kube-", "kubedns-", "nginx-proxy", "bcs-"}

// Unwatched reports whether a watcher writes rows of the kind that come from no watch: the apiserver has no such
// objects.
func Unwatched(kind string) bool { return slices.Contains(unwatchedKinds, kind) }

// Watches reports whether objects of the kind are expected in storage at all.
func (r *Rules) Watches(kind string) bool {
	if Unwatched(kind) {
		return false
	}
	return len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)
}

// Wants reports whether the object of that key is expected in storage.
func (r *Rules) Wants(kind, namespace, name string) bool {
	if !r.Watches(kind) {
		return false
	}
	if r.Namespace != "" && namespace != r.Namespace {
		return false
	}
	if slices.Contains(r.CustomKinds, kind) {
		return true
	}
	if kind == kindEvent && namespace == "kube-system" {
		return slices.ContainsFunc(keptSystemEvents, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	if namespace != "" && slices.Contains(r.IgnoreNamespaces, namespace) {
		return false
	}
	return !slices.Contains(r.IgnoreNames, name)
}
