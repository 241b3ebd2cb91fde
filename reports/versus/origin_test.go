package versus

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestDrawnPortsAreNoDifference: see result.FixedFlags.
func TestDrawnPortsAreNoDifference(t *testing.T) {
	a, b := run(), run()
	a.Environment.Flags, b.Environment.Flags = []string{"--secure-port=41291"}, []string{"--secure-port=41292"}
	a.Environment.EtcdFlags, b.Environment.EtcdFlags = []string{"--data-dir=/tmp/watchbench-cluster-1/data"}, []string{"--data-dir=/tmp/watchbench-cluster-2/data"}
	if all, err := differences([]*result.Results{a, b}); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
}
