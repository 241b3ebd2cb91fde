package watcher

import (
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// The fence outlasts both the request and what a storage may need after it.
func TestFenceDelay(t *testing.T) {
	usual := pipeline.Default().FenceDelay
	for _, tc := range []struct{ timeout, want time.Duration }{
		{100 * time.Millisecond, usual},
		{usual, usual},
		{2 * usual, 2 * usual},
	} {
		cfg := config.Default()
		cfg.BCS.StorageTimeout = config.Duration(tc.timeout)
		if got := cfg.Pipeline().FenceDelay; got != tc.want {
			t.Errorf("storageTimeout %s: fence %s, want %s", tc.timeout, got, tc.want)
		}
	}
}
