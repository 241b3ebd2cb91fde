package plan

import (
	"cmp"

	"github.com/watchbench/watchbench/internal/units"
)

// Config is the plan file. Lengths of time and sizes carry a unit.
type Config struct {
	// Seed decides everything that is random in the plan.
	Seed uint64 `json:"seed"`
	// RunID names the run: namespaces are watchbench-<runID>-<n>, nodes watchbench-<runID>-node-<n>, and every object is
	// labelled watchbench.dev/run=<runID>.
	RunID string `json:"runID"`
	Load
}

// Load describes the traffic, of a plan file and of a scenario, whose schema has the jsonschema tags.
type Load struct {
	// Model is ModelClosed or ModelOpen.
	Model string `json:"model" jsonschema:"enum=closed,enum=open" jsonschema_description:"closed: threads wait for answers; open: a fixed rate."`

	// The closed loop ends after Operations or Duration, whichever comes first; at least one is needed.
	Threads    int            `json:"threads,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"Closed loop: concurrent writers."`
	Operations int64          `json:"operations,omitempty" jsonschema:"minimum=1,maximum=10000000" jsonschema_description:"Closed loop: writes in all, unless duration ends it first."`
	Duration   units.Duration `json:"duration,omitzero" range:"..24h" jsonschema_description:"Length of the load; an open loop needs one."`
	ThinkTime  units.Duration `json:"thinkTime,omitzero" range:"..24h" jsonschema_description:"Closed loop: pause before a thread's next write."`

	// Profile names what the load imitates; without one it is plain pods. Tuning overrides its numbers.
	Profile string  `json:"profile,omitempty" jsonschema:"enum=service-churn,enum=batch-jobs,enum=rollout,enum=crashloop,enum=node-flap,enum=mixed-production" jsonschema_description:"The workload to imitate, see load.md; without one, plain pods."`
	Tuning  *Tuning `json:"tuning,omitempty" jsonschema_description:"Numbers of the profile that differ from those in load.md."`

	// Rate is the open loop's, per second: of writes or, with a profile, of pods. Operations beyond MaxInFlight are late,
	// and their lag shows it.
	Rate        float64    `json:"rate,omitempty" jsonschema:"minimum=0,maximum=100000,example=200" jsonschema_description:"Open loop: writes (with a profile, pods) per second."`
	Arrival     string     `json:"arrival,omitempty" jsonschema:"enum=constant,enum=poisson" jsonschema_description:"Open loop: spacing; default constant, with a profile poisson."`
	Steps       []RateStep `json:"steps,omitempty"`
	MaxInFlight int        `json:"maxInFlight,omitempty" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"Open loop: max requests in flight; further writes are late; 0 means 400."`

	// Lifecycle names a built-in sequence of stages; Stages spells one out. Neither means LifecycleFast, both is an error.
	Lifecycle string  `json:"lifecycle,omitempty" jsonschema:"enum=pod/fast" jsonschema_description:"Built-in stages of a pod's life; the default without stages."`
	Stages    []Stage `json:"stages,omitempty"`
	// StageGap is the least time between two stages of one pod. 0 is DefaultOpenGap in an open loop, where a stage that is
	// due before the former was answered would only be late.
	StageGap units.Duration `json:"stageGap,omitzero" range:"..24h" jsonschema:"example=100ms" jsonschema_description:"Minimum time between stages of a pod; default 0 in a closed loop, 100ms in an open one."`
	// Survivors is the share of pods that are never deleted, so that the final state has something to compare.
	Survivors float64 `json:"survivors" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of pods that are never deleted."`
	// Recreate is the share of deleted pods whose name is taken again at once by a new pod, as a StatefulSet does.
	Recreate float64 `json:"recreate" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of deleted pods whose name is reused."`

	// LabelShards, if not 0, gives each pod one of the labels watchbench.dev/shard=0 to LabelShards-1.
	LabelShards int `json:"labelShards,omitempty" jsonschema:"minimum=0,maximum=5" jsonschema_description:"Gives each pod one of this many labels, watchbench.dev/shard=0, 1, …. Without watcher.leaderElection, the watcher.replicas divide the pods by label selector."`

	// ObjectBytes is the size of a ready pod, or of one that is only created, as JSON without managedFields, within 5 %.
	// The apiserver serves 1 to 2 KiB more.
	ObjectBytes units.Size `json:"objectBytes" range:"2100B..200KiB" jsonschema_description:"JSON size of a pod; a ready one has at least 2900B."`
	Namespaces  int        `json:"namespaces" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"Namespaces among which the pods are divided."`
	Nodes       int        `json:"nodes" jsonschema:"minimum=1,maximum=5000" jsonschema_description:"Nodes that the pods are bound to."`

	// Prefill is the number of bound pods that exist before warm-up and load and stay untouched.
	Prefill int    `json:"prefill,omitempty" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Pods that exist before the load, never touched."`
	Warmup  Warmup `json:"warmup,omitzero"`
	// Hotkeys is the part of the load that hits a few pods; nil means none.
	Hotkeys *Hotkeys `json:"hotkeys,omitempty" jsonschema_description:"Bursts of patches to a few pods."`
	// Bystander is a slow trickle of updates to another kind; nil means none.
	Bystander *Bystander `json:"bystander,omitempty"`
}

