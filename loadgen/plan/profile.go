package plan

import (
	"sync"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
)

// Profiles: what Load.Profile may be.
const (
	ProfileServiceChurn    = "service-churn"
	ProfileBatchJobs       = "batch-jobs"
	ProfileRollout         = "rollout"
	ProfileCrashLoop       = "crashloop"
	ProfileNodeFlap        = "node-flap"
	ProfileMixedProduction = "mixed-production"
	ProfileRecreate        = "recreate"
	ProfileColdStart       = "coldstart"
	ProfileEventNoise      = "event-noise"
)

// ProfileNames lists the profiles.
func ProfileNames() []string {
	return []string{ProfileServiceChurn, ProfileBatchJobs, ProfileRollout, ProfileCrashLoop, ProfileNodeFlap,
		ProfileMixedProduction, ProfileRecreate, ProfileColdStart, ProfileEventNoise}
}

const (
	second = units.Duration(1e9)
	minute = 60 * second
)

func ptr[T any](v T) *T { return &v }

// commonTuning holds for every profile that says nothing else. The stages' times, the
// shares and the lifetimes are those of containers in published surveys; what an object
// weighs was counted on clusters; see docs/load.md for which is which. It is read once:
// averages are not free.
var commonTuning = sync.OnceValue(func() Tuning {
	return Tuning{
		TimeScale:     1,
		NamespaceZipf: ptr(1.0),
		Stages: StageTuning{
			Bind: dist.MustDuration("LN(50ms,1.0) clip 1ms..10s"), Creating: dist.MustDuration("uniform(50ms,500ms)"),
			Sandbox: dist.MustDuration("LN(700ms,0.5)"), PullShare: ptr(0.3), Pull: dist.MustDuration("LN(3s,1.2) clip 0s..300s"),
			Init: dist.MustDuration("LN(2s,0.7)"), Running: dist.MustDuration("sum(LN(500ms,0.5),uniform(0s,1s))"),
			ProbeShare: ptr(0.5), Probe: dist.MustDuration("LN(5s,1.0) clip 10ms..120s"),
			Seen: dist.MustDuration("uniform(20ms,300ms)"), Stop: dist.MustDuration("mix(0.6=LN(1s,0.7),0.3=uniform(5s,15s),0.1=30s) clip 100ms..30s"),
			Final: dist.MustDuration("uniform(200ms,2s)"),
		},
		Pods: PodTuning{Containers: dist.MustNumber("bins(1=75,2=20,3=5)"), InitShare: ptr(0.15)},
		Sizes: SizeTuning{
			Pod: dist.MustSize("LN(12KB,0.5) clip 3KB..60KB"), ReplicaSet: dist.MustSize("LN(7KB,0.4) clip 2KB..40KB"),
			Deployment: dist.MustSize("LN(7KB,0.4) clip 2KB..40KB"), Job: dist.MustSize("LN(6500B,0.4) clip 2KB..40KB"),
			Event: dist.MustSize("mix(0.999=LN(1250B,0.2),0.001=uniform(10KB,76KB)) clip 1KB..76KB"), Node: dist.MustSize("LN(45KB,0.3) clip 8KB..120KB"),
			ConfigMap: dist.MustSize("LN(3KB,1.3) clip 600B..1MB"), Widget: dist.MustSize("LN(2KB,1.2) clip 800B..1300KB"),
		},
		Services: ServiceTuning{
			Deployments: 100, Step: dist.MustNumber("bins(1=45,2=25,3..8=22,8..30=7,30..125=1)"),
			Lifetime: dist.MustDuration("bins(5m..10m=9,10m..30m=10,30m..1h=4,1h..6h=6,6h..24h=3,24h..168h=8,168h..336h=4)"), Selected: ptr(0.7),
		},
		Rollouts: RolloutTuning{Size: dist.MustNumber("bins(5=80,30=15,250=5)"), Deployments: 10, Surge: ptr(0.25), Unavailable: ptr(0.25)},
		Jobs: JobTuning{
			Pods: dist.MustNumber("zipf(1.5,500)"), Run: dist.MustDuration("bins(1s..10s=22,10s..1m=17,1m..5m=15,5m..10m=9,10m..30m=10,30m..1h=4)"),
			TTL: ptr(minute), CronShare: ptr(0.2), CronPeriod: minute,
		},
		Crashes: CrashTuning{Share: ptr(0.0), Run: dist.MustDuration("LN(5s,1.0) clip 500ms..10m"), BackOff: 10 * second, BackOffMax: 5 * minute},
		Flaps:   FlapTuning{Share: ptr(0.0), Period: 5 * minute, Down: 10 * minute, Toleration: 5 * minute},
		Events:  EventTuning{Burst: 25, Refill: 5 * minute, Similar: 10, Window: 10 * minute, TTL: 60 * minute, Pods: 200, Repeat: ptr(0.8)},
		Writers: WriterTuning{
			Delay: dist.MustDuration("uniform(5ms,50ms)"), ReplicaSet: second / 10, Deployment: second / 10, Job: second, EndpointSlice: second / 10,
		},
		Cluster:  ClusterTuning{LeasePeriod: ptr(10 * second), NodeStatusPeriod: ptr(5 * minute), Widgets: ptr(20), WidgetRate: ptr(0.0), ConfigMaps: ptr(20), ConfigMapRate: ptr(0.0)},
		Mix:      MixTuning{Services: ptr(0.0), Rollouts: ptr(0.0), Jobs: ptr(0.0), Daemons: ptr(0.0), Recreate: ptr(0.0), Noise: ptr(0.0)},
		Recreate: RecreateTuning{Pods: 60},
	}
})

