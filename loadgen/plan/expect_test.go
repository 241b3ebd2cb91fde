package plan

import (
	"math"
	"testing"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// perLife sums up what one created and deleted object of a kind means.
func perLife(c *Load, of string) map[string]float64 {
	sum := map[string]float64{}
	for _, r := range c.Ratios() {
		if r.Of == of && (r.On == oplog.TypeCreate || r.On == oplog.TypeDelete) {
			sum[r.Kind] += r.Events
		}
	}
	return sum
}

func profileLoad(profile string) *Load {
	c := Default().Load
	c.Profile, c.Model, c.Rate, c.Duration, c.Nodes = profile, ModelOpen, 20, minute, 50
	return &c
}

// TestRatiosAreThePublishedOnes: what a life means by what was recorded. The numbers are spelled
// out, as docs/load.md has them.
func TestRatiosAreThePublishedOnes(t *testing.T) {
	service := map[string]float64{"Pod": 9.65, "Event": 9.46, "ReplicaSet": 3.54, "Deployment": 3.79, "EndpointSlice": 1.93}
	for profile, want := range map[string]map[string]float64{
		ProfileServiceChurn: service, ProfileCrashLoop: service, ProfileNodeFlap: service,
		ProfileColdStart:       {"Pod": 9.65, "Event": 9.71, "ReplicaSet": 2.19, "Deployment": 2.22, "EndpointSlice": 1.77},
		ProfileBatchJobs:       {"Pod": 9.15, "Event": 6.65},
		ProfileRollout:         {"Pod": 9.65, "Event": 8.75, "ReplicaSet": 5.4, "Deployment": 3.1, "EndpointSlice": 2.24},
		ProfileRecreate:        {"Pod": 9.65, "Event": 6.95},
		ProfileEventNoise:      {},
		ProfileMixedProduction: {"Pod": 9.45, "Event": 8.24, "ReplicaSet": 2.13, "Deployment": 2.02, "EndpointSlice": 1.09, "DaemonSet": 0.1},
	} {
		c := profileLoad(profile)
		got := perLife(c, "Pod")
		for _, kind := range []string{"Pod", "Event", "ReplicaSet", "Deployment", "EndpointSlice", "DaemonSet"} {
			if math.Abs(got[kind]-want[kind]) > 0.005 {
				t.Errorf("%s: %v of %s for a life, want %v", profile, got[kind], kind, want[kind])
			}
		}
		jobs := 0.0
		for _, r := range c.Ratios() {
			if r.Kind == "Job" {
				jobs += r.Events
			}
		}
		if jobs != 7 {
			t.Errorf("%s: a Job is written %v times, want 7", profile, jobs)
		}
		rates := map[string]float64{}
		for _, r := range c.Ratios() {
			if !r.PerLife() {
				rates[r.Kind] += r.Events
			}
		}
		if rates["Lease"] != 5 || math.Abs(rates["Node"]-50./300) > 1e-9 || (rates["Widget"] == 5) != (profile == ProfileMixedProduction) || (rates["Event"] == 20) != (profile == ProfileEventNoise) {
			t.Errorf("%s: per second %v", profile, rates)
		}
	}
	if plain := Default().Load; len(plain.Ratios()) != 0 || plain.ExpectedBytes("Pod") != 0 {
		t.Error("plain pods have expectations")
	}
	if foreign := profileLoad("of another version"); len(foreign.Ratios()) != 0 || foreign.ExpectedBytes("Pod") != 0 {
		t.Error("a profile that nobody knows has expectations")
	}
	closed := profileLoad(ProfileServiceChurn)
	closed.Model = ModelClosed
	for _, r := range closed.Ratios() {
		if !r.PerLife() {
			t.Errorf("a closed loop has %s per second", r.Kind)
		}
	}
}

// TestRatiosFitThePlans: of each kind with a rate or a life, the plan itself writes what the
// expectation says, to the factor by which it may be off: a plan has chance in it, and its
// controllers gather.
func TestRatiosFitThePlans(t *testing.T) {
	for _, tc := range []struct {
		profile string
		tuning  Tuning
		factor  map[string]float64 // farthest off; "" is of what is not named
	}{
		// Which Deployments a Service selects is chance: of EndpointSlices a few more or less.
		{ProfileServiceChurn, Tuning{}, map[string]float64{"": 1.1, "EndpointSlice": 1.5}},
		{ProfileBatchJobs, Tuning{Jobs: JobTuning{Pods: dist.MustNumber("1")}}, map[string]float64{"": 1.1, "Job": 1.25}},
		// Most of these have 5 replicas, and so more steps for each pod than the recorded one of 30.
		{ProfileRollout, Tuning{}, map[string]float64{"": 1.3, "EndpointSlice": 1.5, "Pod": 1.1, "Lease": 1.1}},
		{ProfileRecreate, Tuning{}, map[string]float64{"": 1.1}},
		{ProfileMixedProduction, Tuning{Jobs: JobTuning{Pods: dist.MustNumber("1")}}, map[string]float64{"": 1.3, "EndpointSlice": 2, "DaemonSet": 1.5, "Pod": 1.1, "Lease": 1.2, "ConfigMap": 1.6}},
	} {
		tc.tuning.TimeScale = 20
		p := profilePlan(t, tc.profile, func(c *Config) { c.Tuning, c.Duration, c.Nodes = &tc.tuning, 2*minute, 100 })
		counts, got := map[[2]string]float64{}, map[string]float64{}
		for op := range p.Timed() {
			counts[[2]string{op.Target.Kind, op.Type}]++
			got[op.Target.Kind]++
		}
		counts[[2]string{}] = 120 // seconds
		want := map[string]float64{}
		for _, r := range p.cfg.Ratios() {
			want[r.Kind] += r.Events * counts[[2]string{r.Of, r.On}]
		}
		for kind, n := range got {
			factor := tc.factor[kind]
			if factor == 0 {
				factor = tc.factor[""]
			}
			t.Logf("%s: %s %.0f, expected %.0f: %.2f", tc.profile, kind, n, want[kind], n/want[kind])
			if want[kind] == 0 || n/want[kind] > factor || want[kind]/n > factor {
				t.Errorf("%s: %.0f events of %s where %.0f are expected", tc.profile, n, kind, want[kind])
			}
		}
	}
}

func TestExpectedBytes(t *testing.T) {
	c := profileLoad(ProfileServiceChurn)
	// A lognormal median of 12 KB with sigma 0.5 has a mean of 13.6 KB.
	if got := c.ExpectedBytes("Pod"); math.Abs(got-0.907*13_600) > 200 {
		t.Errorf("a pod's states have %v bytes", got)
	}
	for _, kind := range []string{"ReplicaSet", "Deployment", "DaemonSet", "Job", "Event", "Node", "Lease", "ConfigMap", "Widget"} {
		if c.ExpectedBytes(kind) < 800 {
			t.Errorf("%s: %v bytes", kind, c.ExpectedBytes(kind))
		}
	}
	if c.ExpectedBytes("EndpointSlice") != 0 || profileLoad(ProfileRollout).ExpectedBytesPerLife() != 0 {
		t.Error("what nobody knows has a size")
	}
	if got := c.ExpectedBytesPerLife(); got != 190_000 {
		t.Errorf("the writes of a life have %v bytes", got)
	}
}