// Load models.
const (
	ModelClosed = "closed"
	ModelOpen   = "open"
)

// Arrival processes of the open loop.
const (
	ArrivalConstant = "constant" // evenly spaced
	ArrivalPoisson  = "poisson"  // exponential gaps with mean 1/rate
)

// RateStep is a rate for a time, in place of Load.Rate.
type RateStep struct {
	Length units.Duration `json:"length" range:"above 0s..24h" jsonschema:"required,example=30s" jsonschema_description:"Length; the last step lasts until the load ends."`
	Rate   float64        `json:"rate" jsonschema:"required,minimum=0,maximum=100000,example=50" jsonschema_description:"Writes, or a profile's pods, per second."`
	From   *float64       `json:"from,omitempty" jsonschema:"minimum=0,maximum=100000,example=10" jsonschema_description:"Initial rate of a linear ramp to rate; default: no ramp."`
}

// Bystander updates its Objects in turn, beside load and warm-up only. They are kept until the end.
type Bystander struct {
	Kind        string     `json:"kind" jsonschema:"enum=ConfigMap" jsonschema_description:"Kind of additional objects that are updated throughout."`
	Rate        float64    `json:"rate" jsonschema:"exclusiveMinimum=0,maximum=1000,example=2" jsonschema_description:"Updates per second."`
	Objects     int        `json:"objects,omitempty" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Their number; 0 means 5."`
	ObjectBytes units.Size `json:"objectBytes,omitzero" range:"600B..200KiB" jsonschema:"example=1KiB" jsonschema_description:"JSON size of one; default 1KiB."`
}

// Warmup is load that is sent first and not counted.
type Warmup struct {
	Operations int64 `json:"operations,omitempty" jsonschema:"minimum=0,maximum=10000000" jsonschema_description:"Uncounted writes before the load."`
}

// Defaults and bounds of the plan file.
const (
	DefaultSurvivors        = 0.2
	DefaultRecreate         = 0.1
	DefaultObjectBytes      = units.Size(3 << 10)
	DefaultNamespaces       = 1
	DefaultNodes            = 5
	DefaultMaxInFlight      = 400
	DefaultBystanderObjects = 5
	DefaultBystanderBytes   = units.Size(1 << 10)

	MaxThreads     = 10_000
	MaxOperations  = 10_000_000 // what the five letters of a pod's name can distinguish
	MaxRate        = 100_000
	MaxRunIDLength = 32 // leaves room for the affixes of names within 63 characters
)

// KindConfigMap is the kind a bystander may have.
const KindConfigMap = "ConfigMap"

// Default is the Config that a plan file is decoded over. The run ID has no default.
func Default() Config { return Config{Load: DefaultLoad()} }

// DefaultLoad is the Load that a file is decoded over. Model and the model's own fields have no default.
func DefaultLoad() Load {
	return Load{
		Survivors:   DefaultSurvivors,
		Recreate:    DefaultRecreate,
		ObjectBytes: DefaultObjectBytes,
		Namespaces:  DefaultNamespaces,
		Nodes:       DefaultNodes,
	}
}

func (c *Load) arrival() string {
	switch {
	case c.Arrival != "":
		return c.Arrival
	case c.Profile != "":
		return ArrivalPoisson
	}
	return ArrivalConstant
}

// InFlightLimit is MaxInFlight or its default.
func (c *Load) InFlightLimit() int { return cmp.Or(c.MaxInFlight, DefaultMaxInFlight) }

// Count is the number of bystander objects.
func (b *Bystander) Count() int { return cmp.Or(b.Objects, DefaultBystanderObjects) }

// Bytes is the size of a bystander object.
func (b *Bystander) Bytes() units.Size { return cmp.Or(b.ObjectBytes, DefaultBystanderBytes) }
