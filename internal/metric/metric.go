// Package metric holds the names of the metrics that the watcher and the storage
// mock expose, so that the runner, the dashboards and the rules read what the
// processes write. The comments of the watcher's names say what a growing value means
// and what to do; they are the text of docs/k8s-watch-reference.md, in Markdown. After a
// change: go test ./watcher -run TestReference -update
package metric

// Metrics of the original bcs-k8s-watch, kept with their labels (contract §9).
const (
	// Grows with the load. `status="failure"`: storage refuses or fails; the log says why.
	StorageRequests = "bkbcs_k8swatch_storage_request_total_num"
	// Storage becomes slower. `adaptive` follows by itself up to `bcs.maxInFlight`.
	StorageLatency = "bkbcs_k8swatch_storage_request_latency_time"
	// See [k8swatch_events_queued](#k8swatch_events_queued). `handler` is a kind, `Pod_<i>`, `Event_<i>` or
	// `writer_normal_queue`.
	HandlerQueue = "bkbcs_k8swatch_queue_handler_total_num"
	// Events are lost: `bcs.queueFull` is `drop`. Use `coalesce`, or see why storage falls behind.
	HandlerDiscards = "bkbcs_k8swatch_queue_handler_discard_events"
	// Changes wait longer. See [k8swatch_events_queued](#k8swatch_events_queued).
	QueueLatency = "bkbcs_k8swatch_queue_latency_time"
	// The cluster has more objects. Look at the memory limit; leave out kinds that nobody needs.
	CacheKeys = "bcs_k8s_watch_cache_keys_num"
	// As [k8swatch_events_queued](#k8swatch_events_queued), under bcs-k8s-watch's name.
	WatcherQueue = "bcs_k8s_watch_queue_watcher_queue_num"
)

// WriterQueueHandler is the handler label of the Writer queue.
const WriterQueueHandler = "writer_normal_queue"

