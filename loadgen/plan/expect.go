package plan

import (
	"cmp"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// Ratio is a profile's expectation: how many watch events of a kind there are for each
// acknowledged operation of one type on one kind of object. Each write is one event.
type Ratio struct {
	Kind   string  // of the events
	Of, On string  // kind and operation type that they follow from; both empty: per second of an open load
	Events float64 // per such operation
	Source string  // one of the constants below
}

// Where the numbers of a Ratio are from.
const (
	SourceRecorded = "recorded" // on a real cluster, see docs/calibration.md
	SourceEstimate = "estimate" // of the writes that mechanisms of Kubernetes make when many lives overlap
	SourceSetting  = "setting"  // of the scenario
)

// PerLife reports whether the events belong to a pod's life rather than to the passing of
// time.
func (r Ratio) PerLife() bool { return r.Of != "" }

// lifeEvents is what the life of a pod means by whom it belongs to: events from its creation until
// it serves or runs, and from then until it is gone. Pod and Job are recorded, all else is an
// estimate.
type lifeEvents struct{ begin, end map[string]float64 }

// The ten writes of a pod are those that a kubelet was recorded to make, with Running and
// Ready apart as a probe makes them.
var (
	ofServices = lifeEvents{map[string]float64{"Pod": 6, "Event": 6, "ReplicaSet": 1.5, "Deployment": 0.5, "EndpointSlice": 0.7},
		map[string]float64{"Pod": 4, "Event": 2, "ReplicaSet": 1.5, "Deployment": 0.5, "EndpointSlice": 1.3}}
	ofRollouts = lifeEvents{map[string]float64{"Pod": 6, "Event": 6.5, "ReplicaSet": 2, "Deployment": 0.5, "EndpointSlice": 1},
		map[string]float64{"Pod": 4, "Event": 2, "ReplicaSet": 1.5, "Deployment": 0.5, "EndpointSlice": 1.5}}
	ofJobs     = lifeEvents{map[string]float64{"Pod": 6, "Event": 6}, map[string]float64{"Pod": 4, "Event": 1}}
	ofDaemons  = lifeEvents{map[string]float64{"Pod": 6, "Event": 5, "DaemonSet": 1}, map[string]float64{"Pod": 4, "Event": 2, "DaemonSet": 1}}
	ofRecreate = lifeEvents{map[string]float64{"Pod": 6, "Event": 5}, map[string]float64{"Pod": 4, "Event": 1}}
)

// beyondLives follow from what happens to pods and nodes besides beginning and ending.
var beyondLives = []Ratio{
	{"Job", "Job", oplog.TypeCreate, 6, SourceRecorded},
	{"Job", "Job", oplog.TypeDelete, 1, SourceRecorded},
	{"Pod", "Pod", oplog.TypeCrashed, 3, SourceRecorded},
	{"Event", "Pod", oplog.TypeCrashed, 4.5, SourceRecorded},
	{"ReplicaSet", "Pod", oplog.TypeCrashed, 2, SourceRecorded},
	{"Deployment", "Pod", oplog.TypeCrashed, 2, SourceRecorded},
	{"EndpointSlice", "Pod", oplog.TypeCrashed, 1.4, SourceRecorded}, // 2, of the 70 % that a Service selects
	{"Node", "Node", oplog.TypeUnready, 4, SourceEstimate},
	{"Event", "Node", oplog.TypeUnready, 1, SourceEstimate},
	{"Pod", "Pod", oplog.TypeUnready, 1, SourceEstimate},
	{"Event", "Pod", oplog.TypeUnready, 1, SourceEstimate},
	{"EndpointSlice", "Pod", oplog.TypeUnready, 0.7, SourceEstimate},
	{"Pod", "Pod", oplog.TypePatch, 1, SourceSetting}, // of hot pods
}

// Ratios are the profile's expectations, in a fixed order; none without a known profile. Those of
// pods are weighted by the mix of the profile's parts.
func (c *Load) Ratios() []Ratio {
	if profiles[c.Profile] == nil { // also one of another version's record
		return nil
	}
	t := c.ResolvedTuning()
	out := append(t.Mix.ratios(), beyondLives...)
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

// ratios are those of a pod's creation and deletion.
func (m *MixTuning) ratios() (out []Ratio) {
	parts := []struct {
		share float64
		lifeEvents
	}{{*m.Services, ofServices}, {*m.Rollouts, ofRollouts}, {*m.Jobs, ofJobs}, {*m.Daemons, ofDaemons}, {*m.Recreate, ofRecreate}}
	all := 0.0
	for _, p := range parts {
		all += p.share
	}
	if all == 0 {
		return nil
	}
	for _, kind := range []string{"Pod", "Event", "ReplicaSet", "Deployment", "EndpointSlice", "DaemonSet"} {
		source := SourceEstimate
		if kind == "Pod" {
			source = SourceRecorded
		}
		var begin, end float64
		for _, p := range parts {
			begin, end = begin+p.share/all*p.begin[kind], end+p.share/all*p.end[kind]
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

// Sizes of what has no distribution.
const (
	leaseBytes = 860
	// serviceBytes is estimated for all events of a life in service-churn.
	serviceBytes = 150_000
)

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

// ExpectedBytesPerLife is the size of all events of one pod's life together; 0 where nobody
// has estimated it, as of all profiles but those of Deployments that are scaled.
func (c *Load) ExpectedBytesPerLife() float64 {
	if c.Profile == ProfileServiceChurn || c.Profile == ProfileColdStart {
		return serviceBytes
	}
	return 0
}

// WeakestSource is the one of several sources that says least of real clusters.
func WeakestSource(a, b string) string {
	order := []string{"", SourceSetting, SourceRecorded, SourceEstimate}
	return slices.MaxFunc([]string{a, b}, func(x, y string) int { return cmp.Compare(slices.Index(order, x), slices.Index(order, y)) })
}
