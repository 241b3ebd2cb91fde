package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/watchbench/watchbench/loadgen/calibration"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Ratio is a profile's expectation: how many writes of a kind there are for each
// acknowledged operation of one type on one kind of object. Each is one watch event, but for
// the deletion of a bound pod: an apiserver writes its deletion time first, with no grace.
type Ratio struct {
	Kind   string  // of the writes
	Of, On string  // kind and operation type that they follow from; both empty: per second of an open load
	Events float64 // per such operation
	Source string  // one of the constants below
}

// Where the numbers of a Ratio are from.
const (
	SourceRecorded = "recorded" // on a real cluster, see docs/calibration.md
	SourceDerived  = "derived"  // from the writes that were recorded, by the numbers of the profile
	SourceEstimate = "estimate" // of the writes that mechanisms of Kubernetes make
	SourceSetting  = "setting"  // of the scenario
)

// PerLife reports whether the events belong to a pod's life rather than to the passing of
// time.
func (r Ratio) PerLife() bool { return r.Of != "" }

// lifeEvents is what the life of a pod means by whom it belongs to: writes from its creation until
// it serves or runs, and from then until it is gone.
type lifeEvents struct {
	source     string // of all kinds but Pod, which is recorded
	begin, end map[string]float64
}

// A pod is created, bound, creating, has a sandbox, is ready; later it is to go, the kubelet
// acknowledges that, its containers have ended, it is deleted (of a Job: stopped, succeeded,
// without its finalizer, deleted). An init container and a probe are one more write each.
func (t *Tuning) podWrites() (begin, end float64) { return 5 + *t.Pods.InitShare, 4 }

// podEvents are Scheduled, and of each container Pulled, Created and Started, some Pulling;
// in the end Killing.
func (t *Tuning) podEvents() (begin, end float64) {
	containers := t.Pods.Containers.Mean()
	return 1 + 3*(containers+*t.Pods.InitShare) + *t.Stages.PullShare, containers
}

// ofServices has for each scale operation those that were recorded for a Deployment of one:
// spec, observed generation and pods of the ReplicaSet; spec, observed generation, missing
// pods (upwards only) and pods of the Deployment; and for each pod that becomes ready, or is
// gone, one of both. A slice tells the address of a probed pod, that a pod is ready, that
// some are to go, and that one has ended.
func (t *Tuning) ofServices() lifeEvents {
	operations, selected := 1/t.Services.Step.Mean(), *t.Services.Selected // for each pod
	podBegin, podEnd := t.podWrites()
	begin, end := t.podEvents()
	return lifeEvents{SourceDerived,
		map[string]float64{"Pod": podBegin + *t.Stages.ProbeShare, "Event": begin + 1 + operations,
			"ReplicaSet": 1 + 3*operations, "Deployment": 1 + 4*operations, "EndpointSlice": selected * (1 + *t.Stages.ProbeShare)},
		map[string]float64{"Pod": podEnd, "Event": end + 1 + operations,
			"ReplicaSet": 1 + 3*operations, "Deployment": 1 + 3*operations, "EndpointSlice": selected * (1 + operations)},
	}
}

// ofRollouts has what was recorded in a rollout of 30, half of it for the pod that comes.
func (t *Tuning) ofRollouts() lifeEvents {
	podBegin, podEnd := t.podWrites()
	begin, end := t.podEvents()
	per, selected := calibration.PerReplacedPod, *t.Services.Selected
	// Of the Events those of one container are recorded; what is beyond a pod's own is of its controllers.
	controllers := per["Event ADDED"] + per["Event MODIFIED"] - 5
	both := func(kind string, share float64) float64 { return share * per[kind+" MODIFIED"] / 2 }
	return lifeEvents{SourceDerived,
		map[string]float64{"Pod": podBegin + *t.Stages.ProbeShare, "Event": begin + controllers,
			"ReplicaSet": both("ReplicaSet", 1), "Deployment": both("Deployment", 1), "EndpointSlice": both("EndpointSlice", selected) + selected**t.Stages.ProbeShare},
		map[string]float64{"Pod": podEnd, "Event": end,
			"ReplicaSet": both("ReplicaSet", 1), "Deployment": both("Deployment", 1), "EndpointSlice": both("EndpointSlice", selected)},
	}
}

