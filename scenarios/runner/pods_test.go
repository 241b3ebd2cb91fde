package runner

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/faults"
)

// TestPodable: a scenario that needs what is not in a cluster is refused by its field, before anything is started.
func TestPodable(t *testing.T) {
	const plain = "apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: x}\ncluster: {provider: kind}\nload: {model: open, rate: 10, duration: 1s}\n"
	for _, tc := range []struct{ more, set, field string }{
		{"", "seed=1", ""},
		{"", "cluster.provider=kubeconfig", ""},
		{"", "storage.faults=['503:1%']", ""},
		{"", "cluster.provider=embedded", "cluster.provider"},
		{"", "cluster.provider=simulated", "cluster.provider"},
		{"", "load.driver=k6", "load.driver"},
		{"", "watcher.command=/bin/w {config}", "watcher.command"},
		{"", "watcher.profile=legacy", "watcher.profile"},
		{"storage: {instances: 2}\nwatcher: {replicas: 2}\n", "watcher.leaderElection=true", "watcher.leaderElection"},
		{"", "storage.tls=valid", "storage.tls"},
		{"readers: {get: 5}\n", "load.prefill=30", "readers"},
		{"watch: {faults: [close(1s)]}\n", "seed=1", "watch.faults"},
		{"events: [{at: 1s, what: kill-restart}]\n", "seed=1", "fault"},
	} {
		f, err := faults.Format.Parse("x.yaml", []byte(plain+tc.more), tc.set)
		if err != nil {
			t.Errorf("%s %s: %v", tc.more, tc.set, err)
			continue
		}
		err = Podable(f)
		if (err != nil) != (tc.field != "") || err != nil && (!badinput.Is(err) || !strings.Contains(err.Error(), tc.field+": ")) {
			t.Errorf("%s%s: %v, want %q", tc.more, tc.set, err, tc.field)
		}
	}
}
