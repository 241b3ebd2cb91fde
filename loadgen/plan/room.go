package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
)

const (
	// maxPodsPerNamespace is what Kubernetes is tested with.
	maxPodsPerNamespace = 3000
	// maxBefore objects may exist before the load: each takes the generator up to 1 KB. A
	// closed loop has them once for each thread.
	maxBefore = 1_000_000
)

// validateRoom refuses a plan that needs more than the cluster or the generator allows.
func (c *Load) validateRoom(t *Tuning) error {
	pods := c.expectedPods(t)
	if room := float64(c.Nodes * podsPerNode); pods > room {
		remedy := "less rate or prefill, or a larger tuning.timeScale"
		if need := math.Ceil(pods / podsPerNode); need <= MaxNodes {
			remedy = fmt.Sprintf("%.0f nodes, %s", need, remedy)
		}
		return fieldError("nodes", "%d have room for %.0f pods, and the load has about %.0f at a time; use %s", c.Nodes, room, pods, remedy)
	}
	if most := c.fullest(t, pods, c.Namespaces); most > maxPodsPerNamespace {
		remedy := "use a smaller tuning.namespaceZipf"
		for n := c.Namespaces + 1; n <= MaxNamespaces; n++ {
			if c.fullest(t, pods, n) <= maxPodsPerNamespace {
				remedy = fmt.Sprintf("use %d namespaces or a smaller tuning.namespaceZipf", n)
				break
			}
		}
		return fieldError("namespaces", "%d, of which the fullest has about %.0f pods, more than the %d that Kubernetes is made for; %s", c.Namespaces, most, maxPodsPerNamespace, remedy)
	}
	return c.validateSize(t)
}

// fullest is about how many of the pods the first of so many namespaces has, which gets most.
func (c *Load) fullest(t *Tuning, pods float64, namespaces int) float64 {
	sum := 0.0
	for k := range namespaces {
		sum += math.Pow(float64(k+1), -*t.NamespaceZipf)
	}
	return pods / sum
}

// validateSize refuses what the generator has no memory or no numbers for.
func (c *Load) validateSize(t *Tuning) error {
	type part struct {
		field string
		n     float64
	}
	parts := []part{
		{"prefill", float64(c.Prefill)},
		{"nodes", 2 * float64(c.Nodes)},
		{"tuning.services.deployments", 2 * float64(max(t.Services.Deployments, c.Threads))},
		{"tuning.cluster.widgets", float64(*t.Cluster.Widgets)},
		{"tuning.cluster.configMaps", float64(*t.Cluster.ConfigMaps)},
		{"tuning.recreate.pods", ceil(*t.Mix.Recreate) * float64(t.Recreate.Pods)},
		{"tuning.events.pods", ceil(*t.Mix.Noise) * float64(t.Events.Pods)},
		{"tuning.rollouts.deployments", ceil(*t.Mix.Rollouts) * float64(max(t.Rollouts.Deployments, c.Threads)) * (2 + t.Rollouts.Size.Mean())},
	}
	before := 0.0
	for _, p := range parts {
		before += p.n
	}
	most := slices.MaxFunc(parts, func(a, b part) int { return cmp.Compare(a.n, b.n) }).field
	if threads := float64(max(1, c.Threads)); before*threads > maxBefore {
		if c.Threads > 1 {
			return fieldError("threads", "%d, each of which knows all %.0f objects that there are before the load; use at most %.0f, or less of %s", c.Threads, before, maxBefore/before, most)
		}
		return fieldError(most, "makes most of the %.0f objects that there are before the load, and the generator has room for %d; use less", before, maxBefore)
	}
	if writes := c.expectedWrites(t); writes > MaxOperations {
		return fieldError("duration", "%s of this load have about %.3g writes, and a plan has at most %d; use a shorter one, or less rate or nodes", c.Duration, writes, MaxOperations)
	}
	return nil
}

func ceil(share float64) float64 { return math.Ceil(min(share, 1)) }

// writesPerPod is about how many writes a pod's life is, with all kinds that it touches.
const writesPerPod = 25

