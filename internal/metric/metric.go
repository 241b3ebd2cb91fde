// Package metric holds the names of the metrics that the watcher and the storage
// mock expose, so that the runner, the dashboards and the rules read what the
// processes write. The comments of the watcher's names say what a growing value means
// and what to do; they are the text of docs/k8s-watch-reference.md, in Markdown. After a
// change: go test ./watcher -run TestReference -update
package metric

// Metrics of the original bcs-k8s-watch, kept with their labels (contract §9).
const (
	// Grows with the load. If those of `status="failure"` grow, storage refuses or fails: the log says why.
	StorageRequests = "bkbcs_k8swatch_storage_request_total_num"
	// Storage becomes slower. Look at storage; `adaptive` follows by itself up to `bcs.maxInFlight`.
	StorageLatency = "bkbcs_k8swatch_storage_request_latency_time"
	// More changes come than storage takes. See [k8swatch_events_queued](#k8swatch_events_queued). `handler` is a kind,
	// `Pod_<i>`, `Event_<i>` or `writer_normal_queue`.
	HandlerQueue = "bkbcs_k8swatch_queue_handler_total_num"
	// Events are lost because a queue stayed full, which only `bcs.queueFull` `drop` allows: use `coalesce`, or see why
	// storage falls behind.
	HandlerDiscards = "bkbcs_k8swatch_queue_handler_discard_events"
	// Changes wait longer before a worker takes them. See [k8swatch_events_queued](#k8swatch_events_queued). bcs-k8s-watch
	// has this metric and never fills it.
	QueueLatency = "bkbcs_k8swatch_queue_latency_time"
	// The cluster has more objects, and the process needs more memory. Look at its limit; leave out kinds that nobody asks
	// for.
	CacheKeys = "bcs_k8s_watch_cache_keys_num"
	// The same as [k8swatch_events_queued](#k8swatch_events_queued), under bcs-k8s-watch's name.
	WatcherQueue = "bcs_k8s_watch_queue_watcher_queue_num"
)

// WriterQueueHandler is the handler label of the Writer queue.
const WriterQueueHandler = "writer_normal_queue"

