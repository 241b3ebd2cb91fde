// Package result defines results.json, the record of one run: what was asked, where it ran, and what was measured in
// every cell. Durations are in seconds unless the field's name says otherwise; a nil pointer means "not known", which
// is never the same as 0.
package result

import "time"

// Schema names the format; a reader refuses any other.
const Schema = "watchbench/results/v1"

// Results is the root of results.json.
type Results struct {
	Schema      string         `json:"schema" jsonschema:"enum=watchbench/results/v1"`
	Run         Run            `json:"run"`
	Environment Environment    `json:"environment"`
	Scenario    map[string]any `json:"scenario"` // the resolved scenario as it was run
	Cells       []Cell         `json:"cells"`
	Thresholds  []Threshold    `json:"thresholds,omitempty"` // the scenario's, at every point of its matrix
	Contests    []Contest      `json:"contests,omitempty"`   // what the points are compared by, and which lead
}

// Run identifies one run.
type Run struct {
	ID          string    `json:"id"`
	Scenario    string    `json:"scenario"` // its metadata.name
	Description string    `json:"description,omitempty"`
	Started     time.Time `json:"started"`
	Finished    time.Time `json:"finished"`
	Seed        uint64    `json:"seed"`
	Order       []string  `json:"order"`                 // cell ids in the order they ran
	Decision    *Decision `json:"decision,omitempty"`    // if the scenario decides and the run completed
	Interrupted bool      `json:"interrupted,omitempty"` // ended early; the cells so far are kept
	Command     []string  `json:"command,omitempty"`
	// Resumed are the times at which the run was taken up again to run cells that were invalid or missing.
	Resumed []Resumption `json:"resumed,omitempty"`
	// Again are the cells that were invalid and run once more, and why the first try was.
	Again []Rerun `json:"again,omitempty"`
	// Crashed are the cells in which the watcher ended by itself: they have no record, and are not run once more.
	Crashed []Crash `json:"crashed,omitempty"`
}

// Crash is a watcher that ended by itself, and how.
type Crash struct {
	ID  string `json:"id"` // of the cell
	Why string `json:"why"`
}

// Resumption is one resumption. The Results' own environment describes the first start.
type Resumption struct {
	Started     time.Time   `json:"started"`
	Finished    time.Time   `json:"finished"`
	Command     []string    `json:"command,omitempty"`
	Environment Environment `json:"environment"`
	Cells       []Rerun     `json:"cells"` // in the order in which they were run
}

// Rerun is a cell that was run after its turn, and why: it was missing, or invalid for a reason.
type Rerun struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Environment helps a reader judge absolute figures.
type Environment struct {
	Commit     string            `json:"commit,omitempty"`
	Dirty      bool              `json:"dirty,omitempty"`
	GoVersion  string            `json:"goVersion"`
	Modules    map[string]string `json:"modules,omitempty"`
	Programs   map[string]string `json:"programs,omitempty"` // that were started, by name, with their SHA-256
	Provider   string            `json:"provider"`           // embedded, kind, kubeconfig
	Kubernetes string            `json:"kubernetes,omitempty"`
	Etcd       string            `json:"etcd,omitempty"`
	Flags      []string          `json:"flags,omitempty"`     // of kube-apiserver, where known
	EtcdFlags  []string          `json:"etcdFlags,omitempty"` // where known
	CPUModel   string            `json:"cpuModel,omitempty"`
	CPUs       int               `json:"cpus"`
	MemoryMiB  int64             `json:"memoryMiB,omitempty"`
	Cgroup     map[string]string `json:"cgroup,omitempty"`
	Kernel     string            `json:"kernel,omitempty"`
	LoadBefore []float64         `json:"loadBefore,omitempty"` // load average 1, 5, 15 min
	LoadAfter  []float64         `json:"loadAfter,omitempty"`
	StealPct   float64           `json:"stealPercent"` // of CPU time during the run
	// Pods says where the parties ran, if in a cluster: then CPUs, memory and load average are of the runner's machine.
	Pods *Pods `json:"pods,omitempty"`
}