// Metrics of this watcher. The conservation law over them, per kind (G6):
// received = sent + coalesced + filtered + parked + queued + dropped, where
// queued includes events in flight and events that wait for a retry.
const (
	// Grows with the changes in the cluster. received = sent + coalesced + filtered + parked + queued + dropped, per
	// kind.
	EventsReceived = "k8swatch_events_received_total"
	// Grows with the load. If it stops while `k8swatch_events_queued` is above 0, storage takes nothing.
	EventsSent = "k8swatch_events_sent_total"
	// Changes came faster than storage took them, and only the latest was sent. Normal under load and after an outage;
	// `keyed` sends every version.
	EventsCoalesced = "k8swatch_events_coalesced_total"
	// Normal, except `unreadable`: undecodable objects are skipped and their rows stay. The log names them; ask the
	// owner of the API.
	EventsFiltered = "k8swatch_events_filtered_total"
	// Events are lost: `bcs.queueFull` `drop`, the bounds of Kubernetes Events, or a short drain; the log says which.
	// The next comparison restores all but Kubernetes Events. For a drain, raise `bcs.drainTimeout` and
	// `terminationGracePeriodSeconds`.
	EventsDropped = "k8swatch_events_dropped_total"
	// Kubernetes Events are lost because storage was away or slow. Raise `bcs.eventQueueLen` or `bcs.eventQueueBytes`.
	EventsShed = "k8swatch_events_shed_total"
	// Storage refuses or does not answer at first; the log says why. A few are harmless.
	EventsRetried = "k8swatch_events_retried_total"
	// Storage refuses these objects while it takes others. The log names some, with storage's answer. Each is retried
	// at its next change and comparison.
	EventsParked = "k8swatch_events_parked"
	// Storage is slower than the changes. Look at `k8swatch_storage_endpoint_up` and storage latency; if storage can
	// take more, raise `bcs.maxInFlight` (`adaptive`) or `bcs.podQueueNum`.
	EventsQueued = "k8swatch_events_queued"

	// As [k8swatch_events_queued](#k8swatch_events_queued), by queue. One that grows alone under `partitioned` has a
	// busy object.
	QueueDepth = "k8swatch_queue_depth"
	// Changes only at a reload.
	QueueCapacity = "k8swatch_queue_capacity"
	// Grows with the load.
	QueueHandled = "k8swatch_queue_handled_total"
	// Divided by `k8swatch_queue_handled_total` it is the mean wait. See
	// [k8swatch_events_queued](#k8swatch_events_queued).
	QueueWaitSeconds = "k8swatch_queue_wait_seconds_total"
	// Its rate is the mean depth. See [k8swatch_events_queued](#k8swatch_events_queued).
	QueueDepthTime = "k8swatch_queue_depth_seconds_total"
	// More changes wait than `bcs.writerQueueLen`. See [k8swatch_events_queued](#k8swatch_events_queued).
	WriterFull = "k8swatch_writer_full_seconds_total"
	// Storage is slower or the load higher. At `bcs.maxInFlight`, raise that if storage can take more.
	InFlight = "k8swatch_inflight_requests"
	// Storage falls behind or is away. See [k8swatch_lag_seconds](#k8swatch_lag_seconds), which includes parked
	// objects.
	OldestUnsent = "k8swatch_oldest_unsent_seconds"
	// Up to 55 s is normal on a quiet kind. Beyond: the apiserver does not answer, or rights are missing. See `/readyz`
	// and `watch is lost` in the log.
	WatchSilent = "k8swatch_watch_silent_seconds"
	// Consumers of storage see old data of this kind. Look, in this order, at `k8swatch_storage_endpoint_up` (storage
	// away), `k8swatch_watch_silent_seconds` (apiserver away), `k8swatch_events_parked` (refused objects) and
	// `k8swatch_events_queued` (storage too slow).
	Lag = "k8swatch_lag_seconds"
	// Changes take longer to reach storage. See [k8swatch_events_queued](#k8swatch_events_queued).
	Freshness = "k8swatch_freshness_seconds"
	// Watches break so that the kind is listed again: a restarted apiserver, or versions that are too old. Several an
	// hour burden the apiserver: look at it and the network.
	Relists = "k8swatch_relists_total"
	// One per kind and start is normal. See [k8swatch_relists_total](#k8swatch_relists_total).
	Lists = "k8swatch_lists_total"
	// One per kind and minute is normal on quiet kinds. More: something closes connections to the apiserver.
	Watches = "k8swatch_watches_total"
	// A few per kind and `cacheCheck.period`, and after each broken watch.
	CacheChecks = "k8swatch_cache_checks_total"
	// Storage was wrong until then. `restored`: the cluster was restored or recreated. Otherwise the apiserver, or a
	// proxy, lost watch events.
	CacheDifferences = "k8swatch_cache_differences_total"
	// 0: the kind is not listed yet. `/readyz` says why.
	Synced = "k8swatch_synced"
	// With shards. 0: the apiserver lacks the feature gate ShardedListAndWatch, or shards are by name; each shard then
	// receives all objects and keeps its own.
	ServerSharded = "k8swatch_server_sharded"
	// Two API groups have a kind of the same name; the second is stored as `Kind.group`. The log names both: inform the
	// consumers.
	KindCollisions = "k8swatch_kind_collisions"
	// Grows with the load.
	NetBytes = "k8swatch_network_bytes_total"
	// 0: this endpoint does not answer as storage. The log and `/readyz` say why.
	StorageUp = "k8swatch_storage_endpoint_up"
	// Something closes connections to storage, or storage restarts.
	StorageConns = "k8swatch_storage_connections_opened_total"
	// Storage differed from the cluster. Normal after a start; steady growth is another writer.
	SyncRepairs = "k8swatch_sync_repairs_total"
	// Grows by one per `synchronizer.period`. `result="failure"`: storage cannot be read; the log says why.
	SyncRuns = "k8swatch_sync_runs_total"
	// Storage is slow, or lost much. It goes down by itself.
	SyncWaiting = "k8swatch_sync_waiting"
	// Older than a few `synchronizer.period`: comparisons fail. See
	// [k8swatch_sync_runs_total](#k8swatch_sync_runs_total).
	SyncLast = "k8swatch_sync_last_success_timestamp_seconds"
	// 1 on one replica; with `shards`, on each that holds one. A sum of 0 for over 20 s: nobody writes; the log says what
	// is wrong with the Lease.
	Leading = "k8swatch_leading"
	// Shards that the replica holds; only with `shards`. Their sum is `shards`; less for over 20 s: nobody writes the
	// rest. The other series of a shard carry the label `shard`.
	ShardsHeld = "k8swatch_shards_held"
	// The value of `shards`, on every replica, standbys included.
	Shards = "k8swatch_shards"
	// A leader lost its Lease and held back writes, which the next one sends, or notifications, which are lost. Often a
	// slow apiserver or too little CPU.
	WritesRefused = "k8swatch_writes_refused_total"
	// Programs ask for more kinds. At `resourceWatcher.watches.maxWatches` further ones are refused.
	LazyWatches = "k8swatch_lazy_watches"
	// Requested kinds have more objects. Above `resourceWatcher.watches.maxBytes` unused watches end.
	LazyBytes = "k8swatch_lazy_watch_bytes"
	// The receiver is slow or does not answer; the log says which.
	NotifyQueued = "k8swatch_notify_queued"
	// Grows with the load.
	NotifyDelivered = "k8swatch_notify_delivered_total"
	// The receiver refuses for now or does not answer; the log says why. A few are harmless.
	NotifyRetried = "k8swatch_notify_retried_total"
	// Events were given up. `refused`, `too_large`: the receiver does not accept them; `tries`, `age`: it was away too
	// long. The log says why.
	NotifyDeadLettered = "k8swatch_notify_dead_lettered_total"
	// Events were lost. `abandoned`: raise `drainTimeout`.
	NotifyDropped = "k8swatch_notify_dropped_total"
	// States in between were skipped. `expired`: too little CPU; `full`: raise `workers` or the bounds of `queue`, or
	// see why the receiver is slow; `reopened`: the kind was away, as when its CRD changes.
	NotifyGaps = "k8swatch_notify_gaps_total"
	// A receiver falls behind or is away. See [k8swatch_notify_queued](#k8swatch_notify_queued).
	NotifyOldest = "k8swatch_notify_oldest_seconds"
	// Notifications take longer. See [k8swatch_notify_queued](#k8swatch_notify_queued).
	NotifyLatency = "k8swatch_notify_latency_seconds"
	// SIGHUP was sent. `failed`: the file is wrong and nothing changed; the log says where.
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
	// Storage is slower or the load higher. `--capacity inflight` is the limit.
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
	// Grows with the load. `429`: beyond a [limit](query.md#limits); `503`: the kind is not synced; `0`: the client
	// left.
	QueryRequests = "k8swatch_query_requests_total"
	// Lists of large kinds, or too little CPU. A first query waits for its kind.
	QuerySeconds = "k8swatch_query_seconds"
	// Large lists or slow clients. At `maxInFlight` others get 429.
	QueryInFlight = "k8swatch_query_inflight_requests"
	// Open watches. At `maxWatches` others get 429.
	QueryWatchers = "k8swatch_query_watchers"
	// Lists and relations wait for a [seat](query.md#limits).
	QueryQueued = "k8swatch_query_queued_requests"
)
