package result

// Names of the curves in Cell.Series, with their units. A reader shows a name it does not know under that name.
// Those of the watcher's own queues are there only where its metrics were read during the load.
const (
	SeriesQueueDepth      = "queue.depth"      // Pod events that storage was owed, the most in each half second
	SeriesWriterDepth     = "writer.depth"     // events of all kinds in the Writer queue
	SeriesHandlerDepth    = "handler.depth"    // events in all Pod handler queues
	SeriesStorageQPS      = "storage.qps"      // acknowledged storage requests, requests/s
	SeriesStorageInFlight = "storage.inflight" // requests that storage is answering
	SeriesLoadQPS         = "load.qps"         // acknowledged apiserver writes, requests/s
	SeriesWatcherCPU      = "watcher.cpuCores" // the watcher's user plus system time, cores
	SeriesWatcherRSS      = "watcher.rssMiB"   // the watcher's resident memory, MiB
	SeriesWatcherNet      = "watcher.netKiBps" // the watcher's read and write calls, KiB/s
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