// Pods says how the parties of a run in a cluster were started, and on what.
type Pods struct {
	Namespace string            `json:"namespace"`
	Registry  string            `json:"registry,omitempty"` // of the images; empty: they were loaded into kind
	Tag       string            `json:"tag"`                // of the images
	Limits    map[string]string `json:"limits,omitempty"`   // of each Pod, by resource
	Nodes     []Node            `json:"nodes,omitempty"`    // that Pods ran on
	Images    map[string]string `json:"images,omitempty"`   // by name, with their digests
}

// Node is a node of a cluster.
type Node struct {
	Name      string `json:"name"`
	CPUs      int    `json:"cpus"`
	MemoryMiB int64  `json:"memoryMiB"`
	Kubelet   string `json:"kubelet"` // version
	Kernel    string `json:"kernel,omitempty"`
}

// Cell is one scenario at one point of its matrix, one repetition.
type Cell struct {
	ID             string            `json:"id"`
	Params         map[string]string `json:"params"` // matrix point, e.g. watcher.strategy=keyed, load=heavy
	Repetition     int               `json:"repetition"`
	Resumed        int               `json:"resumed,omitempty"` // the resumption that ran it, from 1
	Valid          bool              `json:"valid"`
	InvalidReasons []string          `json:"invalidReasons,omitempty"`
	// LateReasons are the InvalidReasons that are about time: a generator or a storage behind its plan.
	LateReasons []string           `json:"lateReasons,omitempty"`
	Cut         bool               `json:"cut,omitempty"` // drain limit reached; drain figures are projected
	CutFraction float64            `json:"cutFraction,omitempty" jsonschema:"minimum=0,maximum=1"`
	Load        Load               `json:"load"`
	Writer      Writer             `json:"writer"`
	Handler     Handler            `json:"handler"`
	Storage     Storage            `json:"storage"`
	Freshness   *Quantiles         `json:"freshness,omitempty"`
	Bystander   Bystander          `json:"bystander"`
	Watcher     Watcher            `json:"watcher"`
	Events      *Events            `json:"events,omitempty"`
	Checks      map[string]Check   `json:"checks"` // G1…G14
	Parties     map[string]Party   `json:"parties"`
	Bottleneck  Bottleneck         `json:"bottleneck"`
	Series      map[string]Series  `json:"series,omitempty"`
	Queues      map[string]float64 `json:"queues,omitempty"` // events handled per Pod queue
	Faults      map[string]int64   `json:"faults,omitempty"` // how often each fault fired
	Robustness  *Robustness        `json:"robustness,omitempty"`
	// Pace is whether storage kept up; nil in a closed loop, whose writes wait, where the plan has no steady rate, where
	// the load is short against storage's latency, and where something was done to the parties meanwhile.
	Pace *Pace `json:"pace,omitempty"`
	// Readers is about the readers during the load.
	Readers *Readers `json:"readers,omitempty"`
	// FreshnessUnknown says why there is no freshness where the clocks of nodes differ too much; the bystander's included.
	FreshnessUnknown string `json:"freshnessUnknown,omitempty"`
}

// Pace is how the writes of an open load fared over the second half of it.
type Pace struct {
	KeepsUp    bool    `json:"keepsUp"`    // the backlog did not grow
	WrittenQPS float64 `json:"writtenQPS"` // writes per second that the apiserver took
	// GrowthQPS is by how many writes per second those grew that storage was owed; below 0 where they became fewer.
	GrowthQPS float64 `json:"growthQPS"`
	// SentPerEvent is requests that storage acknowledged, per event that they settled, for
	// Pods, over load and drain: below 1 where one request had the latest of several states.
	SentPerEvent *float64 `json:"sentPerEvent,omitempty"`
}

