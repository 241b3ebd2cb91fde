package plan

import (
	"math"
	"time"
)

// maxPodsPerNamespace is what Kubernetes is tested with.
const maxPodsPerNamespace = 3000

// validateRoom refuses a plan that needs more than the cluster allows.
func (c *Load) validateRoom(t *Tuning) error {
	pods := c.expectedPods(t)
	if room := float64(c.Nodes * podsPerNode); pods > room {
		return fieldError("nodes", "%d have room for %.0f pods, and the load has about %.0f at a time; use %.0f nodes, less rate or prefill, or a larger tuning.timeScale",
			c.Nodes, room, pods, math.Ceil(pods/podsPerNode))
	}
	// The first namespace has the largest part.
	sum := 0.0
	for k := range c.Namespaces {
		sum += math.Pow(float64(k+1), -*t.NamespaceZipf)
	}
	if most := pods / sum; most > maxPodsPerNamespace {
		return fieldError("namespaces", "%d, of which the fullest has about %.0f pods; more than %d are beyond what Kubernetes is made for, so use more namespaces or a smaller tuning.namespaceZipf",
			c.Namespaces, most, maxPodsPerNamespace)
	}
	return nil
}

// validateRestarts refuses a rate at which a pod would be deleted before it is there again.
func (c *Load) validateRestarts(t *Tuning) error {
	rate := c.MeanRate() * *t.Mix.Recreate
	if c.Model == ModelClosed || rate == 0 {
		return nil
	}
	need := math.Ceil(1.5 * rate * t.stages().Seconds()) // arrivals are not even
	if float64(t.Recreate.Pods) < need {
		return fieldError("tuning.recreate.pods", "%d cannot be restarted %.3g times a second, as each takes about %s; use %.0f or less rate",
			t.Recreate.Pods, rate, t.stages().Round(100*time.Millisecond), need)
	}
	return nil
}

// stages is how long a pod takes on average beside its lifetime.
func (t *Tuning) stages() time.Duration {
	st := &t.Stages
	return st.Bind.Mean() + st.Creating.Mean() + st.Sandbox.Mean() + st.Running.Mean() + st.Seen.Mean() + st.Stop.Mean() + st.Final.Mean() +
		time.Duration(*st.ProbeShare*float64(st.Probe.Mean())+*st.PullShare*float64(st.Pull.Mean())+*t.Pods.InitShare*float64(st.Init.Mean()))
}

// expectedPods is about how many pods there are at most at a time.
func (c *Load) expectedPods(t *Tuning) float64 {
	pods := float64(c.Prefill)
	mix := &t.Mix
	if *mix.Noise > 0 {
		pods = max(pods, float64(t.Events.Pods))
	}
	if *mix.Rollouts > 0 {
		pods += float64(max(t.Rollouts.Deployments, c.Threads)) * t.Rollouts.Size.Mean() * (1 + *t.Rollouts.Surge)
	}
	if *mix.Daemons > 0 {
		pods += float64(c.Nodes)
	}
	if *mix.Recreate > 0 {
		pods += float64(max(t.Recreate.Pods, c.Threads))
	}
	if c.Hotkeys != nil {
		pods += float64(c.Hotkeys.Objects)
	}
	if c.Model == ModelClosed {
		return pods + float64(c.Threads)*max(*mix.Services*t.Services.Step.Mean(), *mix.Jobs*t.Jobs.Pods.Mean())
	}
	stages, length := t.stages().Seconds(), c.Duration.Std().Seconds()
	rate := c.MeanRate()
	pods += rate * *mix.Services * min(length, stages+t.Services.Lifetime.Mean().Seconds()/t.TimeScale)
	pods += rate * *mix.Jobs * min(length, stages+(t.Jobs.Run.Mean()+t.Jobs.TTL.Std()).Seconds()/t.TimeScale)
	return pods
}
