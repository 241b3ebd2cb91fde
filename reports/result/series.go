package result

// Names of the curves in Cell.Series. A writer may add curves of its own; a
// reader shows a name it does not know under that name.
const (
	// SeriesQueueDepth is the most Pod events, in each half second, that the API server had
	// answered and storage was owed, wherever they waited (unit "events").
	SeriesQueueDepth = "queue.depth"
	// SeriesWriterDepth is the Writer queue alone, all kinds (unit "events"); as all figures of
	// the watcher's own, only where its metrics were read during the load.
	SeriesWriterDepth = "writer.depth"
	// SeriesHandlerDepth is the sum of the Pod handler queues (unit "events").
	SeriesHandlerDepth = "handler.depth"
	// SeriesStorageQPS is the rate of acknowledged storage requests (unit "requests/s").
	SeriesStorageQPS = "storage.qps"
	// SeriesStorageInFlight is the number of requests storage is answering (unit "requests").
	SeriesStorageInFlight = "storage.inflight"
	// SeriesLoadQPS is the rate of acknowledged apiserver writes (unit "requests/s").
	SeriesLoadQPS = "load.qps"
	// SeriesWatcherCPU is user plus system time per second of the watcher (unit "cores").
	SeriesWatcherCPU = "watcher.cpuCores"
	// SeriesWatcherRSS is the watcher's resident memory (unit "MiB").
	SeriesWatcherRSS = "watcher.rssMiB"
	// SeriesWatcherNet is bytes per second of the watcher's read and write calls (unit "KiB/s").
	SeriesWatcherNet = "watcher.netKiBps"
)

// Parameter names of a matrix point that every report knows.
const (
	ParamStrategy = "watcher.strategy"
	ParamLoad     = "load"
)

// Load models.
const (
	ModelClosed = "closed" // a fixed number of threads, each waits for its answer
	ModelOpen   = "open"   // a fixed rate, whatever the answers do
)