func (t *Tuning) ofJobs() lifeEvents {
	podBegin, podEnd := t.podWrites()
	begin, _ := t.podEvents()
	return lifeEvents{SourceDerived, map[string]float64{"Pod": podBegin, "Event": begin + 1}, map[string]float64{"Pod": podEnd}}
}

func (t *Tuning) ofDaemons() lifeEvents {
	podBegin, podEnd := t.podWrites()
	begin, end := t.podEvents()
	return lifeEvents{SourceEstimate,
		map[string]float64{"Pod": podBegin + *t.Stages.ProbeShare, "Event": begin + 1, "DaemonSet": 1},
		map[string]float64{"Pod": podEnd, "Event": end + 1, "DaemonSet": 1},
	}
}

func (t *Tuning) ofRecreate() lifeEvents {
	podBegin, podEnd := t.podWrites()
	begin, end := t.podEvents()
	return lifeEvents{SourceDerived, map[string]float64{"Pod": podBegin + *t.Stages.ProbeShare, "Event": begin}, map[string]float64{"Pod": podEnd, "Event": end}}
}

// beyondLives follow from what happens to pods and nodes besides beginning and ending.
func (t *Tuning) beyondLives() []Ratio {
	crash, selected := calibration.PerRestart, *t.Services.Selected
	return []Ratio{
		{"Job", "Job", oplog.TypeCreate, 3, SourceRecorded},
		{"Job", "Job", oplog.TypeSucceeded, 3, SourceRecorded},
		{"Job", "Job", oplog.TypeDelete, 1, SourceRecorded},
		{"Event", "Job", oplog.TypeSucceeded, 1, SourceRecorded},
		{"Pod", "Pod", oplog.TypeCrashed, crash["Pod MODIFIED"] + *t.Stages.ProbeShare, SourceRecorded},
		{"Event", "Pod", oplog.TypeCrashed, crash["Event MODIFIED"], SourceRecorded},
		{"ReplicaSet", "Pod", oplog.TypeCrashed, crash["ReplicaSet MODIFIED"], SourceRecorded},
		{"Deployment", "Pod", oplog.TypeCrashed, crash["Deployment MODIFIED"], SourceRecorded},
		{"EndpointSlice", "Pod", oplog.TypeCrashed, selected * crash["EndpointSlice MODIFIED"], SourceRecorded},
		{"Node", "Node", oplog.TypeUnready, 4, SourceEstimate},
		{"Event", "Node", oplog.TypeUnready, 1, SourceEstimate},
		{"Pod", "Pod", oplog.TypeUnready, 1, SourceEstimate},
		{"Event", "Pod", oplog.TypeUnready, 1, SourceEstimate},
		{"ReplicaSet", "Pod", oplog.TypeUnready, 1, SourceEstimate},
		{"Deployment", "Pod", oplog.TypeUnready, 1, SourceEstimate},
		{"EndpointSlice", "Pod", oplog.TypeUnready, selected, SourceEstimate},
		{"Pod", "Pod", oplog.TypePatch, 1, SourceSetting}, // of hot pods
	}
}

// Ratios are the profile's expectations, in a fixed order; none without a known profile. Those of
// pods are weighted by the mix of the profile's parts.
func (c *Load) Ratios() []Ratio {
	if profiles[c.Profile] == nil { // also one of another version's record
		return nil
	}
	t := c.ResolvedTuning()
	out := append(t.lives(), t.beyondLives()...)
	if c.Model == ModelClosed {
		return out // nothing happens by the clock
	}
	cl := &t.Cluster
	for _, r := range []struct {
		kind      string
		perSecond float64
	}{
		{"Lease", perSecond(c.Nodes, cl.LeasePeriod.Std().Seconds())},
		{"Node", perSecond(c.Nodes, cl.NodeStatusPeriod.Std().Seconds())},
		{"Widget", perSecond(min(1, *cl.Widgets), 1) * *cl.WidgetRate},
		{"ConfigMap", perSecond(min(1, *cl.ConfigMaps), 1) * *cl.ConfigMapRate},
		{"Event", *t.Mix.Noise * c.MeanRate()},
	} {
		if r.perSecond > 0 {
			out = append(out, Ratio{Kind: r.kind, Events: r.perSecond, Source: SourceSetting})
		}
	}
	return out
}

