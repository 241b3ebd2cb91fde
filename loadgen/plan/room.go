package plan

import (
	"math"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
)

const (
	// maxBefore objects may exist before the load: each takes the generator up to 1 KB.
	maxBefore = 1_000_000
	// writesPerPod is about how many writes a pod's life is, with all kinds that it touches.
	writesPerPod = 25
)

// validateRestarts refuses a rate at which pods would be replaced before they are there: the load would be less.
func (c *Load) validateRestarts(t *Tuning) error {
	const steps = 3 // of a rollout, each of which waits for the slowest of its pods
	mix, st := &t.Mix, &t.Stages
	starting := mean(st.Bind) + mean(st.Creating) + mean(st.Sandbox) + mean(st.Running) +
		time.Duration(*st.ProbeShare*float64(mean(st.Probe))+*st.PullShare*float64(mean(st.Pull))+
			*t.Pods.InitShare*float64(mean(st.Init)))
	stopping := mean(st.Seen) + mean(st.Stop) + mean(st.Final)
	for _, s := range []struct {
		field string
		there int
		rate  float64 // of restarts, as a part of that of pods
		takes time.Duration
	}{
		{"nodes", c.Nodes, *mix.Daemons, starting + stopping},
		{"tuning.rollouts.deployments", t.Rollouts.Deployments, *mix.Rollouts / t.Rollouts.Size.Mean(), steps * starting},
	} {
		if need := math.Ceil(s.rate * c.MeanRate() * s.takes.Seconds()); float64(s.there) < need {
			return fieldError(s.field, "%d are too few: %.0f are needed, as a restart or rollout takes %s; "+
				"use more or less rate", s.there, need, s.takes.Round(100*time.Millisecond))
		}
	}
	return nil
}

// validateRoom refuses a plan that on average needs more than the cluster or the generator allows.
func (c *Load) validateRoom(t *Tuning) error {
	pods := c.expectedPods(t)
	if room := float64(c.Nodes * podsPerNode); pods > room {
		return fieldError("nodes", "%d have room for %.0f pods, and the load has about %.0f at a time; use %.0f nodes, "+
			"less rate or prefill, or a larger tuning.timeScale", c.Nodes, room, pods, math.Ceil(pods/podsPerNode))
	}
	before := pods + float64(2*c.Nodes+2*t.Services.Deployments+*t.Cluster.Widgets+*t.Cluster.ConfigMaps) +
		math.Ceil(*t.Mix.Rollouts)*float64(2*t.Rollouts.Deployments)
	if before > maxBefore {
		return fieldError("tuning", "has %.0f objects before the load, and the generator has room for %d; use less",
			before, maxBefore)
	}
	length := c.Duration.Std().Seconds()
	writes := length * (writesPerPod*c.MeanRate() + *t.Cluster.WidgetRate + *t.Cluster.ConfigMapRate)
	if period := *t.Cluster.LeasePeriod; period > 0 {
		writes += length * float64(c.Nodes) / period.Std().Seconds()
	}
	if writes > MaxOperations {
		return fieldError("duration", "%s of this load have about %.3g writes, and a plan has at most %d; "+
			"use a shorter one, or less rate or nodes", c.Duration, writes, MaxOperations)
	}
	return nil
}

func (c *Load) expectedPods(t *Tuning) float64 {
	pods, mix := float64(c.Prefill), &t.Mix
	if *mix.Rollouts > 0 {
		pods += float64(t.Rollouts.Deployments) * t.Rollouts.Size.Mean() * (1 + *t.Rollouts.Surge)
	}
	if *mix.Daemons > 0 {
		pods += float64(c.Nodes)
	}
	// Of what comes and goes, as many as arrive within a lifetime.
	living := func(d time.Duration) float64 {
		return c.MeanRate() * min(float64(d)/t.TimeScale+float64(mean(t.Stages.Stop)), float64(c.Duration)) / 1e9
	}
	return pods + *mix.Services*living(mean(t.Services.Lifetime)) +
		*mix.Jobs*living(mean(t.Jobs.Run)+min(t.Jobs.TTL.Std(), longest))
}

func mean(d dist.Duration) time.Duration { return min(d.Mean(), longest) }