// Quantiles of a distribution. The unit is given by the field that holds it: seconds unless that name says otherwise.
type Quantiles struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"` // the maximum below LeastForP99 values
	Max   float64 `json:"max"`
	// HDR is the base64 HdrHistogram V2 encoding in microseconds, so that runs can
	// be merged; percentiles are never averaged.
	HDR string `json:"hdr,omitempty"`
}

// LeastForP99 is how many values a 99th percentile needs to be one: of fewer it is the maximum.
const LeastForP99 = 100

// P99IsMax reports whether there are too few values for a 99th percentile.
func (q *Quantiles) P99IsMax() bool { return q.Count < LeastForP99 }

// Load is what the generator requested and achieved.
type Load struct {
	Model   string  `json:"model"`             // closed, open
	Arrival string  `json:"arrival,omitempty"` // open loop: spacing of the writes
	Threads int     `json:"threads,omitempty"`
	ThinkS  float64 `json:"thinkSeconds,omitempty"` // closed loop: pause of a thread before each write
	// closed loop that a duration may end, so that the number of writes follows the answers
	Timed  bool  `json:"timed,omitempty"`
	Warmup int64 `json:"warmupOperations,omitempty"` // sent before the load, and not counted
	// writes that are sent to one Pod at once, without waiting for answers
	Prefill   int64   `json:"prefill,omitempty"` // Pods that existed before the load
	DurationS float64 `json:"durationSeconds"`
	Planned   int64   `json:"planned"` // attempted, where time alone ends the load
	Done      int64   `json:"done"`
	Errors    int64   `json:"errors"`
	// of several generators: the writes of each that succeeded
	Generators []int64 `json:"generators,omitempty"`
	// open loop only: the mean rate asked for; not of a profile, whose rate is of pods
	OfferedQPS *float64   `json:"offeredQPS,omitempty"`
	PlannedQPS *float64   `json:"plannedQPS,omitempty"` // what the plan has, by chance (poisson) another rate
	QPS        float64    `json:"qps"`
	LagMs      *Quantiles `json:"lagMs,omitempty"`             // actual minus intended dispatch
	FromIntent *Quantiles `json:"latencyIntendedMs,omitempty"` // apiserver latency from the intended start
	FromActual *Quantiles `json:"latencyActualMs,omitempty"`   // from the actual start
}

// Writer is the queue all kinds share.
type Writer struct {
	Capacity    int      `json:"capacity"`
	FullSeconds *float64 `json:"fullSeconds,omitempty"`
}

// External replaces the strategy of a watcher that is not ours.
const External = "external"

// Handler is the Pod handler stage.
type Handler struct {
	Strategy       string   `json:"strategy"` // or External
	Queues         int      `json:"queues"`
	Workers        int      `json:"workers"`
	Capacity       int      `json:"capacity"`
	DrainSeconds   *float64 `json:"drainSeconds,omitempty"`          // first event of the load to last acknowledgement
	DrainAfterLoad *float64 `json:"drainAfterLoadSeconds,omitempty"` // from the end of the load
	DrainProjected bool     `json:"drainProjected,omitempty"`
	Owed           *int64   `json:"owedEvents,omitempty"` // for Pods, at the cut: the projection is for these
	// 5th percentile, from an answer to the next request for the same Pod, which waited
	GapSeconds        *float64 `json:"gapSeconds,omitempty"`
	Imbalance         *float64 `json:"imbalance,omitempty"`         // busiest queue's share ÷ mean share
	MaxDepth          *float64 `json:"maxDepth,omitempty"`          // most Pod events that storage was owed at once
	LittleDiscrepancy *float64 `json:"littleDiscrepancy,omitempty"` // |L − λW| ÷ L
}

