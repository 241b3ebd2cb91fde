package plan

// Config is the plan file. Lengths of time and sizes carry a unit.
type Config struct {
	// Seed decides everything that is random in the plan.
	Seed uint64 `yaml:"seed" json:"seed"`
	// RunID names the run: namespaces are watchbench-<runID>-<n>, nodes
	// watchbench-<runID>-node-<n>, and every object is labelled
	// watchbench.dev/run=<runID>.
	RunID string `yaml:"runID" json:"runID"`

	// Model is ModelClosed or ModelOpen.
	Model string `yaml:"model" json:"model"`

	// Threads, Operations, Duration and ThinkTime describe the closed loop. It ends
	// after Operations write requests in all, or after Duration, whichever comes
	// first; at least one is needed. ThinkTime passes between an answer and the
	// thread's next request.
	Threads    int      `yaml:"threads,omitempty" json:"threads,omitempty"`
	Operations int64    `yaml:"operations,omitempty" json:"operations,omitempty"`
	Duration   Duration `yaml:"duration,omitempty" json:"duration,omitempty"`
	ThinkTime  Duration `yaml:"thinkTime,omitempty" json:"thinkTime,omitempty"`

	// Rate, in write requests per second, Duration and Arrival describe the open
	// loop. MaxInFlight bounds the requests under way; beyond it operations are late
	// and their lag shows it.
	Rate        float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	Arrival     string  `yaml:"arrival,omitempty" json:"arrival,omitempty"`
	Ramp        *Ramp   `yaml:"ramp,omitempty" json:"ramp,omitempty"`
	Burst       *Burst  `yaml:"burst,omitempty" json:"burst,omitempty"`
	MaxInFlight int     `yaml:"maxInFlight,omitempty" json:"maxInFlight,omitempty"`

	// Lifecycle names a built-in sequence of stages; Stages spells one out. Neither
	// means LifecycleFast, both is an error.
	Lifecycle string  `yaml:"lifecycle,omitempty" json:"lifecycle,omitempty"`
	Stages    []Stage `yaml:"stages,omitempty" json:"stages,omitempty"`
	// StageGap is the least time between two stages of one pod where the stage
	// itself asks for no more. 0 means none in a closed loop and DefaultOpenGap in an
	// open one, where a stage that is due before the former was answered would only
	// be late.
	StageGap Duration `yaml:"stageGap,omitempty" json:"stageGap,omitempty"`
	// Survivors is the share of pods that are never deleted, so that the final state
	// has something to compare.
	Survivors float64 `yaml:"survivors" json:"survivors"`
	// Recreate is the share of deleted pods whose name is taken again at once by a
	// new pod, as a StatefulSet does.
	Recreate float64 `yaml:"recreate" json:"recreate"`

	// ObjectBytes is the size of a ready pod as JSON without managedFields, within
	// 5 %: what a watcher that strips them stores. The apiserver serves about 1.4 KiB
	// more.
	ObjectBytes Size `yaml:"objectBytes" json:"objectBytes"`
	Namespaces  int  `yaml:"namespaces" json:"namespaces"`
	Nodes       int  `yaml:"nodes" json:"nodes"`

	// Bystander is a slow trickle of updates to another kind; nil means none.
	Bystander *Bystander `yaml:"bystander,omitempty" json:"bystander,omitempty"`
	// Prefill is the number of bound pods that exist before warm-up and load and
	// stay untouched.
	Prefill int    `yaml:"prefill,omitempty" json:"prefill,omitempty"`
	Warmup  Warmup `yaml:"warmup,omitempty" json:"warmup,omitzero"`
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
	ArrivalRamp     = "ramp"     // from Ramp.From to Rate, linearly over Duration
	ArrivalBurst    = "burst"    // Rate during bursts, Burst.Base between them
)

// Ramp is where a rising (or falling) rate starts; it ends at Config.Rate.
type Ramp struct {
	From float64 `yaml:"from" json:"from"`
}

// Burst is a square wave: each Period begins with Length at Config.Rate, the rest
// of it runs at Base.
type Burst struct {
	Period Duration `yaml:"period" json:"period"`
	Length Duration `yaml:"length" json:"length"`
	Base   float64  `yaml:"base,omitempty" json:"base,omitempty"`
}

// Bystander updates its Objects in turn at Rate per second, beside the load and
// the warm-up, never before or after. The objects are kept until the end.
type Bystander struct {
	Kind        string  `yaml:"kind" json:"kind"`
	Rate        float64 `yaml:"rate" json:"rate"`
	Objects     int     `yaml:"objects,omitempty" json:"objects,omitempty"`         // 0 means DefaultBystanderObjects
	ObjectBytes Size    `yaml:"objectBytes,omitempty" json:"objectBytes,omitempty"` // 0 means DefaultBystanderBytes
}

// Warmup is load that is sent first and not counted.
type Warmup struct {
	Operations int64 `yaml:"operations,omitempty" json:"operations,omitempty"`
}

// Defaults and bounds of the plan file.
const (
	DefaultSurvivors        = 0.2
	DefaultRecreate         = 0.1
	DefaultObjectBytes      = Size(3 << 10)
	DefaultNamespaces       = 1
	DefaultNodes            = 5
	DefaultMaxInFlight      = 400
	DefaultBystanderObjects = 5
	DefaultBystanderBytes   = Size(1 << 10)

	MaxThreads     = 10_000
	MaxOperations  = 10_000_000 // what the five letters of a pod's name can tell apart
	MaxRate        = 100_000
	MaxPrefill     = 1_000_000
	MaxNamespaces  = 1000
	MaxNodes       = 5000
	MaxInFlight    = 10_000
	MaxRunIDLength = 32 // leaves room for the affixes of names within 63 characters
	// MinObjectBytes is what a ready pod takes without any padding; see
	// loadgen/churn.
	MinObjectBytes = Size(2100)
	// MaxObjectBytes keeps the padding below Kubernetes' limit of 256 KiB for all
	// annotations of an object.
	MaxObjectBytes   = Size(200 << 10)
	MaxDuration      = Duration(24 * 3600e9)
	MaxBystanderRate = 1000
	MinBystanderSize = Size(600)
)

// KindConfigMap is the kind a bystander may have.
const KindConfigMap = "ConfigMap"

// Default is the Config that a plan file is decoded over. Model, run id and the
// model's own fields have no default.
func Default() Config {
	return Config{
		Survivors:   DefaultSurvivors,
		Recreate:    DefaultRecreate,
		ObjectBytes: DefaultObjectBytes,
		Namespaces:  DefaultNamespaces,
		Nodes:       DefaultNodes,
	}
}

// arrival is the process in force.
func (c *Config) arrival() string {
	if c.Arrival == "" {
		return ArrivalConstant
	}
	return c.Arrival
}

// InFlightLimit is MaxInFlight or its default.
func (c *Config) InFlightLimit() int {
	if c.MaxInFlight == 0 {
		return DefaultMaxInFlight
	}
	return c.MaxInFlight
}

// Count is the number of bystander objects.
func (b *Bystander) Count() int {
	if b.Objects == 0 {
		return DefaultBystanderObjects
	}
	return b.Objects
}

// Bytes is the size of a bystander object.
func (b *Bystander) Bytes() Size {
	if b.ObjectBytes == 0 {
		return DefaultBystanderBytes
	}
	return b.ObjectBytes
}
