package watcher

import (
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/storage"
)

// lastWrite is how long after it was sent a write may still be applied: the request is
// given up by then, and the fence covers what storage does with it afterwards.
func lastWrite(cfg config.Config) time.Duration {
	return time.Duration(cfg.BCS.StorageTimeout) + cfg.Pipeline().FenceDelay
}

func storageConfig(c config.Config) storage.Config {
	s := storage.Default()
	s.ClusterID = c.Default.ClusterID
	s.Endpoints = c.BCS.CustomStorageEndpoints
	s.Conditional = c.BCS.Conditional
	s.Timeout = time.Duration(c.BCS.StorageTimeout)
	return s
}

// readPace is k8s.readPace as the collector takes it: there 0 is the default.
func readPace(cfg config.Config) time.Duration {
	if cfg.K8s.ReadPace == 0 {
		return -1
	}
	return time.Duration(cfg.K8s.ReadPace)
}