func perSecond(n int, period float64) float64 {
	if period == 0 {
		return 0
	}
	return float64(n) / period
}

// lives are the ratios of a pod's creation and deletion.
func (t *Tuning) lives() (out []Ratio) {
	m := &t.Mix
	parts := []struct {
		share float64
		lifeEvents
	}{{*m.Services, t.ofServices()}, {*m.Rollouts, t.ofRollouts()}, {*m.Jobs, t.ofJobs()}, {*m.Daemons, t.ofDaemons()}, {*m.Recreate, t.ofRecreate()}}
	all := 0.0
	for _, p := range parts {
		all += p.share
	}
	if all == 0 {
		return nil
	}
	for _, kind := range []string{"Pod", "Event", "ReplicaSet", "Deployment", "EndpointSlice", "DaemonSet"} {
		var begin, end float64
		source := ""
		for _, p := range parts {
			b, e := p.share/all*p.begin[kind], p.share/all*p.end[kind]
			begin, end = begin+b, end+e
			if b+e > 0 {
				source = WeakestSource(source, p.source)
			}
		}
		if kind == "Pod" {
			source = SourceRecorded
		}
		if begin+end > 0 {
			out = append(out, Ratio{kind, "Pod", oplog.TypeCreate, begin, source}, Ratio{kind, "Pod", oplog.TypeDelete, end, source})
		}
	}
	return out
}

// meanOfStages is the mean size of a pod's states that have a content, as a part of the
// ready one's: 57, 60, 94, 94, 100, 100, 102, 102 and 107 % were recorded.
const meanOfStages = 0.907

// leaseBytes is the size of what has no distribution.
const leaseBytes = 860

// ExpectedBytes is the mean size of the states of a kind, as JSON with managedFields, by the
// profile's distributions; 0 where it is not known, as of EndpointSlices, which grow.
func (c *Load) ExpectedBytes(kind string) float64 {
	if profiles[c.Profile] == nil {
		return 0
	}
	s := c.ResolvedTuning().Sizes
	switch kind {
	case "Pod":
		return s.Pod.Mean() * meanOfStages
	case "ReplicaSet":
		return s.ReplicaSet.Mean()
	case "Deployment", "DaemonSet":
		return s.Deployment.Mean()
	case "Job":
		return s.Job.Mean()
	case "Event":
		return s.Event.Mean()
	case "Node":
		return s.Node.Mean()
	case "ConfigMap":
		return s.ConfigMap.Mean()
	case "Widget":
		return s.Widget.Mean()
	case "Lease":
		return leaseBytes
	}
	return 0
}

// ExpectedBytesPerLife is the size of all writes of one pod's life together, without those of
// EndpointSlices, to 10 KB; 0 for profiles of other pods than those of Deployments that are scaled.
func (c *Load) ExpectedBytesPerLife() (sum float64) {
	if c.Profile != ProfileServiceChurn && c.Profile != ProfileColdStart {
		return 0
	}
	t := c.ResolvedTuning()
	for _, r := range t.lives() {
		sum += r.Events * c.ExpectedBytes(r.Kind)
	}
	return math.Round(sum/10_000) * 10_000
}

// WeakestSource is the one of several sources that says least of real clusters.
func WeakestSource(a, b string) string {
	order := []string{"", SourceSetting, SourceRecorded, SourceDerived, SourceEstimate}
	return slices.MaxFunc([]string{a, b}, func(x, y string) int { return cmp.Compare(slices.Index(order, x), slices.Index(order, y)) })
}
