package dashboards

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/metric"
)

// Alerts.
const (
	alertFallingBehind  = "K8sWatchFallingBehind"
	alertChangeTooOld   = "K8sWatchOldestChangeTooOld"
	alertDeadWatch      = "K8sWatchDeadWatch"
	alertDropping       = "K8sWatchDropping"
	alertParked         = "K8sWatchParked"
	alertRelisting      = "K8sWatchRelisting"
	alertQueueNearFull  = "K8sWatchQueueNearFull"
	alertRepairing      = "K8sWatchSynchronizerRepairing"
	alertLeaderFlapping = "K8sWatchLeaderFlapping"
	alertNoLeader       = "K8sWatchNoLeader"
	alertShardNotHeld   = "K8sWatchShardNotHeld"
	alertMemoryGrowth   = "K8sWatchMemoryGrowth"
	alertStorageDown    = "K8sWatchStorageDown"
	alertWatcherDown    = "K8sWatchDown"
)

// samples are of one series, in promtool's notation, one a minute for three hours.
type samples struct {
	metric, labels string
	// bad must fire the alert; good, at the other side of its threshold, must not, nor must
	// other, where there is a second reason to be silent.
	bad, good, other string
}

// conditions are the series that an alert looks at.
var conditions = map[string][]samples{
	alertFallingBehind: {
		{metric.EventsQueued, `kind="Pod"`, "6100+0x180", "5900+0x180", "90+0x180"},
		{metric.EventsSent, `kind="Pod"`, "0+6000x180", "0+6000x180", "0+0x180"},
	},
	alertChangeTooOld: {{metric.Lag, `kind="Pod"`, "61+0x180", "59+0x180", "0+0x100 61+0x3 0+0x80"}},
	alertDeadWatch:    {{metric.WatchSilent, `kind="Pod"`, "121+0x180", "119+0x180", "55+0x180"}},
	alertDropping:     {{metric.EventsDropped, `kind="Pod"`, "0+0x177 1+0x5", "0+0x180", "0+0x100 9+0x80"}},
	alertParked:       {{metric.EventsParked, `kind="Pod"`, "1+0x180", "0+0x180", "0+0x177 1+0x5"}},
	alertRelisting: {
		{metric.Relists, `kind="Pod",shard="0"`, "0+0x130 1 2 3 4+0x50", "0+0x130 1 2 3+0x50", "9+0x180"},
		{metric.Relists, `kind="Pod",shard="1"`, "0+0x180", "0+0x130 1 2 3+0x50", "9+0x180"}, // each lists the kind
	},
	alertQueueNearFull: {{metric.QueueDepth, `queue="Pod_0"`, "81+0x180", "79+0x180", "0+0x180"}, {metric.QueueCapacity, `queue="Pod_0"`, "100+0x180", "100+0x180", "0+0x180"}},
	alertRepairing: {
		{metric.SyncRepairs, `kind="Pod"`, "0+1x180", "7+0x180", "0+1x180"},
		{metric.ProcessStart, "", "0+0x180", "0+0x180", "9000+0x180"},
	},
	alertLeaderFlapping: {
		{metric.Leading, `replica="a"`, "0+0x130 1 0 1 0+0x60", "0+0x130 1 0 1+0x60", "0+0x130 1 0 1 0+0x60"},
		{metric.Leading, `replica="b"`, "1+0x180", "1+0x180", "1+0x180"},
		{metric.ShardsHeld, "", "_x180", "_x180", "0+0x130 1 0 1 0+0x60"}, // as many come and go as there are replicas
	},
	alertNoLeader: {
		{metric.Leading, `replica="a"`, "0+0x180", "1+0x180", "0+0x180"},
		{metric.Leading, `replica="b"`, "0+0x180", "0+0x180", "1+0x180"},
		{metric.StorageUp, `endpoint="a"`, "0+0x180", "1+0x180", "1+0x180"}, // a standby does not look
	},
	alertShardNotHeld: {
		{metric.ShardsHeld, `replica="a"`, "2+0x180", "2+0x180", "2+0x180"},
		{metric.ShardsHeld, `replica="b"`, "1+0x180", "2+0x180", "1+0x90 2+0x90"},
		{metric.Shards, `replica="a"`, "4+0x180", "4+0x180", "4+0x180"},
		{metric.Shards, `replica="b"`, "4+0x180", "6+0x180", "4+0x180"}, // a new replica waits for the old ones
	},
	alertMemoryGrowth: {
		{metric.ProcessMemory, "", "209715200+0x150 325058560+0x50", "209715200+0x150 304087040+0x50", "20971520+0x150 62914560+0x50"},
		{metric.ProcessStart, "", "0+0x180", "0+0x180", "0+0x180"},
		{metric.EventsQueued, `kind="Pod"`, "0+0x180", "0+0x180", "0+0x180"},
	},
	alertStorageDown: {{metric.StorageUp, `endpoint="a"`, "0+0x180", "1+0x180", "1+0x180"}, {metric.StorageUp, `endpoint="b"`, "0+0x180", "1+0x180", "0+0x180"}},
	alertWatcherDown: {{metric.TargetUp, "", "0+0x180", "1+0x180", "0+0x100 1+0x80"}},
}

type promtoolTest struct {
	Interval string              `yaml:"interval"`
	Name     string              `yaml:"name"`
	Series   []map[string]string `yaml:"input_series"`
	Queries  []map[string]any    `yaml:"promql_expr_test"`
}

// Each alert fires in the cluster that is over its threshold, in no other, and no other alert
// fires. promtool evaluates the file of rules that is shipped.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: no promtool in PATH (Debian's package prometheus has it): the rules are not evaluated")
	}
	file, err := filepath.Abs(filepath.Join("prometheus", rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	_, alerts := rules(t)
	var tests []promtoolTest
	for _, a := range alerts {
		if len(conditions[a.Alert]) == 0 {
			t.Errorf("%s: no condition to test it with", a.Alert)
		}
		p := promtoolTest{Interval: "1m", Name: a.Alert}
		for _, s := range conditions[a.Alert] {
			for cluster, values := range map[string]string{"bad": s.bad, "good": s.good, "other": s.other} {
				series := fmt.Sprintf("%s{cluster_id=%q,job=%q,instance=\"i\",%s}", s.metric, cluster, watcherJob, s.labels)
				p.Series = append(p.Series, map[string]string{"series": series, "values": values})
			}
		}
		fires := map[string]any{"labels": fmt.Sprintf(`{alertname=%q, cluster_id="bad", severity=%q}`, a.Alert, a.Labels["severity"]), "value": 1}
		p.Queries = []map[string]any{{
			"expr": `count by (alertname, cluster_id, severity) (ALERTS{alertstate="firing"})`, "eval_time": "180m", "exp_samples": []any{fires},
		}}
		tests = append(tests, p)
	}
	b, err := yaml.Marshal(map[string]any{"rule_files": []string{file}, "evaluation_interval": "1m", "tests": tests})
	if err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(cases, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", cases).CombinedOutput(); err != nil { //nolint:gosec // found in PATH
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
