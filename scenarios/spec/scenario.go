package spec

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
)

// APIVersion and Kind open every scenario file.
const (
	APIVersion = "watchbench/v1"
	Kind       = "Scenario"
)

// Scenario is one resolved scenario: the file with defaults, one matrix point and the overrides merged in.
type Scenario struct {
	APIVersion string   `json:"apiVersion" jsonschema:"required,enum=watchbench/v1" jsonschema_description:"Of the format."`
	Kind       string   `json:"kind" jsonschema:"required,enum=Scenario" jsonschema_description:"Of the file."`
	Metadata   Metadata `json:"metadata" jsonschema:"required"`
	Cluster    Cluster  `json:"cluster"`
	Storage    Storage  `json:"storage"`
	Load       Load     `json:"load"`
	Watcher    Watcher  `json:"watcher"`
	Readers    Readers  `json:"readers,omitzero"`
	// Watch, Extra and Events act on the parties beside the load.
	Watch    Watch    `json:"watch,omitzero"`
	Extra    Extra    `json:"extra,omitzero"`
	Events   []Event  `json:"events,omitempty" jsonschema_description:"What is done during the load, in time order."`
	Ceilings Ceilings `json:"ceilings,omitzero"`
	Fault    *Fault   `json:"fault,omitempty"`

	Repeat int `json:"repeat" jsonschema:"minimum=1,maximum=100" jsonschema_description:"Repetitions of each matrix point; with decide, at most."`
	// RepeatOnce are points that are run once, such as one that is certain to be cut.
	RepeatOnce []map[string]string `json:"repeatOnce,omitempty" jsonschema_description:"Matrix points that are run once, whatever repeat says."`
	Decide     Decide              `json:"decide,omitzero"`
	// Pair makes blocks of the cells that differ in one axis only: see the runner's order.
	Pair string `json:"pair,omitempty" jsonschema:"example=watcher" jsonschema_description:"Axis with exactly two points to compare, in blocks A B B A or B A A B, drawn by the seed. A block is two repetitions; repeat must be even."`
	// Only are the points that are run, where the axes' combinations are too many or make no sense; empty is all.
	Only         []map[string]string `json:"only,omitempty" jsonschema_description:"The only matrix points to run; default: all combinations."`
	Ladder       bool                `json:"ladder,omitempty" jsonschema_description:"Provider simulated, plain pods: runs the points in their order and reports how costs grow; see load.md."`
	Seed         uint64              `json:"seed" jsonschema:"example=7" jsonschema_description:"Seed for the plan, latency and cell order."`
	DrainTimeout Duration            `json:"drainTimeout" range:"1s.." jsonschema_description:"Time after the load until a cell is cut and its drain projected."`
	Limits       Limits              `json:"limits"`
	Thresholds   Thresholds          `json:"thresholds,omitempty" jsonschema_description:"Bounds on the median of a point's repetitions; exit code 3 if one does not hold."`
	Expect       Expect              `json:"expect,omitempty" jsonschema_description:"Per check G1 to G14: pass, fail-allowed or fail-expected, or one of these by strategy (or default)."`
}

// Metadata names a scenario.
type Metadata struct {
	Name        string `json:"name" jsonschema:"required,example=mine,pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" jsonschema_description:"Lower-case letters, digits and dashes; begins the run folder's name."`
	Description string `json:"description,omitempty" jsonschema:"example=Which strategy at 200 writes/s" jsonschema_description:"One line for lists and reports."`
}

// Cluster says what the watcher watches.
type Cluster struct {
	Provider string `json:"provider" jsonschema:"enum=embedded,enum=kind,enum=kubeconfig,enum=simulated" jsonschema_description:"embedded: our own etcd and kube-apiserver; kind (needs Docker); kubeconfig: any other; simulated: an API server simulated in memory."`
	FSync    bool   `json:"fsync,omitempty" jsonschema_description:"Embedded: etcd waits for the disk, as in production."`
	// Controllers make a cluster write by itself.
	Controllers bool `json:"controllers,omitempty" jsonschema_description:"Embedded: also run kube-controller-manager, kube-scheduler and kwok, and record what they write."`
	// Gates switch alpha and beta features on.
	Gates []string `json:"gates,omitempty" jsonschema:"example=[ShardedListAndWatch]" jsonschema_description:"Embedded: feature gates of kube-apiserver to enable."`
	// Replay is for the provider simulated.
	Replay Replay `json:"replay,omitzero" jsonschema_description:"Of the provider simulated."`
}