// expectedWrites is about how many an open load has; 0 for a closed one, which ends by itself.
func (c *Load) expectedWrites(t *Tuning) float64 {
	if c.Model == ModelClosed {
		return 0
	}
	mix, cl, length := &t.Mix, &t.Cluster, c.Duration.Std()
	pods := c.most(length, *mix.Services, &t.Services.Step) + c.most(length, *mix.Rollouts, &t.Rollouts.Size) + c.most(length, *mix.Jobs, &t.Jobs.Pods) +
		c.most(length, *mix.Daemons+*mix.Recreate, nil)
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
	if c.Model == ModelClosed {
		return nil
	}
	const even = 1.5 // arrivals are not
	mix, whole := &t.Mix, t.starting()+t.stopping()
	remedy := func(need float64, most int) string {
		if need > float64(most) {
			return "use less rate"
		}
		return fmt.Sprintf("use %.0f or less rate", need)
	}
	slow := func(field string, there, most int, share float64) error {
		need := math.Ceil(even * c.most(whole, share, nil))
		if share == 0 || float64(there) >= need {
			return nil
		}
		return fieldError(field, "%d cannot be restarted %.3g times in %s, which is what each takes; %s", there, need/even, whole.Round(100*time.Millisecond), remedy(need, most))
	}
	if err := slow("tuning.recreate.pods", t.Recreate.Pods, maxBefore, *mix.Recreate); err != nil {
		return err
	}
	if err := slow("nodes", c.Nodes, MaxNodes, *mix.Daemons); err != nil {
		return err
	}
	// A rollout goes in several steps, each of which waits for the slowest of its pods.
	const steps = 3
	size, takes := t.Rollouts.Size.Mean(), steps*t.starting()
	if need := math.Ceil(c.most(takes, *mix.Rollouts, &t.Rollouts.Size) / size); float64(t.Rollouts.Deployments) < need {
		return fieldError("tuning.rollouts.deployments", "%d cannot be rolled %.3g times in %s, which is what a rollout takes; use %.0f or less rate", t.Rollouts.Deployments, need, takes.Round(time.Second), need)
	}
	return nil
}

// mean is that of a length of time, or the longest there is.
func mean(d dist.Duration) time.Duration { return min(d.Mean(), longest) }

// starting is how long a pod takes on average until it is ready, stopping until it is gone.
func (t *Tuning) starting() time.Duration {
	st := &t.Stages
	return mean(st.Bind) + mean(st.Creating) + mean(st.Sandbox) + mean(st.Running) +
		time.Duration(*st.ProbeShare*float64(mean(st.Probe))+*st.PullShare*float64(mean(st.Pull))+*t.Pods.InitShare*float64(mean(st.Init)))
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
		return pods + float64(c.Threads)*max(ceil(*mix.Services)*t.Services.Step.Mean(), ceil(*mix.Jobs)*t.Jobs.Pods.Mean())
	}
	stages := t.starting() + t.stopping()
	scaled := func(d time.Duration) time.Duration {
		return stages + time.Duration(min(float64(d)/t.TimeScale, float64(longest)))
	}
	return pods + c.most(scaled(mean(t.Services.Lifetime)), *mix.Services, &t.Services.Step) +
		c.most(scaled(mean(t.Jobs.Run)+min(t.Jobs.TTL.Std(), longest)), *mix.Jobs, &t.Jobs.Pods)
}

// most is the largest number of pods that a share of an open load makes within a time, but
// for chance. group is how many an arrival stands for; nil is one.
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
	return most * ceil(share) * group.Mean() // each time is that of a whole group
}

// arrivedBy is how much of an open load arrives up to a time in seconds, but for chance.
func (c *Load) arrivedBy(t float64) float64 {
	switch c.arrival() {
	case ArrivalRamp:
		return c.Ramp.From*t + (c.Rate-c.Ramp.From)/c.Duration.Std().Seconds()*t*t/2
	case ArrivalBurst:
		period, length := c.Burst.Period.Std().Seconds(), c.Burst.Length.Std().Seconds()
		n := math.Floor(t / period)
		rest := t - n*period
		return n*(c.Rate*length+c.Burst.Base*(period-length)) + c.Rate*min(rest, length) + c.Burst.Base*max(0, rest-length)
	case ArrivalStep:
		n := 0.0
		for i, s := range c.Steps {
			length := min(s.Length.Std().Seconds(), t)
			if i == len(c.Steps)-1 {
				length = t
			}
			n, t = n+s.Rate*length, t-length
		}
		return n
	case ArrivalDiurnal:
		day := c.Diurnal.Period.Std().Seconds() / (2 * math.Pi)
		return c.Rate * (t + c.Diurnal.Amplitude*day*(1-math.Cos(t/day)))
	case ArrivalCron:
		return c.Rate*t + c.Cron.Size*math.Floor(t/c.Cron.Period.Std().Seconds())
	case ArrivalTrace:
		n, _ := slices.BinarySearchFunc(c.Trace, t, func(at units.Duration, t float64) int { return cmp.Or(cmp.Compare(at.Std().Seconds(), t), -1) })
		return float64(n)
	}
	return c.Rate * t
}