// Metrics of this watcher. The conservation law over them, per kind (G6):
// received = sent + coalesced + filtered + parked + queued + dropped, where
// queued includes events in flight and events that wait for a retry.
const (
	// Grows with the changes in the cluster. received = sent + coalesced + filtered + parked + queued + dropped, per kind.
	EventsReceived = "k8swatch_events_received_total"
	// Grows with the load. If it stands still while `k8swatch_events_queued` is above 0, storage takes nothing.
	EventsSent = "k8swatch_events_sent_total"
	// Changes of one object arrived faster than storage took them, and only the latest was sent. Normal under load and
	// after an outage; a strategy that sends every version is `keyed`.
	EventsCoalesced = "k8swatch_events_coalesced_total"
	// Grows with changes that the filter file, or the skipping of Node heartbeats, keeps back: nothing to do.
	// `unreadable`: objects that cannot be decoded are skipped and their rows stay; the log names them. Ask the owner of
	// the API.
	EventsFiltered = "k8swatch_events_filtered_total"
	// Events are lost: a queue with `bcs.queueFull` `drop`, Kubernetes Events beyond their bound, or a drain that took too
	// long. The log says which. Except for Kubernetes Events the next comparison brings them. Raise `bcs.drainTimeout`
	// with the Pod's `terminationGracePeriodSeconds` if it is the drain.
	EventsDropped = "k8swatch_events_dropped_total"
	// Kubernetes Events are lost because storage was away too long, or takes too few. Raise `bcs.eventQueueLen`,
	// `bcs.eventQueueBytes` or `bcs.eventMaxAge`, by `reason`, if they are worth the memory.
	EventsShed = "k8swatch_events_shed_total"
	// Storage refuses or does not answer at first. The log says why; a few are no harm.
	EventsRetried = "k8swatch_events_retried_total"
	// Storage refuses these objects while it takes others: too large, or not to its liking. The log names some; storage's
	// answer says why. Each is tried again at its next change and at the next comparison.
	EventsParked = "k8swatch_events_parked"
	// Storage takes less than changes come. Look at `k8swatch_storage_endpoint_up` and the latency of storage; if it is
	// only slow, raise `bcs.maxInFlight` (`adaptive`) or `bcs.podQueueNum` as far as it can stand.
	EventsQueued = "k8swatch_events_queued"

	// As [k8swatch_events_queued](#k8swatch_events_queued), by queue. One that grows alone under `partitioned` has a busy
	// object.
	QueueDepth = "k8swatch_queue_depth"
	// Changes at a reload only.
	QueueCapacity = "k8swatch_queue_capacity"
	// Grows with the load.
	QueueHandled = "k8swatch_queue_handled_total"
	// Divided by `k8swatch_queue_handled_total` it is the mean wait; if that grows, see
	// [k8swatch_events_queued](#k8swatch_events_queued).
	QueueWaitSeconds = "k8swatch_queue_wait_seconds_total"
	// Its rate is the mean depth. See [k8swatch_events_queued](#k8swatch_events_queued).
	QueueDepthTime = "k8swatch_queue_depth_seconds_total"
	// All queues together are full: more changes wait than `bcs.writerQueueLen`. See
	// [k8swatch_events_queued](#k8swatch_events_queued).
	WriterFull = "k8swatch_writer_full_seconds_total"
	// Storage is slower or the load higher. At `bcs.maxInFlight` it is the bound: raise it if storage can stand more.
	InFlight = "k8swatch_inflight_requests"
	// Storage falls behind or is away. See [k8swatch_lag_seconds](#k8swatch_lag_seconds), which counts what was given up,
	// too.
	OldestUnsent = "k8swatch_oldest_unsent_seconds"
	// Up to 55 s on a quiet kind is normal. Beyond, the apiserver does not answer, or rights are missing: `/readyz` and
	// the log (`watch is lost`) say which.
	WatchSilent = "k8swatch_watch_silent_seconds"
	// Consumers of storage see old data of this kind. Look at `k8swatch_storage_endpoint_up` (storage away),
	// `k8swatch_watch_silent_seconds` (apiserver away), `k8swatch_events_parked` (refused objects) and
	// `k8swatch_events_queued` (storage too slow), in this order. While a watch fails it is at least the silence of that.
	Lag = "k8swatch_lag_seconds"
	// Changes take longer to reach storage. See [k8swatch_events_queued](#k8swatch_events_queued).
	Freshness = "k8swatch_freshness_seconds"
	// Watches break in a way that costs a whole list: a restarted apiserver, versions that are too old. Several an hour of
	// one kind are a load for the apiserver: look at it, and at what is between.
	Relists = "k8swatch_relists_total"
	// One per kind and start is normal. See [k8swatch_relists_total](#k8swatch_relists_total).
	Lists = "k8swatch_lists_total"
	// One per kind and minute is normal on quiet kinds. More: something between apiserver and watcher closes connections.
	Watches = "k8swatch_watches_total"
	// A few per kind and `cacheCheck.period`, and after each broken watch. See
	// [k8swatch_cache_differences_total](#k8swatch_cache_differences_total).
	CacheChecks = "k8swatch_cache_checks_total"
	// Storage was wrong until then. `restored`: the cluster was restored from a backup or recreated. Anything else: the
	// apiserver, or something between it and the watcher, lost watch events; look at both.
	CacheDifferences = "k8swatch_cache_differences_total"
	// 0 is a kind that has not been listed yet: rights, or the apiserver; `/readyz` says which.
	Synced = "k8swatch_synced"
	// Two API groups have a kind of one name, and the second is stored as `Kind.group`: tell the consumers. The log names
	// both.
	KindCollisions = "k8swatch_kind_collisions"
	// Grows with the load.
	NetBytes = "k8swatch_network_bytes_total"
	// 0 is an endpoint that is left out: it does not answer as storage does. The log says why, `/readyz` too; look at it
	// from the watcher's network.
	StorageUp = "k8swatch_storage_endpoint_up"
	// Connections do not last: something between watcher and storage closes them, or storage restarts.
	StorageConns = "k8swatch_storage_connections_opened_total"
	// Storage differed from the cluster: after a start, or because somebody else writes to or deletes from the same rows.
	// Steady growth is another writer.
	SyncRepairs = "k8swatch_sync_repairs_total"
	// Grows by one per `synchronizer.period`. If those of `result="failure"` grow, storage cannot be read: the log says
	// why.
	SyncRuns = "k8swatch_sync_runs_total"
	// Repairs wait: storage is slow, or much of it was lost. It goes down by itself.
	SyncWaiting = "k8swatch_sync_waiting"
	// Alert if it is older than a few `synchronizer.period`: comparisons fail. See
	// [k8swatch_sync_runs_total](#k8swatch_sync_runs_total).
	SyncLast = "k8swatch_sync_last_success_timestamp_seconds"
	// Grows with warnings about owned Pods. If those of `result="failed"` or `"dropped"` grow, bcs-health does not answer.
	// `result="old"`: Events from before the start.
	Alerts = "k8swatch_alerts_total"
	// 1 on one replica, 0 on the others. A sum of 0 for longer than 20 s: nobody writes. The log says what is wrong with
	// the Lease.
	Leading = "k8swatch_leading"
	// A leader that had lost its Lease kept writes back, which the next one sends, or notifications, which are lost.
	// Often: the apiserver is slow, or the process does not get its CPU.
	WritesRefused = "k8swatch_writes_refused_total"
	// Programs ask for more kinds; each costs memory and a watch at the apiserver. At `resourceWatcher.watches.maxWatches`
	// further ones are refused.
	LazyWatches = "k8swatch_lazy_watches"
	// The kinds that programs ask for have more objects. Above `resourceWatcher.watches.maxBytes` unused watches end.
	LazyBytes = "k8swatch_lazy_watch_bytes"
	// Changes come faster than a receiver takes them, or it does not answer: the log says which.
	NotifyQueued = "k8swatch_notify_queued"
	// Grows with the load.
	NotifyDelivered = "k8swatch_notify_delivered_total"
	// A receiver refuses for now or does not answer. A few are no harm; the log says why.
	NotifyRetried = "k8swatch_notify_retried_total"
	// Events were given up. `refused` and `too_large`: the receiver does not want them as they are; `tries` and `age`: it
	// was away too long, or another server answers in its place. The log says why, and the dead letters hold the events.
	NotifyDeadLettered = "k8swatch_notify_dead_lettered_total"
	// Events were lost. `dead_letter`: the file could not be written; `abandoned`: raise `drainTimeout`.
	NotifyDropped = "k8swatch_notify_dropped_total"
	// A subscription did not see each state of its objects: it sends the differences. `expired`: the process does not get
	// its CPU; `full`: raise `workers` or the bounds of `queue`, or see why the receiver is slow; `reopened`: the kind was
	// away, as when its CRD changes.
	NotifyGaps = "k8swatch_notify_gaps_total"
	// A receiver falls behind or is away. See [k8swatch_notify_queued](#k8swatch_notify_queued).
	NotifyOldest = "k8swatch_notify_oldest_seconds"
	// Notifications take longer. See [k8swatch_notify_queued](#k8swatch_notify_queued).
	NotifyLatency = "k8swatch_notify_latency_seconds"
	// SIGHUP was sent. `result="failed"`: the file is wrong and nothing changed; the log says where.
	ConfigReloads = "k8swatch_config_reloads_total"
)

