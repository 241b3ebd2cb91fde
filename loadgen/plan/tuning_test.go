package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTuningIsRefused(t *testing.T) {
	const head = "runID: r1\nmodel: open\nrate: 20\nduration: 60s\nnodes: 60\nnamespaces: 20\n"
	for _, tc := range []struct{ name, file, want string }{
		{"unknown profile", "profile: service\n", `p.yaml:7: profile: "service" is not known; use one of service-churn, batch-jobs, rollout, crashloop, node-flap, mixed-production`},
		{"tuning alone", "tuning: {timeScale: 2}\n", "p.yaml:7: tuning: has no effect without a profile; add profile: service-churn, or drop it"},
		{"misspelt", "profile: rollout\ntuning: {rollouts: {sise: 5}}\n", "p.yaml:8: tuning.rollouts.sise: unknown field; did you mean size?"},
		{"out of range", "profile: rollout\ntuning: {rollouts: {surge: 1.5}}\n", "p.yaml:8: tuning.rollouts.surge: 1.5 is out of range; use 0 to 1"},
		{"a period of nothing", "profile: rollout\ntuning: {cluster: {leasePeriod: 1ns}}\n", "p.yaml:8: tuning.cluster.leasePeriod: 1ns is out of range; use 100ms to 24h"},
		{"a size without unit", "profile: rollout\ntuning: {sizes: {pod: 12}}\n", `p.yaml:8: tuning.sizes.pod: "12", column 1: 12: "12" is not a size`},
		{"a distribution of another kind", "profile: rollout\ntuning: {stages: {bind: 'LN(12KB,0.5)'}}\n", `p.yaml:8: tuning.stages.bind: "LN(12KB,0.5)", column 4: 12KB: not a duration`},
		{"a share above 1", "profile: service-churn\ntuning: {mix: {services: 5}}\n", "p.yaml:8: tuning.mix.services: 5 is out of range; use 0 to 1"},
		{"nothing to do", "profile: service-churn\ntuning: {mix: {services: 0}}\n", "p.yaml:8: tuning.mix: has only zeros"},
		{"plain pods' survivors", "profile: service-churn\nsurvivors: 0.5\n", "p.yaml:8: survivors: has no effect on a profile's pods; drop it, or set load.tuning"},
		{"plain pods' stages", "profile: service-churn\nlifecycle: pod/fast\n", "p.yaml:8: lifecycle: has no effect on a profile's pods"},
		{"too few nodes", "profile: service-churn\nprefill: 8000\n", "p.yaml:5: nodes: 60 have room for 6600 pods, and the load has about 92"},
		{"hot pods", "profile: service-churn\nhotkeys: {objects: 2, burst: 2, share: 0.1}\n", "p.yaml:8: hotkeys: has no effect on a profile's pods"},
		{"cron", "arrival: poisson\ncron: {period: 1s, size: 3}\n", "p.yaml:8: cron: unknown field; write steps, or profile: batch-jobs"},
		{"few jobs", "profile: batch-jobs\ntuning: {jobs: {pods: 0.2}}\n", "p.yaml:8: tuning.jobs.pods: has a mean of 0.2 pods; use a distribution with a mean of 1 to 100000"},
		{"steps with a rate", "steps: [{length: 1s, rate: 5}]\n", "p.yaml:3: rate: has no effect beside steps; drop it"},
		{"a closed loop", "model: closed\nprofile: rollout\n", "p.yaml:7: profile: is driven by time, which a closed loop does not have"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := head + tc.file
			if strings.Contains(tc.file, "closed") {
				file = "runID: r1\nmodel: closed\nthreads: 2\noperations: 5\nnodes: 60\nnamespaces: 20\n" + strings.TrimPrefix(tc.file, "model: closed\n")
			}
			_, err := Parse("p.yaml", []byte(file))
			if err == nil {
				t.Fatalf("accepted:\n%s", file)
			}
			if got := err.Error(); !strings.HasPrefix(got, tc.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s…", got, tc.want)
			}
		})
	}
}