// profiles are what differs from commonTuning.
var profiles = map[string]func(*Tuning){
	ProfileServiceChurn: func(t *Tuning) { t.Mix.Services = ptr(1.0) },
	ProfileBatchJobs:    func(t *Tuning) { t.Mix.Jobs = ptr(1.0) },
	ProfileRollout:      func(t *Tuning) { t.Mix.Rollouts = ptr(1.0) },
	ProfileCrashLoop: func(t *Tuning) {
		t.Mix.Services, t.Crashes.Share = ptr(1.0), ptr(1.0)
	},
	ProfileNodeFlap: func(t *Tuning) { t.Mix.Services, t.Flaps.Share = ptr(1.0), ptr(0.01) },
	ProfileMixedProduction: func(t *Tuning) {
		t.Mix = MixTuning{Services: ptr(0.45), Rollouts: ptr(0.1), Jobs: ptr(0.4), Daemons: ptr(0.05), Recreate: ptr(0.0), Noise: ptr(0.0)}
		t.Crashes.Share, t.Flaps.Share = ptr(0.02), ptr(0.01)
		t.Cluster.WidgetRate, t.Cluster.ConfigMapRate = ptr(5.0), ptr(1.0)
	},
	ProfileRecreate: func(t *Tuning) { t.Mix.Recreate = ptr(1.0) },
	ProfileColdStart: func(t *Tuning) {
		t.Mix.Services, t.Services.Deployments = ptr(1.0), 100
		t.Services.Step = dist.MustNumber("bins(5=50,30=25,60..125=25)")
		t.Stages.PullShare = ptr(1.0)
	},
	ProfileEventNoise: func(t *Tuning) { t.Mix.Noise = ptr(1.0) },
}

// ResolvedTuning is the tuning in force: the file's over the profile's, with a mix that sums
// to 1. The profile must be known.
func (c *Load) ResolvedTuning() Tuning {
	t := c.writtenTuning()
	t.Mix.normalise()
	return t
}

// writtenTuning is ResolvedTuning with the mix as it is written.
func (c *Load) writtenTuning() Tuning {
	base := commonTuning()
	profiles[c.Profile](&base)
	if c.Tuning == nil {
		return base
	}
	return c.Tuning.over(base)
}

// HasWidgets reports whether the load writes custom resources, as some profiles do.
func (c *Load) HasWidgets() bool {
	return c.Profile != "" && *c.ResolvedTuning().Cluster.Widgets > 0
}

func (c *Load) validateProfile() error {
	if c.Profile == "" {
		if c.Tuning != nil {
			return fieldError("tuning", "has no effect without a profile; add profile: %s, or drop it", ProfileServiceChurn)
		}
		return nil
	}
	if _, ok := profiles[c.Profile]; !ok {
		return fieldError("profile", "%q is not known; use %s", c.Profile, oneOf(ProfileNames()))
	}
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"lifecycle", c.Lifecycle != ""}, {"stages", len(c.Stages) > 0}, {"survivors", c.Survivors != DefaultSurvivors},
		{"recreate", c.Recreate != DefaultRecreate}, {"objectBytes", c.ObjectBytes != DefaultObjectBytes}, {"shards", c.Shards != 0},
		{"warmup.operations", c.Warmup.Operations != 0},
	} {
		if f.set {
			return fieldError(f.path, "has no effect on a profile's pods; drop it, or set load.tuning")
		}
	}
	t := c.writtenTuning()
	if err := t.validate(); err != nil {
		return err
	}
	t.Mix.normalise()
	if c.Model == ModelClosed && *t.Mix.Services+*t.Mix.Rollouts+*t.Mix.Jobs+*t.Mix.Recreate == 0 {
		return fieldError("profile", "%s goes by the clock, and a closed loop has none; set model: open, or a profile with services, rollouts, jobs or names that are taken again", c.Profile)
	}
	if c.validateModel() != nil {
		return nil // what arrives is not known
	}
	if err := c.validateRestarts(&t); err != nil {
		return err
	}
	return c.validateRoom(&t)
}

func oneOf(names []string) string {
	s := ""
	for i, n := range names {
		switch {
		case i == len(names)-1:
			s += " or "
		case i > 0:
			s += ", "
		}
		s += n
	}
	return s
}