// Results of ConfigReloads.
const (
	ReloadOK     = "ok"
	ReloadFailed = "failed"
)

// Metrics of the storage mock.
const (
	// Grows with the load. `effect` says what became of each request.
	MockRequests = "storagemock_requests_total"
	// Storage is slower or the load higher. At `--capacity inflight` it is the bound.
	MockInFlight = "storagemock_inflight_requests"
	// Requests wait because `--capacity` is reached: the mock is the bottleneck.
	MockQueued = "storagemock_queued_requests"
	// The mock answers more slowly: its `--latency`, its capacity, or a fault.
	MockLatency = "storagemock_request_latency_seconds"
	// A fault hits requests, as it was asked to.
	MockFaults = "storagemock_faults_fired_total"
	// The cluster has more objects, or deletions do not arrive.
	MockObjects = "storagemock_objects"
)

// Metrics of every process, by client_golang's collectors, and of Prometheus about each target.
const (
	ProcessCPU    = "process_cpu_seconds_total"
	ProcessMemory = "process_resident_memory_bytes"
	ProcessStart  = "process_start_time_seconds"
	GoHeap        = "go_memstats_heap_inuse_bytes"
	GoGoroutines  = "go_goroutines"
	TargetUp      = "up"
)

// Metrics of the resource watcher's read API.
const (
	// Grows with what clients ask. `code="429"`: beyond one of the [limits](query.md#limits);
	// `code="503"`: kinds that are not synced; `code="0"`: clients that went before they were answered.
	QueryRequests = "k8swatch_query_requests_total"
	// Lists of large kinds, or the process does not get its CPU. A first query waits until its kind is synced.
	QuerySeconds = "k8swatch_query_seconds"
	// At `maxInFlight` others are refused: large lists, and slow clients, of which each list keeps its place until it is
	// sent.
	QueryInFlight = "k8swatch_query_inflight_requests"
	// Watches that clients hold open. At `maxWatches` others are refused.
	QueryWatchers = "k8swatch_query_watchers"
	// More lists and relations than the [seats](query.md#limits) for them. Beyond 500 of one user, 2000 of all, or 10 s
	// each they are refused.
	QueryQueued = "k8swatch_query_queued_requests"
)
