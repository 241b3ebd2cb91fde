package plan

import "math"

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
	if c.Hotkeys != nil {
		pods += float64(c.Hotkeys.Objects)
	}
	if c.Model == ModelClosed {
		return pods + float64(c.Threads)*max(*mix.Services*t.Services.Step.Mean(), *mix.Jobs*t.Jobs.Pods.Mean())
	}
	st, length := &t.Stages, c.Duration.Std().Seconds()
	stages := (st.Bind.Mean() + st.Creating.Mean() + st.Sandbox.Mean() + st.Running.Mean() + st.Probe.Mean() + st.Stop.Mean() + st.Final.Mean()).Seconds() +
		*st.PullShare*st.Pull.Mean().Seconds() + *t.Pods.InitShare*st.Init.Mean().Seconds()
	rate := c.MeanRate()
	pods += rate * *mix.Services * min(length, stages+t.Services.Lifetime.Mean().Seconds()/t.TimeScale)
	pods += rate * *mix.Jobs * min(length, stages+(t.Jobs.Run.Mean()+t.Jobs.TTL.Std()).Seconds()/t.TimeScale)
	return pods
}
