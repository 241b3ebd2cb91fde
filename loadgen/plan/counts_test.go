package plan

import (
	"maps"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// counted are the writes per created pod and kind of a plan whose lives all end.
func counted(p *Plan) (perPod map[string]float64, total float64) {
	perPod = map[string]float64{}
	pods := 0.0
	for op := range p.Timed() {
		if k := op.Target.Kind; k != "Lease" && k != "Node" {
			perPod[k]++
			perPod[k+"/"+op.Type]++
			total++
		}
		if op.Target.Kind == "Pod" && op.Type == oplog.TypeCreate {
			pods++
		}
	}
	for k := range perPod {
		perPod[k] /= pods
	}
	return perPod, total / pods
}

// TestCountsPerLife holds what one pod means against what real clusters write; see docs/load.md.
func TestCountsPerLife(t *testing.T) {
	whole := func(change func(*Tuning)) func(*Config) {
		return func(c *Config) {
			c.Rate, c.Arrival, c.Steps = 0, ArrivalConstant, []RateStep{{Length: 2 * minute, Rate: 20}, {Length: 8 * minute}}
			c.Duration, c.Nodes = 10*minute, 200
			c.Tuning = &Tuning{Services: ServiceTuning{Lifetime: dist.Must[dist.Duration]("LN(60s,0.5) clip 10s..180s")}}
			if change != nil {
				change(c.Tuning)
			}
		}
	}
	for _, tc := range []struct {
		name, profile string
		change        func(*Tuning)
		want          map[string][2]float64 // from, to
	}{
		{"service", ProfileServiceChurn, nil, map[string][2]float64{
			"": {24, 28}, "Pod": {9.4, 9.9}, "Event": {7.5, 9.5}, "ReplicaSet": {2.8, 3.7}, "Deployment": {3, 4}, "EndpointSlice": {1, 2.1},
			"Pod/create": {1, 1}, "Pod/delete": {0.98, 1}, "Pod/terminate": {0.98, 1}, "Pod/running": {0.35, 0.65}, "Pod/acknowledged": {0.98, 1}, "Pod/terminated": {0.98, 1}, "Pod/ready": {0.98, 1.01},
		}},
		{"jobs of one pod", ProfileBatchJobs, func(tn *Tuning) {
			tn.Jobs = JobTuning{Pods: dist.Must[dist.Number]("1"), Run: dist.Must[dist.Duration]("LN(10s,0.5)"), TTL: new(5 * second)}
		}, map[string][2]float64{"Pod": {8.8, 9.4}, "Job": {6, 7}, "Event": {6, 9}, "Pod/running": {0, 0}, "Pod/stopped": {0.99, 1}, "Pod/succeeded": {0.99, 1}, "Pod/unfinalized": {0.99, 1}, "Pod/terminate": {0, 0}, "Pod/delete": {0.99, 1}}},
		{"large jobs", ProfileBatchJobs, func(tn *Tuning) {
			tn.Jobs = JobTuning{Pods: dist.Must[dist.Number]("100"), Run: dist.Must[dist.Duration]("10s"), TTL: new(5 * second)}
		}, map[string][2]float64{"Job": {0.05, 0.9}}},
		{"rollout", ProfileRollout, func(tn *Tuning) {
			tn.Rollouts = RolloutTuning{Deployments: 30, Size: dist.Must[dist.Number]("30")}
		}, map[string][2]float64{
			"Pod": {9.3, 9.9}, "ReplicaSet": {5, 8}, "Deployment": {2.5, 4.5}, "EndpointSlice": {1, 3}, "Event": {5, 10},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, total := counted(profilePlan(t, tc.profile, whole(tc.change)))
			got[""] = total
			t.Logf("%.2f writes per pod; %.2v", total, got)
			for k, want := range tc.want {
				if v := got[k]; !(v >= want[0] && v <= want[1]) {
					t.Errorf("%s: %.3f per pod, want %v to %v", k, v, want[0], want[1])
				}
			}
		})
	}
}

// A large Deployment has several slices, each as full as the controller fills it.
func TestSlicesAreFull(t *testing.T) {
	p := profilePlan(t, ProfileRollout, func(c *Config) {
		c.Tuning = &Tuning{Services: ServiceTuning{Selected: new(1.0)}, Rollouts: RolloutTuning{Size: dist.Must[dist.Number]("250"), Deployments: 2}}
		c.Rate = 15
	})
	members := map[*Target]int{}
	for op := range p.Setup() {
		if op.Target.Kind == "EndpointSlice" {
			members[op.Target] = len(op.State.Endpoints)
		}
	}
	if got := slices.Sorted(maps.Values(members)); !slices.Equal(got, []int{50, 50, 100, 100, 100, 100}) {
		t.Errorf("the slices of two times 250 pods have %v endpoints", got)
	}
	most := 0
	for op := range p.Timed() {
		most = max(most, len(op.State.Endpoints))
	}
	if most != 100 {
		t.Errorf("a slice has %d endpoints during rollouts", most)
	}
}
