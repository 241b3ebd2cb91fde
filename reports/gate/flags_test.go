package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestDrawnPortsAreNoDifference: the embedded control plane has other ports and another
// folder each time.
func TestDrawnPortsAreNoDifference(t *testing.T) {
	base, changed := saved(1, usual, 6, planted{})
	for i, res := range []*result.Results{base, changed} {
		port, dir := 35791+i, fmt.Sprintf("/tmp/watchbench-cluster-%d", 100+i)
		res.Environment.Flags = []string{"--cert-dir=" + dir + "/certs", fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", port), fmt.Sprintf("--secure-port=%d", port), "--v=1"}
		res.Environment.EtcdFlags = []string{"--data-dir=" + dir + "/data", fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", port)}
	}
	if v := mustSaved(t, base, changed); len(v.Reasons) > 0 {
		t.Error(v.Reasons)
	}
	changed.Environment.Flags[3] = "--v=2"
	if v := mustSaved(t, base, changed); len(v.Reasons) != 1 {
		t.Error("another flag goes unseen:", v.Reasons)
	}
}

// TestCrashAtOnceIsTheReason: a run whose watcher ended before its first cell says so first.
func TestCrashAtOnceIsTheReason(t *testing.T) {
	res := paired(1, usual, 6, planted{})
	res.Cells, res.Run.Crashed = nil, []result.Crash{{ID: "light-base-r1", Why: "exit code 2, see watcher.log"}}
	if v := mustPaired(t, res); !strings.Contains(v.Sentence(), "exit code 2, see watcher.log") {
		t.Error(v.Sentence())
	}
}