// Replay says what is played into a simulated apiserver, and how.
type Replay struct {
	Trace string      `json:"trace,omitempty" jsonschema:"example=trace.zst" jsonschema_description:"Trace of watchbench record, relative to the working directory, in place of the section load."`
	Speed units.Speed `json:"speed,omitzero" jsonschema:"example=10x" jsonschema_description:"0.1x to 1000x, or unlimited: as fast as the watcher reads; default 1x."`
}

// Storage is the mock's behaviour.
type Storage struct {
	Latency   string   `json:"latency" jsonschema:"example=lognormal(mean=87ms\\,p99=110ms)" jsonschema_description:"Time to answer a request."`
	Capacity  Capacity `json:"capacity"`
	Mode      string   `json:"mode" jsonschema:"enum=faithful,enum=conditional" jsonschema_description:"faithful: unconditional upsert, as bcs-storage; conditional: refuses older versions."`
	Instances int      `json:"instances" jsonschema:"minimum=1,maximum=16" jsonschema_description:"Instances of the mock that share the requests."`
	TLS       string   `json:"tls,omitempty" jsonschema:"enum=valid,enum=wrong-ca,enum=expired,enum=wrong-host,enum=tls-1.1" jsonschema_description:"Serve over TLS with this certificate; tls-1.1: a valid one, but TLS 1.1 at most."`
	// Faults hold from the start of the load to its end; the drain is without them.
	Faults []string `json:"faults,omitempty" jsonschema:"example=['503:1%']" jsonschema_description:"Faults during the load, such as 503:1% or stall(5s):0.1%. Each must fire, or the cell is invalid."`
}

// Capacity bounds the mock; beyond it requests wait, so latency rises.
type Capacity struct {
	Inflight int `json:"inflight,omitempty" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"Max concurrent requests; 0: no limit."`
	Rate     int `json:"rate,omitempty" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"Max requests per second; 0: no limit."`
	// Kinds share the limits among them.
	Kinds []string `json:"kinds,omitempty" jsonschema:"example=[Pod]" jsonschema_description:"Kinds that are limited; default: all."`
}

// Text is the capacity in the mock's grammar; empty is no limit.
func (c Capacity) Text() string {
	var limits []string
	if c.Inflight > 0 {
		limits = append(limits, "inflight="+strconv.Itoa(c.Inflight))
	}
	if c.Rate > 0 {
		limits = append(limits, "rate="+strconv.Itoa(c.Rate)+"/s")
	}
	text := strings.Join(limits, ",")
	if text != "" && len(c.Kinds) > 0 {
		text = "kind=" + strings.Join(c.Kinds, "|") + ": " + text
	}
	return text
}

// Load configures the generator.
type Load struct {
	Driver string `json:"driver" jsonschema:"enum=engine,enum=k6" jsonschema_description:"Sender of the load; k6 needs make k6."`
	plan.Load
	Shards int         `json:"shards" jsonschema:"minimum=1,maximum=16" jsonschema_description:"Number of generators, which divide the plan's writes by the names of objects."`
	Speed  units.Speed `json:"speed,omitzero" jsonschema:"example=unlimited" jsonschema_description:"Provider simulated: speed of this load; default cluster.replay.speed."`
}

// Drivers of a load.
const (
	DriverEngine = "engine"
	DriverK6     = "k6"
)

// Plan is the load as the generator's plan, for the run of that ID.
func (l Load) Plan(runID string, seed uint64) plan.Config {
	return plan.Config{Seed: seed, RunID: runID, Load: l.Load}
}

