package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// shared is a load that several generators divide: long enough to do something to one of them.
const shared = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: shared}
storage: {latency: 5ms}
load: {model: open, rate: 60, duration: 6s, recreate: 0.5, prefill: 12, warmup: {operations: 20}, bystander: {kind: ConfigMap, rate: 5}}
watcher: {podQueueNum: 6, strategy: keyed}
limits: {minPower: 0}
drainTimeout: 30s
`

// TestGeneratorsEndToEnd: four generators give one record, which says who wrote what.
func TestGeneratorsEndToEnd(t *testing.T) {
	opts, said := stage(t, shared, "load.shards=4")
	out := finish(t, opts, said)
	c := out.Results.Cells[0]
	if !onlyLate(c) || c.Cut {
		t.Errorf("invalid %v, cut %v", c.InvalidReasons, c.Cut)
	}
	passes(t, c, "G1", "G2", "G3", "G4", "G5", "G6", "G14")
	sum := int64(0)
	for _, n := range c.Load.Generators {
		if sum += n; n == 0 {
			t.Errorf("a generator wrote nothing: %v", c.Load.Generators)
		}
	}
	if len(c.Load.Generators) != 4 || sum != c.Load.Done || c.Load.Done != 360 || c.Load.Planned != 360 {
		t.Errorf("%d of %d writes, by generator %v", c.Load.Done, c.Load.Planned, c.Load.Generators)
	}
	for _, name := range []string{"generator", "generator-2", "generator-3", "generator-4"} {
		if p := c.Parties[name]; p.RSSPeakMiB <= 1 {
			t.Errorf("the party %s is not known: %+v", name, p)
		}
	}
	dir := history.CellDir(out.Dir, c.ID)
	if logs, _ := filepath.Glob(filepath.Join(dir, "ops*")); len(logs) != 1 {
		t.Errorf("op logs: %v", logs)
	}
	judgedAlike(t, out.Dir)
	noNodesLeft(t)
}

// TestFailingGeneratorIsNamed: a generator that dies in the load, or begins too late, makes the cell invalid and is
// named; what it made is removed, by another if need be, and the cell is run once more.
func TestFailingGeneratorIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   int
		do   func(t *testing.T, api *party.APIServer, pid int)
		want string
	}{
		{"dies", 1, func(t *testing.T, api *party.APIServer, pid int) {
			awaitLoad(t, api)
			signal(t, pid, syscall.SIGKILL)
		}, "generator 1 of 4 failed: churn ended: signal: killed"},
		{"begins late", 3, func(t *testing.T, api *party.APIServer, pid int) {
			signal(t, pid, syscall.SIGSTOP)
			awaitLoad(t, api) // of the others
			signal(t, pid, syscall.SIGCONT)
		}, "generator 3 of 4 began "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts, said := stage(t, shared, "load.shards=4")
			api, err := party.NewAPIServer(clustertest.Start(t).Kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			defer api.Close()
			var once sync.Once
			var acting sync.WaitGroup
			opts.Progress = NewProgress(terminal.New(writerFunc(func(b []byte) (int, error) {
				if strings.Contains(string(b), ": "+PhaseLoad) {
					once.Do(func() {
						pid := generatorPID(t, fmt.Sprintf("%d/4", tc.of))
						acting.Go(func() { tc.do(t, api, pid) })
					})
				}
				return len(b), nil
			}), true, nil))
			out := finish(t, opts, said)
			acting.Wait()
			// Nothing happens to the second try. That it is valid too is the machine's affair.
			if again := out.Results.Run.Again; len(again) != 1 || !strings.Contains(again[0].Why, tc.want) {
				t.Errorf("run again: %+v, want %q", again, tc.want)
			}
			judgedAlike(t, out.Dir)
			noNodesLeft(t)
		})
	}
}

// awaitLoad waits until the load has written some pods.
func awaitLoad(t *testing.T, api *party.APIServer) {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		load := 0
		err := api.Each(t.Context(), "/api/v1/pods", party.RunLabel, func(raw json.RawMessage) error {
			var p struct {
				Metadata struct{ Annotations map[string]string }
			}
			err := json.Unmarshal(raw, &p)
			if id, _ := strconv.ParseInt(p.Metadata.Annotations["watchbench.dev/op"], 10, 64); id > 0 && id <= plan.MaxOperations {
				load++
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if load >= 10 {
			return
		}
	}
	t.Error("the load did not begin")
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	if err := syscall.Kill(pid, s); err != nil {
		t.Errorf("%s: %v", s, err)
	}
}

// generatorPID finds this test's generator of a shard.
func generatorPID(t *testing.T, shard string) int {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	for _, path := range all {
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		line, err := os.ReadFile(path)
		stat, serr := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || serr != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) &&
			strings.Contains(string(line), "--shard\x00"+shard) {
			return pid
		}
	}
	t.Errorf("no generator of shard %s", shard)
	return -1
}

func noNodesLeft(t *testing.T) {
	t.Helper()
	api, err := party.NewAPIServer(clustertest.Start(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	for _, path := range []string{"/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases"} {
		if left := namesAt(t, api, path); len(left) > 0 {
			t.Errorf("left in %s: %v", path, left)
		}
	}
}
