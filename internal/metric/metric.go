// Package metric holds the names of the metrics that the watcher and the storage
// mock expose, so that the runner, the dashboards and the rules read what the
// processes write.
package metric

// Metrics of the original bcs-k8s-watch, kept with their labels (contract §9).
const (
	// StorageRequests counts storage calls; labels cluster_id, handler,
	// resource_type, method, status.
	StorageRequests = "bkbcs_k8swatch_storage_request_total_num"
	// StorageLatency is a histogram of seconds per storage call, same labels.
	StorageLatency = "bkbcs_k8swatch_storage_request_latency_time"
	// HandlerQueue is the length of a queue; labels cluster_id, handler. Handler is
	// a kind, Pod_<i>, Event_<i> or WriterQueueHandler.
	HandlerQueue = "bkbcs_k8swatch_queue_handler_total_num"
	// HandlerDiscards counts events dropped by a full queue; labels cluster_id, handler.
	HandlerDiscards = "bkbcs_k8swatch_queue_handler_discard_events"
	// QueueLatency is a histogram of seconds from receipt to hand-over; labels
	// cluster_id, handler, name, status. The original never observes it.
	QueueLatency = "bkbcs_k8swatch_queue_latency_time"
	// CacheKeys is the number of cached objects; label watcher (a kind).
	CacheKeys = "bcs_k8s_watch_cache_keys_num"
	// WatcherQueue is the number of events of a kind not yet sent; label watcher (a kind).
	WatcherQueue = "bcs_k8s_watch_queue_watcher_queue_num"
)

// WriterQueueHandler is the handler label of the Writer queue.
const WriterQueueHandler = "writer_normal_queue"

// Metrics of this watcher. The conservation law over them, per kind (G6):
// received = sent + coalesced + filtered + parked + queued + dropped, where
// queued includes events in flight and events that wait for a retry.
const (
	EventsReceived  = "k8swatch_events_received_total"  // kind
	EventsSent      = "k8swatch_events_sent_total"      // kind: acknowledged by storage
	EventsCoalesced = "k8swatch_events_coalesced_total" // kind: merged into a later event of the same key
	EventsFiltered  = "k8swatch_events_filtered_total"  // kind, reason
	EventsDropped   = "k8swatch_events_dropped_total"   // kind: queueFull=drop, shed, and abandoned at shutdown
	EventsShed      = "k8swatch_events_shed_total"      // kind, reason (count, bytes, age): of the dropped ones, what waited beyond the bound of Events
	EventsRetried   = "k8swatch_events_retried_total"   // kind: attempts after the first
	EventsParked    = "k8swatch_events_parked"          // kind: gauge, given up until the key changes
	EventsQueued    = "k8swatch_events_queued"          // kind: gauge, accepted and not yet settled

	QueueDepth       = "k8swatch_queue_depth"               // queue
	QueueCapacity    = "k8swatch_queue_capacity"            // queue
	QueueHandled     = "k8swatch_queue_handled_total"       // queue: events that left it towards storage
	QueueWaitSeconds = "k8swatch_queue_wait_seconds_total"  // queue: summed time events spent in it
	QueueDepthTime   = "k8swatch_queue_depth_seconds_total" // queue: integral of depth over time (for Little's law)
	WriterFull       = "k8swatch_writer_full_seconds_total" // time the Writer queue was at capacity
	InFlight         = "k8swatch_inflight_requests"         // requests being answered by storage
	OldestUnsent     = "k8swatch_oldest_unsent_seconds"     // kind: age of the oldest unsent event
	WatchSilent      = "k8swatch_watch_silent_seconds"      // kind: since the last answer, event or bookmark of the apiserver
	Lag              = "k8swatch_lag_seconds"               // kind: age of the oldest change that storage lacks, parked ones too; at least WatchSilent while the watch fails
	Freshness        = "k8swatch_freshness_seconds"         // kind: histogram, receipt to acknowledgement
	Relists          = "k8swatch_relists_total"             // kind: LISTs after the first
	Lists            = "k8swatch_lists_total"               // kind
	Watches          = "k8swatch_watches_total"             // kind
	Synced           = "k8swatch_synced"                    // kind: 1 after the first complete list
	KindCollisions   = "k8swatch_kind_collisions"           // gauge: kinds stored as Kind.group, because another group has a kind of that name
	NetBytes         = "k8swatch_network_bytes_total"       // peer (apiserver, storage), direction (in, out)
	StorageUp        = "k8swatch_storage_endpoint_up"       // endpoint
	StorageConns     = "k8swatch_storage_connections_opened_total"
	SyncRepairs      = "k8swatch_sync_repairs_total" // kind
	SyncRuns         = "k8swatch_sync_runs_total"    // result
	SyncWaiting      = "k8swatch_sync_waiting"       // kind: gauge, seems to differ from storage and is not looked at yet
	SyncLast         = "k8swatch_sync_last_success_timestamp_seconds"
	Alerts           = "k8swatch_alerts_total"         // target, result
	Leading          = "k8swatch_leading"              // gauge, with leader election
	WritesRefused    = "k8swatch_writes_refused_total" // by a replica that led no more
	ConfigReloads    = "k8swatch_config_reloads_total" // result: configurations read again after SIGHUP
)

// Results of ConfigReloads.
const (
	ReloadOK     = "ok"
	ReloadFailed = "failed"
)

// Metrics of the storage mock.
const (
	MockRequests = "storagemock_requests_total"          // method, kind, effect
	MockInFlight = "storagemock_inflight_requests"       //
	MockQueued   = "storagemock_queued_requests"         // waiting for capacity
	MockLatency  = "storagemock_request_latency_seconds" // histogram: receipt to answer
	MockFaults   = "storagemock_faults_fired_total"      // fault
	MockObjects  = "storagemock_objects"                 // live records
)
