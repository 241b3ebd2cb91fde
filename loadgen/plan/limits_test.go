package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// openHead begins a plan of a minute with room for 6,600 pods.
const openHead = "runID: r1\nmodel: open\nduration: 60s\nnodes: 60\nnamespaces: 20\n"

// What no cluster or generator could do is refused before the run, with what would do.
func TestTooMuchIsRefused(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"pods", "profile: service-churn\nsteps: [{length: 30s, rate: 400}, {length: 30s, rate: 0}]\n", "nodes: 60 have room for 6600 pods, and the load has about 12000"},
		{"writes", "profile: service-churn\nrate: 100\nduration: 2h\nnodes: 100\nnamespaces: 1000\ntuning: {services: {lifetime: 10s}}\n", "duration: 2h of this load have about 1.8"},
		{"leases", "profile: service-churn\nrate: 1\nduration: 24h\nnodes: 5000\nnamespaces: 1000\ntuning: {services: {lifetime: 10s}}\n", "duration: 24h of this load have about 4."},
		{"custom resources", "profile: service-churn\nrate: 1\ntuning: {cluster: {widgets: 1000000}}\n", "tuning: has 1000"},
		{"daemons", "profile: mixed-production\nrate: 200\ntuning: {timeScale: 100}\n", "nodes: 60 are too few: "},
		{"rollouts", "profile: rollout\nrate: 20\n", "tuning.rollouts.deployments: 10 are too few: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := openHead
			for _, line := range strings.SplitAfter(openHead, "\n") { // each field once
				if key, _, _ := strings.Cut(line, ":"); key != "" && strings.Contains("\n"+tc.file, "\n"+key+":") || strings.Contains(tc.file, "closed") && key == "duration" {
					file = strings.Replace(file, line, "", 1)
				}
			}
			_, err := Parse("p", []byte(file+tc.file))
			if err == nil {
				t.Fatal("accepted")
			}
			if _, got, _ := strings.Cut(err.Error(), " "); !strings.HasPrefix(got, tc.want) {
				t.Errorf("got  %v\nwant %s…", err, tc.want)
			}
		})
	}
}

// A scale operation makes all its pods, however many.
func TestLargeSteps(t *testing.T) {
	p := profilePlan(t, ProfileServiceChurn, func(c *Config) {
		c.Rate, c.Arrival, c.Nodes, c.Namespaces = 0.001, ArrivalConstant, 60, 20
		c.Tuning = &Tuning{Services: ServiceTuning{Step: dist.Must[dist.Number]("1700")}}
	})
	made := 0
	for op := range p.Timed() {
		if op.Target.Kind == "Pod" && op.Type == oplog.TypeCreate {
			made++
		}
	}
	if made != 1700 {
		t.Errorf("%d pods of 1700", made)
	}
}

// A Job's pod whose node was away goes on when it is back, and ends once; nothing is removed while it runs.
func TestJobsOnLostNodes(t *testing.T) {
	p := profilePlan(t, ProfileBatchJobs, func(c *Config) {
		c.Rate, c.Duration, c.Nodes = 2, 5*minute, 10
		c.Tuning = &Tuning{Jobs: JobTuning{Pods: dist.Must[dist.Number]("3"), Run: dist.Must[dist.Duration]("30s")},
			Flaps: FlapTuning{Share: new(1.0), Period: minute, Down: 20 * second, Toleration: 5 * minute}}
	})
	writes, again := map[*Target][]string{}, 0
	for op := range p.Timed() {
		if o := op.Target; o.Kind == "Pod" {
			writes[o] = append(writes[o], op.Type)
			switch op.Type {
			case oplog.TypeUnready:
				again++
			case oplog.TypeSucceeded, oplog.TypeUnfinalized:
				if n := len(slices.DeleteFunc(slices.Clone(writes[o]), func(s string) bool { return s != op.Type })); n > 1 {
					t.Fatalf("%s: %v", o.Name, writes[o])
				}
			case oplog.TypeDelete:
				if !slices.Contains(writes[o], oplog.TypeSucceeded) && !slices.Contains(writes[o], oplog.TypeTerminated) {
					t.Fatalf("%s is removed while it runs: %v", o.Name, writes[o])
				}
			}
		}
	}
	if again < 100 {
		t.Errorf("only %d pods were lost for a while", again)
	}
}

// A node that is back in time loses no pod, not even at its next loss.
func TestTolerationBeginsAnew(t *testing.T) {
	p := profilePlan(t, ProfileNodeFlap, func(c *Config) {
		c.Rate, c.Duration, c.Nodes, c.Prefill = 0.1, 10*minute, 2, 50
		c.Tuning = &Tuning{Flaps: FlapTuning{Share: new(1.0), Period: minute / 2, Down: 20 * second, Toleration: 30 * second}}
	})
	lost := 0
	for op := range p.Timed() {
		if op.Target.Kind == "Node" && op.Type == oplog.TypeUnready {
			lost++
		}
		if op.Target.Reason == "TaintManagerEviction" {
			t.Fatalf("%s is evicted at %s", op.Target.Subject.Name, op.At)
		}
	}
	if lost < 10 {
		t.Errorf("nodes were lost only %d times", lost)
	}
}

// A zero is a number, too: no custom resources, no Leases, Jobs that go at once.
func TestZeroOverrides(t *testing.T) {
	cfg, err := Parse("p", []byte(openHead+"profile: mixed-production\nrate: 5\n"+
		"tuning: {timeScale: 20, jobs: {ttl: 0s}, cluster: {widgets: 0, configMaps: 0, leasePeriod: 0s, nodeStatusPeriod: 0s}, flaps: {share: 0}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for op := range p.Setup() {
		if k := op.Target.Kind; k == "Widget" || k == "ConfigMap" {
			t.Fatalf("there is a %s", k)
		}
	}
	ended := map[*Target]time.Duration{}
	for op := range p.Timed() {
		switch o := op.Target; {
		case o.Kind == "Lease" || o.Kind == "Node":
			t.Fatalf("%s of a %s", op.Type, o.Kind)
		case o.Kind == "Job" && op.Type == oplog.TypeSucceeded:
			ended[o] = op.At
		case o.Kind == "Job" && op.Type == oplog.TypeDelete && op.At-ended[o] > time.Second:
			t.Errorf("%s went %s after its end", o.Name, op.At-ended[o])
		}
	}
	if len(ended) == 0 {
		t.Error("no Job ended")
	}
	if _, err := Parse("p", fmt.Appendf(nil, openHead+"profile: rollout\nrate: 5\ntuning: {cluster: {leasePeriod: 1ms}}\n")); err == nil {
		t.Error("a Lease each millisecond is accepted")
	}
}