// Watcher is the process under test.
type Watcher struct {
	Profile          string   `json:"profile" jsonschema:"enum=default,enum=legacy" jsonschema_description:"legacy: the rules of the original, faults included."`
	Strategy         string   `json:"strategy" jsonschema:"enum=single,enum=unordered,enum=dedup,enum=partitioned,enum=keyed,enum=adaptive" jsonschema_description:"How events of Pods are ordered and sent; see watcher.md."`
	PodQueueNum      int      `json:"podQueueNum" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Requests in flight (queues or workers) for Pods."`
	WriterQueueLen   int      `json:"writerQueueLen" jsonschema:"minimum=1,maximum=16777216" jsonschema_description:"Events of all kinds that wait for their handler."`
	HandlerQueueLen  int      `json:"handlerQueueLen" jsonschema:"minimum=1,maximum=16777216" jsonschema_description:"Events of Pods that wait in one handler queue."`
	QueueFull        string   `json:"queueFull" jsonschema:"enum=coalesce,enum=block,enum=drop" jsonschema_description:"When a queue is full: merge states of one object, block the watch, or drop the event after queueFullTimeout."`
	QueueFullTimeout Duration `json:"queueFullTimeout" jsonschema_description:"drop: how long to wait for room."`
	// Synchronizer compares storage with the cluster and repairs the difference.
	Synchronizer   Synchronizer `json:"synchronizer,omitzero"`
	CacheCheck     CacheCheck   `json:"cacheCheck,omitzero"`
	StorageTimeout Duration     `json:"storageTimeout" range:"1ms.." jsonschema_description:"Of one request."`
	DrainTimeout   Duration     `json:"drainTimeout" jsonschema_description:"How long SIGTERM lets the queues drain."`
	// Replicas start together; with LeaderElection one of them works, or each does for the Shards that it holds, else each
	// does for its labels of Load.LabelShards.
	Replicas       int      `json:"replicas,omitempty" jsonschema:"minimum=1,maximum=5" jsonschema_description:"Replicas; more than one needs leaderElection and as many storage.instances, or load.labelShards."`
	LeaderElection bool     `json:"leaderElection,omitempty" jsonschema_description:"One replica works, the others stand by."`
	Shards         int      `json:"shards,omitempty" jsonschema:"minimum=0,maximum=64" jsonschema_description:"With leaderElection: shards that the replicas divide among them, so that all work; 0 or 1: one works."`
	ShardBy        string   `json:"shardBy,omitempty" jsonschema:"enum=name,enum=namespace,enum=uid" jsonschema_description:"What of an object decides its shard; default: name. uid needs storage.mode conditional. The API server can filter by namespace and uid only."`
	Resources      []string `json:"resources,omitempty" jsonschema:"example=[Pod\\,ConfigMap]" jsonschema_description:"Kinds to watch; by default Pod and the bystander's kind."`
	Command        string   `json:"command,omitempty" jsonschema:"example=/path/to/watcher -f {config}" jsonschema_description:"Another watcher's command; {config}: path of its config, {bin}: folder of watchbench's programs. {command} alone: as --watcher-command says."`
	Name           string   `json:"name,omitempty" jsonschema:"maxLength=60,example=mine v2" jsonschema_description:"Name in reports; default: the strategy, or the words of command."`
}

// Synchronizer is the watcher's own repair. Where a scenario is to show what a strategy loses, it must be disabled.
type Synchronizer struct {
	Disabled bool     `json:"disabled,omitempty" jsonschema_description:"No repairs: what a strategy loses stays lost."`
	Period   Duration `json:"period,omitzero" range:"1s.." jsonschema_description:"Default: the watcher's own."`
}

// CacheCheck is the watcher's comparison of its cache with the apiserver.
type CacheCheck struct {
	Period Duration `json:"period,omitzero" range:"1s.." jsonschema_description:"Default: the watcher's own."`
	Grace  Duration `json:"grace,omitzero" range:"1s.." jsonschema_description:"How long a watch may lag behind a list; default: the watcher's own."`
}

// Limits are the conditions under which a cell is believed.
type Limits struct {
	Lag        Duration `json:"lag" range:"1ms.." jsonschema_description:"Open loop: p99 of actual minus intended dispatch. Of several generators, the start of each, too."`
	MinEvents  Share    `json:"minEvents" jsonschema_description:"Minimum share of the planned writes."`
	MinOffered Share    `json:"minOffered" jsonschema_description:"Open loop: minimum share of the offered rate."`
	MinPower   int      `json:"minPower" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Order checks: reorderable pairs below which a check that finds nothing has no power."`
}

// DefaultMinPower is Limits.MinPower where nothing is said.
const DefaultMinPower = 30