// The rate is that of all pods, however the shares of a mix are written.
func TestMixSumsUp(t *testing.T) {
	prints := map[string]uint64{}
	mixed := func(mix MixTuning) uint64 {
		_, sum := fingerprint(profilePlan(t, ProfileServiceChurn, func(c *Config) { c.Tuning = &Tuning{Mix: mix} }).Timed())
		return sum
	}
	for name, mix := range map[string]MixTuning{
		"alone": {}, "a fifth alone": {Services: new(0.2)},
		"halves": {Services: new(0.5), Jobs: new(0.5)}, "wholes": {Jobs: new(1.0)},
	} {
		prints[name] = mixed(mix)
	}
	if prints["alone"] != prints["a fifth alone"] || prints["halves"] != prints["wholes"] {
		t.Errorf("shares of one proportion give several plans: %v", prints)
	}
	given := MixTuning{Services: new(0.2)}
	mixed(given)
	if *given.Services != 0.2 {
		t.Errorf("the configuration's own share became %v", *given.Services)
	}
}

// What a file says holds, what it leaves out is the profile's, and a plan that is written
// as JSON for another process is the same plan.
func TestTuningOverrides(t *testing.T) {
	cfg, err := Parse("p.yaml", []byte("runID: r1\nmodel: open\nrate: 20\nduration: 60s\nnodes: 60\nprofile: mixed-production\n"+
		"tuning: {timeScale: 60, crashes: {share: 0}, jobs: {pods: 3}, stages: {bind: 'uniform(1ms,2ms)'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, base := cfg.ResolvedTuning(), (&Load{Profile: ProfileMixedProduction}).ResolvedTuning()
	if *got.Crashes.Share != 0 || got.Jobs.Pods.String() != "3" || got.Stages.Bind.String() != "uniform(1ms,2ms)" || got.TimeScale != 60 {
		t.Errorf("the file's numbers are not in force: %+v", got)
	}
	if got.Stages.Sandbox != base.Stages.Sandbox || *got.Mix.Jobs != 0.4 || *base.Crashes.Share != 0.02 {
		t.Errorf("the profile's are not: %+v", got)
	}
	data, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("p.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cfg.ResolvedTuning().strings(t), again.ResolvedTuning().strings(t)); diff != "" {
		t.Errorf("as JSON it is another plan:\n%s", diff)
	}
}

func (t Tuning) strings(tb testing.TB) string {
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// Whatever a file says of a profile, it is refused or can be played to its end.
func FuzzProfile(f *testing.F) {
	for _, name := range ProfileNames() {
		f.Add(name, "timeScale: 100", 20.0)
	}
	f.Add(ProfileCrashLoop, "{crashes: {run: 0s, backOff: 1ns}, stages: {running: 0s, probe: 0s}}", 1.0)
	f.Add(ProfileMixedProduction, "{services: {step: 'zipf(1,9) clip 0..3'}, rollouts: {surge: 0, unavailable: 0}}", 5.0)
	f.Add(ProfileBatchJobs, "{jobs: {pods: 'mix(1=uniform(0,3))', run: 0s, ttl: 1ns}, events: {burst: 1, similar: 1, ttl: 1ns}}", 5.0)
	f.Fuzz(func(t *testing.T, name, tuning string, rate float64) {
		tree := "runID: r1\nmodel: open\nduration: 3s\nnodes: 30\nprofile: " + name + "\ntuning: " + tuning + "\n"
		cfg, err := Parse("p.yaml", []byte(tree+"rate: 1\n"))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of several lines: %v", err)
			}
			return
		}
		if cfg.Rate = min(max(rate, 0.1), 30); cfg.Validate() != nil {
			return
		}
		if cfg.Tuning == nil {
			cfg.Tuning = &Tuning{}
		}
		cfg.Tuning.Services.Deployments, cfg.Tuning.Rollouts.Deployments = min(cfg.Tuning.Services.Deployments, 10), min(cfg.Tuning.Rollouts.Deployments, 3)
		cfg.Tuning.Cluster.Widgets, cfg.Tuning.Cluster.ConfigMaps = new(10), new(10)
		cfg.Prefill, cfg.Nodes, cfg.Namespaces = min(cfg.Prefill, 100), min(cfg.Nodes, 100), min(cfg.Namespaces, 20)
		p, err := New(cfg)
		if err != nil {
			return
		}
		n := 0
		for op := range p.Timed() {
			if n++; op.Target == nil || op.At < 0 || op.At >= cfg.Duration.Std() {
				t.Fatalf("operation %+v", op)
			}
			if n == 20_000 {
				break
			}
		}
	})
}
