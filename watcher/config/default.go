package config

import "time"

// Defaults of the original (contract §7.1), and ours where the original's loses data.
const (
	DefaultAddress         = "127.0.0.1"
	DefaultPort            = 8080
	DefaultMetricPort      = 8081
	DefaultWriterQueueLen  = 10240 // smaller values are raised to it, as the original does
	DefaultHandlerQueueLen = 102400
	DefaultStrategy        = "keyed"
	DefaultQueueFull       = "coalesce"
	DefaultDrainTimeout    = 10 * time.Second
	DefaultParkAfter       = 8
	// DefaultConcurrency is how many requests of one kind are in flight at most
	// where podQueueNum is not set.
	DefaultConcurrency = 30
)

// Default is what an empty file means.
func Default() Config {
	return Config{
		Address: DefaultAddress, Port: DefaultPort, MetricPort: DefaultMetricPort,
		LogDir: "./logs", LogMaxSize: 500, LogMaxNum: 10, PIDDir: "./pid",
		BCS: BCS{
			WriterQueueLen:   DefaultWriterQueueLen,
			HandlerQueueLen:  DefaultHandlerQueueLen,
			Strategy:         DefaultStrategy,
			QueueFull:        DefaultQueueFull,
			QueueFullTimeout: Duration(time.Second),
			StorageTimeout:   Duration(5 * time.Second),
			DrainTimeout:     Duration(DefaultDrainTimeout),
			ParkAfter:        DefaultParkAfter,
		},
	}
}