// Storage is the mock as configured and as seen.
type Storage struct {
	LatencySpec   string     `json:"latencySpec"`
	LatencyMeanMs float64    `json:"latencyMeanMs"` // configured, as the next two
	LatencyP50Ms  float64    `json:"latencyP50Ms,omitempty"`
	LatencyP99Ms  float64    `json:"latencyP99Ms,omitempty"`
	SeenMs        *Quantiles `json:"latencyMs,omitempty"`            // as the mock served it
	SeenMeanMs    *float64   `json:"latencyMeanSeenMs,omitempty"`    // as the mock served it
	WatcherMeanMs *float64   `json:"latencyMeanWatcherMs,omitempty"` // as the watcher's own clock has it
	Requests      int64      `json:"requests"`
	QPS           *float64   `json:"qps,omitempty"`        // over the busy window
	LimitQPS      *float64   `json:"limitQPS,omitempty"`   // concurrency ÷ mean latency
	Efficiency    *float64   `json:"efficiency,omitempty"` // qps ÷ limitQPS
	// EfficiencyBacklog is the same over the time in which at least as many objects were owed to storage as requests may
	// be in flight, by op log and ledger. nil if that was less than ten mean latencies.
	EfficiencyBacklog *float64 `json:"efficiencyBacklog,omitempty"`
	BacklogSeconds    *float64 `json:"backlogSeconds,omitempty"` // that time
	// received for Pods, over the events that the watcher received
	RequestsPerEvent *float64 `json:"requestsPerEvent,omitempty"`
	// in the bodies of these requests, over the same events
	BytesPerEvent     *float64 `json:"bytesPerEvent,omitempty"`
	ConnectionsOpened *float64 `json:"connectionsOpened,omitempty"` // by the watcher, during load and drain
	// Digest is the SHA-256 of what storage held in the end: of each object a line with kind, namespace, name, uid and
	// content, tabs between, in the order of bytes. resourceVersions are not part of the content. Empty in a cut cell.
	Digest string `json:"digest,omitempty"`
}

// Bystander is the slow trickle of another kind during the load.
type Bystander struct {
	Kind      string     `json:"kind,omitempty"`
	Freshness *Quantiles `json:"freshness,omitempty"`
}

// Watcher is the process under test.
type Watcher struct {
	// Name labels rows, beside the strategy of k8s-watch or instead of one.
	Name       string   `json:"name,omitempty"`
	Command    []string `json:"command,omitempty"`
	Version    string   `json:"version,omitempty"`
	CPUCores   *float64 `json:"cpuCores,omitempty"` // cpuSeconds ÷ cpuWindowSeconds
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	CPUWindow  *float64 `json:"cpuWindowSeconds,omitempty"` // between the readings around load and drain
	// Asked is how many requests for metrics or health were made to the watcher between these
	// readings, and AskedCPU, in seconds, what they cost it. Where that is more than 2 % of its
	// CPU time, it is Disturbed: cores, CPU and allocations per request or event are not known.
	Asked             *int64   `json:"asked,omitempty"`
	AskedCPU          *float64 `json:"askedCPUSeconds,omitempty"`
	Disturbed         bool     `json:"disturbed,omitempty"`
	CPUMicrosPerReq   *float64 `json:"cpuMicrosPerRequest,omitempty"`
	CPUMicrosPerEvent *float64 `json:"cpuMicrosPerEvent,omitempty"`
	// AllocsPerEvent and AllocBytesPerEvent are what its Go runtime allocated during load and
	// drain, over the events that it received; nil without the Go metrics of its /metrics.
	AllocsPerEvent     *float64 `json:"allocsPerEvent,omitempty"`
	AllocBytesPerEvent *float64 `json:"allocBytesPerEvent,omitempty"`
	// Lists and Watches are the requests that a simulated API server saw from it, from its
	// start to the end of the drain: each page of a list is one; a watch that begins as a
	// streaming list is a watch. nil with an API server that does not distinguish them.
	Lists         *int64   `json:"lists,omitempty"`
	Watches       *int64   `json:"watches,omitempty"`
	RSSPeakMiB    *float64 `json:"rssPeakMiB,omitempty"`
	RSSEndMiB     *float64 `json:"rssEndMiB,omitempty"`
	RSSHighestMiB *float64 `json:"rssHighestMiB,omitempty"` // since the start of the process, first lists included
	HeapMiB       *float64 `json:"heapMiB,omitempty"`
	// ReplicaCPUCores and ReplicaRSSPeakMiB are the most that one of several watchers took that share the work; all other
	// figures here are of them together.
	ReplicaCPUCores   *float64 `json:"replicaCPUCores,omitempty"`
	ReplicaRSSPeakMiB *float64 `json:"replicaRSSPeakMiB,omitempty"`
	NetKiBps          *float64 `json:"netKiBps,omitempty"` // all peers, both directions
	NetInKiBps        *float64 `json:"netInKiBps,omitempty"`
	NetOutKiBps       *float64 `json:"netOutKiBps,omitempty"`
	Goroutines        *float64 `json:"goroutines,omitempty"`
	// from the start of the process until its lists were complete
	FirstSync    *float64 `json:"firstSyncSeconds,omitempty"`
	FirstSyncCPU *float64 `json:"firstSyncCPUSeconds,omitempty"` // CPU time of the process in it
	// from the start of the process until storage had acknowledged all that existed before the load
	Stored    *float64 `json:"storedSeconds,omitempty"`
	StoredCPU *float64 `json:"storedCPUSeconds,omitempty"` // CPU time of the process in it
	ExitCode  *int     `json:"exitCode,omitempty"`
	// Restarts is how many processes were started after the first. The counters are
	// those of the last one; CPU and memory are those of all, traffic is not known.
	Restarts int `json:"restarts,omitempty"`
}