// Strategies in the order in which they are presented.
var Strategies = []string{"single", "unordered", "dedup", "partitioned", "keyed", "adaptive"}

// External takes the place of a strategy where the watcher is not ours.
const External = result.External

// OpenCommand is the command of a watcher that the user has yet to name with an override.
const OpenCommand = "{command}"

// Default returns the settings of an empty file.
func Default() Scenario {
	return Scenario{
		Cluster: Cluster{Provider: "embedded"},
		Storage: Storage{Latency: "lognormal(mean=87ms,p99=110ms)", Capacity: Capacity{Inflight: 300}, Mode: "faithful",
			Instances: 1},
		Load: Load{Driver: DriverEngine, Shards: 1, Load: plan.DefaultLoad()},
		Watcher: Watcher{
			Profile: "default", Strategy: "keyed", PodQueueNum: 30, WriterQueueLen: 102_400, HandlerQueueLen: 102_400,
			QueueFull: "coalesce", QueueFullTimeout: Duration(1e9),
			StorageTimeout: Duration(5e9), DrainTimeout: Duration(1e9), Replicas: 1,
		},
		Repeat: 1, Seed: 1, DrainTimeout: Duration(45e9),
		Limits: Limits{Lag: Duration(250e6), MinEvents: 0.8, MinOffered: 0.99, MinPower: DefaultMinPower},
	}
}

// Kinds lists what the watcher of this scenario watches.
func (s *Scenario) Kinds() []string {
	if len(s.Watcher.Resources) > 0 {
		return s.Watcher.Resources
	}
	if s.Load.Bystander != nil {
		return []string{"Pod", s.Load.Bystander.Kind}
	}
	return []string{"Pod"}
}

// Label names the watcher in reports: its name, or the words of another watcher's command without folders and flags.
func (w Watcher) Label() string {
	if w.Name != "" || w.Command == "" {
		return w.Name
	}
	var words []string
	for _, word := range w.Words() {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "{config}") && !strings.Contains(word, " ") {
			words = append(words, path.Base(word))
		}
	}
	label := []rune(cmp.Or(strings.Join(words, " "), External))
	return string(label[:min(len(label), maxName)])
}

// maxName bounds a watcher's name, in runes.
const maxName = 60

// SendsEvery reports whether nothing merges states by design; legacy merges keys that wait.
func (w Watcher) SendsEvery() bool {
	return w.Strategy != "dedup" && w.Strategy != "adaptive" && w.Profile != "legacy"
}

// Divided reports whether several replicas, each with shards of its own, work side by side.
func (w Watcher) Divided() bool { return w.Shards > 1 }

// Shared reports whether all replicas are at work, each for its part of the objects.
func (s *Scenario) Shared() bool { return s.Watcher.Divided() || s.Load.LabelShards > 0 }

// Labels returns the labels of load.labelShards whose objects the n-th watcher has, from 0; none: it has all objects.
func (s *Scenario) Labels(n int) (all []string) {
	for i := range s.Load.LabelShards {
		if !s.Watcher.LeaderElection && (i-n)%s.Watcher.Replicas == 0 {
			all = append(all, strconv.Itoa(i))
		}
	}
	return all
}

// Concurrency is the number of Pod requests the strategy keeps in flight at most.
func (w Watcher) Concurrency() int {
	if w.Strategy == "single" {
		return 1
	}
	return w.PodQueueNum
}

type (
	// Duration is a length of time, such as 45s.
	Duration = units.Duration
	// Size is a number of bytes, such as 3KiB.
	Size = units.Size
	// Share is a part of a whole, such as 80%.
	Share = units.Share
)

// A word of a command, and what is quoted in it: without an end up to that of the command.
var (
	wordForm   = regexp.MustCompile(`(?:[^ \t'"]|'[^']*(?:'|$)|"[^"]*(?:"|$))+`)
	quotedForm = regexp.MustCompile(`'([^']*)(?:'|$)|"([^"]*)(?:"|$)`)
)

// Words splits the command of another watcher at spaces; single and double quotes keep words together.
func (w Watcher) Words() (words []string) {
	for _, word := range wordForm.FindAllString(w.Command, -1) {
		words = append(words, quotedForm.ReplaceAllString(word, "$1$2"))
	}
	return words
}
