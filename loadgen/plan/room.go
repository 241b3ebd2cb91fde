package plan

import (
	"math"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
)

const (
	// maxBefore objects may exist before the load: each takes the generator up to 1 KB.
	maxBefore = 1_000_000
	// writesPerPod is about how many writes a pod's life is, with all kinds that it touches.
	writesPerPod = 25
)

// validateRoom refuses a plan that needs more than the cluster or the generator allows.
func (c *Load) validateRoom(t *Tuning) error {
	pods := c.expectedPods(t)
	if room := float64(c.Nodes * podsPerNode); pods > room {
		return fieldError("nodes", "%d have room for %.0f pods, and the load has about %.0f at a time; use %.0f nodes, "+
			"less rate or prefill, or a larger tuning.timeScale", c.Nodes, room, pods, math.Ceil(pods/podsPerNode))
	}
	before := float64(c.Prefill+2*c.Nodes+2*t.Services.Deployments+*t.Cluster.Widgets+*t.Cluster.ConfigMaps) +
		ceil(*t.Mix.Recreate)*float64(t.Recreate.Pods) + ceil(*t.Mix.Noise)*float64(t.Events.Pods) +
		ceil(*t.Mix.Rollouts)*float64(t.Rollouts.Deployments)*(2+t.Rollouts.Size.Mean())
	if before > maxBefore {
		return fieldError("tuning", "has %.0f objects before the load, and the generator has room for %d; use less",
			before, maxBefore)
	}
	if writes := c.expectedWrites(t); writes > MaxOperations {
		return fieldError("duration",
			"%s of this load have about %.3g writes, and a plan has at most %d; use a shorter one, "+
				"or less rate or nodes", c.Duration, writes, MaxOperations)
	}
	return nil
}

func ceil(share float64) float64 { return math.Ceil(min(share, 1)) }

// expectedWrites is about how many the load has.
func (c *Load) expectedWrites(t *Tuning) float64 {
	mix, cl, length := &t.Mix, &t.Cluster, c.Duration.Std()
	pods := c.most(length, *mix.Services, &t.Services.Step) + c.most(length, *mix.Rollouts, &t.Rollouts.Size) +
		c.most(length, *mix.Jobs, &t.Jobs.Pods) + c.most(length, *mix.Daemons+*mix.Recreate, nil)
	perSecond := *cl.WidgetRate + *cl.ConfigMapRate + *mix.Noise*c.MeanRate()
	for _, period := range []*units.Duration{cl.LeasePeriod, cl.NodeStatusPeriod} {
		if *period > 0 {
			perSecond += float64(c.Nodes) / period.Std().Seconds()
		}
	}
	return writesPerPod*pods + perSecond*length.Seconds()
}

// validateRestarts refuses a rate at which a pod would be replaced before it is there, so that
// what arrives could not happen.
func (c *Load) validateRestarts(t *Tuning) error {
	const (
		even  = 1.5 // arrivals are not
		steps = 3   // of a rollout, each of which waits for the slowest of its pods
	)
	mix, whole, rollout := &t.Mix, t.starting()+t.stopping(), steps*t.starting()
	for _, s := range []struct {
		field string
		there int
		need  float64
		takes time.Duration
	}{
		{"tuning.recreate.pods", t.Recreate.Pods, even * c.most(whole, *mix.Recreate, nil), whole},
		{"nodes", c.Nodes, even * c.most(whole, *mix.Daemons, nil), whole},
		{"tuning.rollouts.deployments", t.Rollouts.Deployments,
			c.most(rollout, *mix.Rollouts, &t.Rollouts.Size) / t.Rollouts.Size.Mean(), rollout},
	} {
		if s.need = math.Ceil(s.need); float64(s.there) < s.need {
			return fieldError(s.field, "%d are too few: %.0f are needed, as a restart or rollout takes %s; "+
				"use more or less rate", s.there, s.need, s.takes.Round(100*time.Millisecond))
		}
	}
	return nil
}

// mean returns d's mean, at most longest.
func mean(d dist.Duration) time.Duration { return min(d.Mean(), longest) }

// starting is how long a pod takes on average until it is ready, stopping until it is gone.
func (t *Tuning) starting() time.Duration {
	st := &t.Stages
	return mean(st.Bind) + mean(st.Creating) + mean(st.Sandbox) + mean(st.Running) +
		time.Duration(*st.ProbeShare*float64(mean(st.Probe))+*st.PullShare*float64(mean(st.Pull))+
			*t.Pods.InitShare*float64(mean(st.Init)))
}

func (t *Tuning) stopping() time.Duration {
	return mean(t.Stages.Seen) + mean(t.Stages.Stop) + mean(t.Stages.Final)
}

// expectedPods is about how many pods there are at most at a time.
func (c *Load) expectedPods(t *Tuning) float64 {
	pods := float64(c.Prefill)
	mix := &t.Mix
	if *mix.Noise > 0 {
		pods = max(pods, float64(t.Events.Pods))
	}
	if *mix.Rollouts > 0 {
		pods += float64(t.Rollouts.Deployments) * t.Rollouts.Size.Mean() * (1 + *t.Rollouts.Surge)
	}
	if *mix.Daemons > 0 {
		pods += float64(c.Nodes)
	}
	if *mix.Recreate > 0 {
		pods += float64(t.Recreate.Pods)
	}
	stages := t.starting() + t.stopping()
	scaled := func(d time.Duration) time.Duration {
		return stages + time.Duration(min(float64(d)/t.TimeScale, float64(longest)))
	}
	return pods + c.most(scaled(mean(t.Services.Lifetime)), *mix.Services, &t.Services.Step) +
		c.most(scaled(mean(t.Jobs.Run)+min(t.Jobs.TTL.Std(), longest)), *mix.Jobs, &t.Jobs.Pods)
}

// most is the largest number of pods that a share of an open load makes within a time, but
// for chance. group is the number of pods per arrival; nil means one.
func (c *Load) most(within time.Duration, share float64, group *dist.Number) (most float64) {
	end := c.Duration.Std().Seconds()
	window := min(within.Seconds(), end)
	points := math.Ceil(min(max(4*(end-window)/window, 1000), 100_000))
	for i := 0.0; i <= points; i++ {
		t := window + (end-window)*i/points
		most = max(most, c.arrivedBy(t)-c.arrivedBy(t-window))
	}
	switch {
	case c.arrival() != ArrivalTrace:
		return most * share
	case group == nil:
		return most * ceil(share)
	}
	return most * ceil(share) * group.Mean() // a whole group arrives at each time
}