// Events is the watcher's own account (G6); nil where the watcher gives none.
type Events struct {
	Received  int64  `json:"received"`
	Sent      int64  `json:"sent"`
	Coalesced int64  `json:"coalesced"`
	Filtered  int64  `json:"filtered"`
	Parked    int64  `json:"parked"`
	Queued    int64  `json:"queued"`
	Dropped   int64  `json:"dropped"`
	Retried   int64  `json:"retried"`
	Lost      *int64 `json:"lost,omitempty"`      // keys whose final state storage does not hold, from the ledger
	Reordered *int64 `json:"reordered,omitempty"` // order violations, from the ledger
}

// Verdicts of a check.
const (
	Pass      = "pass"
	Fail      = "fail"
	Allowed   = "fail-allowed" // failed, and the scenario expects that it may
	NoPower   = "no-power"     // nothing failed, and too little could have
	NotJudged = "not-judged"
	NotApply  = "not-applicable"
)

// Check is the verdict on one guarantee.
type Check struct {
	Verdict    string `json:"verdict" jsonschema:"enum=pass,enum=fail,enum=fail-allowed,enum=no-power,enum=not-judged,enum=not-applicable"`
	Violations int64  `json:"violations,omitempty"`
	Judged     int64  `json:"judged"` // how many facts it looked at; 0 is never a pass
	// Power is how many pairs of states could have gone wrong; nil where a check has no
	// such figure. Without a violation, less than MinPower is no-power instead of pass.
	Power          *int64 `json:"power,omitempty"`
	MinPower       int64  `json:"minPower,omitempty"`
	Counterexample string `json:"counterexample,omitempty"` // the first one: which key, versions, requests
	// Further are the counterexamples of further violations, 49 at most.
	Further []string `json:"furtherCounterexamples,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// Party is the machine use of one process. What one used that ended before the last
// reading, or began after the first, is not known.
type Party struct {
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	RSSPeakMiB float64  `json:"rssPeakMiB"`
}

// Bottleneck names the stage that limited the cell, with the figures that say so.
type Bottleneck struct {
	Stage string `json:"stage"`
	Why   string `json:"why"`
}

// Series is a sampled curve; T is in seconds from the start of the load (negative
// before it), V in Unit. A gap is an absent sample.
type Series struct {
	Unit string    `json:"unit"`
	T    []float64 `json:"t"`
	V    []float64 `json:"v"`
}
